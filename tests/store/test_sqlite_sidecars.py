"""Search results stay correct when a sidecar is lost, damaged or behind the database."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contextive.store.sql import lexical, tantivy_engine, vector_scan, vectors, writer
from contextive.store.sql.locks import FileLock
from contextive.store.sqlite.store import SqliteStore
from contextive.store.values import ChunkFilter, LexicalQuery, SearchHits

from .samples import EVERYTHING, MODEL, embed, found_ids, near_ids, parsed, put, remove, vector_of
from .test_sqlite_opening import opened

ROOT = Path(__file__).parents[2]


def fill(state_dir: Path, files: int = 30) -> None:
    with opened(state_dir) as store:
        put(store, *(parsed(f"f{number}", [f"common word{number}"]) for number in range(files)))
        embed(store)
        store.search.catch_up()


def files_of(state_dir: Path, pattern: str) -> list[Path]:
    return [path for path in state_dir.rglob(pattern) if path.is_file()]


def _remove(path: Path) -> None:
    path.unlink()


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


##= docs/spec/knowledge.md#store
##% A damaged lexical or vector index MUST be rebuilt from the database.
@pytest.mark.parametrize("damage", [_remove, _truncate, _empty])
@pytest.mark.parametrize("pattern", ["tantivy.json", "meta.json", "*.store", "*.term", "*.idx", "*.fast"])
def test_a_damaged_lexical_sidecar_is_rebuilt(tmp_path: Path, pattern: str, damage: Callable[[Path], None]) -> None:
    fill(tmp_path)
    for path in files_of(tmp_path / "lexical", pattern):
        damage(path)
    with opened(tmp_path) as store:
        assert len(found_ids(store, "common")) == 30
        assert found_ids(store, "word7") == ["f7::0"]
        assert list(store.verify()) == []
        assert store.health()["lexical"]["engine"] == "tantivy"


@pytest.mark.parametrize("damage", [_remove, _truncate, _empty])
@pytest.mark.parametrize("pattern", ["*.json", "*.i8"])
def test_a_damaged_vector_sidecar_is_rebuilt(tmp_path: Path, pattern: str, damage: Callable[[Path], None]) -> None:
    fill(tmp_path)
    with opened(tmp_path) as store:
        before = near_ids(store, vector_of("q"))
    for path in files_of(tmp_path / "vectors", pattern):
        damage(path)
    with opened(tmp_path) as store:
        assert near_ids(store, vector_of("q")) == before
        assert list(store.verify()) == []


def test_a_flipped_bit_in_the_vectors_is_detected(tmp_path: Path) -> None:
    fill(tmp_path)
    (file,) = files_of(tmp_path / "vectors", "*.i8")
    content = bytearray(file.read_bytes())
    content[100] ^= 0x40
    file.write_bytes(bytes(content))
    with opened(tmp_path) as store:
        assert len(near_ids(store, vector_of("q"))) == 30
    assert files_of(tmp_path / "vectors", "*.i8") != [file]


@pytest.mark.parametrize("name", ["lexical", "vectors"])
def test_a_sidecar_of_another_version_or_history_is_rebuilt(tmp_path: Path, name: str) -> None:
    fill(tmp_path)
    for change in ({"version": 999}, {"stamp": 1}, {"seq": 10_000}, {"place": "../../etc"}):
        (manifest,) = files_of(tmp_path / name, "*[!a].json" if name == "vectors" else "tantivy.json")
        manifest.write_text(json.dumps({**json.loads(manifest.read_bytes()), **change}), encoding="utf-8")
        with opened(tmp_path) as store:
            assert len(found_ids(store, "common")) == 30
            assert len(near_ids(store, vector_of("q"))) == 30
            assert list(store.verify()) == []


def test_a_restored_older_database_does_not_use_newer_sidecars(tmp_path: Path) -> None:
    fill(tmp_path, files=2)
    old = (tmp_path / "index.db").read_bytes()
    with opened(tmp_path) as store:
        put(store, parsed("late", ["common late"]))
        embed(store)
        assert len(found_ids(store, "common")) == len(near_ids(store, vector_of("q"))) == 3
    (tmp_path / "index.db").write_bytes(old)
    with opened(tmp_path) as store:
        put(store, parsed("other", ["common other"]))
        embed(store)
        assert set(found_ids(store, "common")) == {"f0::0", "f1::0", "other::0"}
        assert set(near_ids(store, vector_of("q"))) == {"f0::0", "f1::0", "other::0"}
        assert list(store.verify()) == []


def test_a_large_backlog_is_processed_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "SMALL_BACKLOG", 10)
    monkeypatch.setattr(lexical, "_BACKGROUND_SECONDS", 0.0)
    with opened(tmp_path) as store:
        put(store, *(parsed(f"f{number}", ["common words"]) for number in range(200)))
        first = store.search.lexical(LexicalQuery(("common",)), 500, EVERYTHING)
        assert first.generation <= store.generation()
        worker = store.search._lexical._background
        assert worker is not None
        worker.join(30)
        later = store.search.lexical(LexicalQuery(("common",)), 500, EVERYTHING)
        assert (len(later.hits), later.generation) == (200, store.generation())


@pytest.mark.parametrize("name", ["lexical/writing.lock", "vectors"])
def test_a_sidecar_that_another_process_has_locked_returns_old_results_marked_as_behind(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, files=3)
    for module in (lexical, vectors):
        monkeypatch.setattr(module, "_LOCK_SECONDS", 0.05)
    [path] = files_of(tmp_path / "vectors", "*.lock") if name == "vectors" else [tmp_path / name]

    def search(store: SqliteStore) -> SearchHits:
        if name == "vectors":
            return store.search.dense(MODEL, vector_of("q"), 500, EVERYTHING)
        return store.search.lexical(LexicalQuery(("common",)), 500, EVERYTHING)

    with opened(tmp_path) as store, opened(tmp_path) as other:
        before = store.generation()
        assert not search(store).is_behind
        lock = FileLock(path)
        assert lock.acquire(1.0)
        put(store, parsed("late", ["common late"]))
        embed(store)
        for process in (store, other):
            found = search(process)
            assert (len(found.hits), found.generation, found.is_behind) == (3, before, True)
        lock.release()
        for process in (store, other):
            found = search(process)
            assert (len(found.hits), found.generation, found.is_behind) == (4, store.generation(), False)


def test_a_sidecar_that_another_process_has_just_repaired_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, files=3)
    manifest = tmp_path / "lexical/tantivy.json"
    with opened(tmp_path) as other, opened(tmp_path) as store:
        found_ids(other, "common")
        real = tantivy_engine.TantivyEngine.__init__

        def repaired_by_other(self: tantivy_engine.TantivyEngine, directory: Path | None, *, create: bool) -> None:
            monkeypatch.setattr(tantivy_engine.TantivyEngine, "__init__", real)
            other.search._lexical._discard()
            other.search._lexical.catch_up(1.0)
            assert directory is not None
            assert not directory.exists()
            real(self, directory, create=create)

        monkeypatch.setattr(tantivy_engine.TantivyEngine, "__init__", repaired_by_other)
        assert len(found_ids(store, "common")) == 3
        repaired = manifest.read_bytes()
        assert len(found_ids(other, "common")) == 3
        assert manifest.read_bytes() == repaired
        assert len(list((tmp_path / "lexical").glob("tantivy-*"))) == 1


def test_catching_up_repairs_a_damaged_lexical_sidecar(tmp_path: Path) -> None:
    fill(tmp_path, files=3)
    for path in files_of(tmp_path / "lexical", "meta.json"):
        path.write_bytes(b"")
    with opened(tmp_path) as store:
        put(store, parsed("late", ["common late"]))
        store.search.catch_up()
        assert list(store.verify()) == []


def test_after_falling_back_to_fts5_tantivy_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, files=3)
    with opened(tmp_path) as store:
        with monkeypatch.context() as patch:

            def broken(*_: object, **__: object) -> None:
                raise ValueError("cannot be opened")

            patch.setattr(tantivy_engine.TantivyEngine, "__init__", broken)
            assert len(found_ids(store, "common")) == 3
            assert store.health()["lexical"]["engine"] == "fts5"
        assert len(found_ids(store, "common")) == 3
        assert store.health()["lexical"]["engine"] == "fts5"
        monkeypatch.setattr(lexical, "_RETRY_SECONDS", 0.0)
        assert len(found_ids(store, "common")) == 3
        assert store.health()["lexical"]["engine"] == "tantivy"
        assert store.health()["warnings"] == []


def test_sidecars_are_rebuilt_when_old_changes_were_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_CHANGES_KEPT", 5)
    fill(tmp_path, files=3)
    with opened(tmp_path) as store:
        for turn in range(70):
            put(store, parsed("f0", [f"common turn{turn}"]))
        ((left, floor),) = store._database.read("SELECT (SELECT count(*) FROM change), change_floor FROM progress")
        assert left < 30
        assert floor > 0
        assert found_ids(store, "turn69") == ["f0::0"]
        assert len(near_ids(store, vector_of("q"))) == 2
        assert list(store.verify()) == []


def test_dead_vectors_are_removed_from_the_sidecar(tmp_path: Path) -> None:
    fill(tmp_path, files=300)
    with opened(tmp_path) as store:
        for start in range(0, 250, 50):
            remove(store, *(f"f{number}" for number in range(start, start + 50)))
            assert len(near_ids(store, vector_of("q"), 1000)) == 250 - start
        health = store.health()["vectors"][f"{MODEL.name}/{MODEL.dimensions}"]
        assert health["rows"] < 200
        assert len(files_of(tmp_path / "vectors", "*.i8")) == 1
        assert list(store.verify()) == []


##= docs/spec/knowledge.md#ranking
##% The vector scan MUST be exact.
def test_nearly_equal_vectors_are_ranked_by_exact_scores(tmp_path: Path) -> None:
    """Eight bits cannot rank these vectors; the stored ones can."""
    rng = np.random.default_rng(5)
    centre = rng.standard_normal(MODEL.dimensions)
    crowd = (centre + rng.standard_normal((400, MODEL.dimensions)) * 0.02).astype(np.float32)
    with opened(tmp_path) as store:
        put(store, *(parsed(f"f{number}", [f"t{number}"]) for number in range(400)))
        pending = sorted(store.search.pending_vectors(MODEL, 1000), key=lambda item: item.number)
        with store.transaction() as open_writer:
            open_writer.put_vectors(MODEL, [(i.number, i.digest, v) for i, v in zip(pending, crowd, strict=True)])
        query = (centre + rng.standard_normal(MODEL.dimensions) * 0.02).astype(np.float32)
        every = store.search.cosines(MODEL, query, [item.number for item in pending])
        best = sorted(every, key=lambda number: (-every[number], number))[:10]
        assert [hit.number for hit in store.search.dense(MODEL, query, 10, EVERYTHING).hits] == best
        some = {row.number for path in ("f1", "f2", "f30") for row in store.files.chunks_of(path)}
        chosen = [
            hit.number for hit in store.search.dense(MODEL, query, 2, ChunkFilter(paths=("f1", "f2", "f30"))).hits
        ]
        assert set(chosen) <= {
            n for n in every if n in some or store.files.chunks([n])[n].artifact.path.startswith(("f1", "f2"))
        }


def test_without_simsimd_numpy_computes_the_same_products() -> None:
    rng = np.random.default_rng(1)
    query = rng.integers(-127, 127, (1, 16)).astype(np.int8)
    matrix = rng.integers(-127, 127, (9_000, 16)).astype(np.int8)
    expected = matrix.astype(np.int64) @ query[0].astype(np.int64)
    assert vector_scan.dot_products(query, matrix).tolist() == expected.tolist()
    assert vector_scan._dot_products_numpy(query, matrix).tolist() == expected.tolist()


def test_without_tantivy_fts5_is_used_and_finds_the_same(tmp_path: Path) -> None:
    """Some tests of `test_search.py` run in a process in which tantivy cannot be imported."""
    script = (
        "import sys; sys.modules['tantivy'] = None\n"
        "import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'tests/store/test_search.py',"
        " '-k', 'filters or words or path_of or changes or number_of_chunks']))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout
    fill(tmp_path)
    script = (
        "import sys; sys.modules['tantivy'] = None\n"
        "from pathlib import Path\n"
        "from contextive.store import open_store\n"
        "from tests.store.samples import found_ids\n"
        f"store = open_store(Path({str(tmp_path)!r}))\n"
        "print(len(found_ids(store, 'common')), store.health()['lexical']['engine'], len(store.health()['warnings']))\n"
        "assert list(store.verify()) == []\n"
        "store.close()\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert finished.stdout.split() == ["30", "fts5", "0"], finished.stderr


##= docs/spec/knowledge.md#store
##% An index on a read-only disk MUST still be searchable.
def test_an_index_that_cannot_be_written_is_searched_in_memory(tmp_path: Path) -> None:
    fill(tmp_path)
    for path in (*files_of(tmp_path / "lexical", "*.json"), *files_of(tmp_path / "vectors", "*.json")):
        path.unlink()
    with opened(tmp_path, read_only=True) as store:
        assert len(found_ids(store, "common")) == 30
        assert len(near_ids(store, vector_of("q"))) == 30
        assert store.health()["lexical"]["in_memory"] is True
