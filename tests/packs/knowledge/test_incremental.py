"""Incremental equals fresh: after any edits, the index is the same as after a rebuild."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextive.config import ConfigRequest, load_config
from contextive.ingest.settings import IngestRequest
from contextive.ingest.verification import verify_index
from contextive.knowledge.graph import Layer
from contextive.packs import BUILTIN
from contextive.search.index import Index
from contextive.server.host import Host

from .conftest import OpenHost
from .repository import FILES, commit_all, run_git, write_repository
from .snapshots import rows_of

_TEXTS = (
    "def median_of(values):\n    return calibrate_sensor(values)\n",
    "class Siren:\n    def sound_alarm(self):\n        pass\n\n\nclass Siren:\n    pass\n",
    "from tidewatch.gauge import reader\n\n\ndef helper():\n    return reader.calibrate_sensor(1)\n",
    "# Notes\n\nSee `LevelReader.read_level` and [this](../src/tidewatch/alerts/siren.py).\n",
    "# Storm\n\n[[siren-test]] and [[file:docs/gauge.md]]\n",
    "",
    "import { formatLevel } from './format';\nexport const x = () => formatLevel(1);\n",
)
_PATHS = (
    *[path for path in FILES if not path.startswith((".", "build/"))],
    "src/tidewatch/gauge/extra.py",
    "src/tidewatch/alerts/__main__.py",
    "docs/new.md",
    "notes/third.md",
    "web/index.ts",
    "tests/alerts/test_siren.py",
    "pyproject.toml",
)
_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(_PATHS), st.sampled_from(_TEXTS)),
        st.tuples(st.just("delete"), st.sampled_from(_PATHS), st.just("")),
        st.tuples(st.just("move"), st.sampled_from(_PATHS), st.sampled_from(_PATHS)),
        st.tuples(st.just("commit"), st.just(""), st.just("")),
        st.tuples(st.just("ingest"), st.just(""), st.just("")),
        st.tuples(st.just("restore"), st.sampled_from(sorted(FILES)), st.just("")),
    ),
    min_size=1,
    max_size=12,
)


def _act(root: Path, index: Index, action: tuple[str, str, str], commits: list[int]) -> None:
    kind, path, other = action
    target = root / path
    match kind:
        case "write":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(other, encoding="utf-8")
        case "delete":
            target.unlink(missing_ok=True)
        case "move":
            if target.exists():
                (root / other).parent.mkdir(parents=True, exist_ok=True)
                target.rename(root / other)
        case "restore":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(FILES[path], encoding="utf-8")
        case "commit":
            commits.append(1)
            commit_all(root, "More", when=f"2024-06-{len(commits):02}T12:00:00+00:00")
        case _:
            index.ingest(IngestRequest())


def _index_of(root: Path, state: str) -> Host:
    request = ConfigRequest(
        project=root,
        builtin_packs=frozenset(BUILTIN),
        environ={"CONTEXTIVE_STORE__STATE_PATH": state, "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"},
    )
    return Host(load_config(request), mode="in-process")


##= docs/spec/knowledge.md#index-updates
##% After any edits, a run MUST leave the same rows as a rebuild.
##= docs/spec/knowledge.md#store
##% The command `verify` MUST compare every file with its rows and exit with 0 only if they agree.
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_ACTIONS)
def test_ingest_after_any_edits_gives_the_same_rows_as_a_rebuild(actions: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write_repository(Path(folder) / "station")
        kept = _index_of(root, ".contextive")
        fresh = _index_of(root, ".fresh")
        try:
            index = kept.services.get(Index)
            index.ingest(IngestRequest())
            commits: list[int] = []
            for action in actions:
                _act(root, index, action, commits)
            index.ingest(IngestRequest())
            other = fresh.services.get(Index)
            other.ingest(IngestRequest())
            _assert_equal(rows_of(index.store), rows_of(other.store))
            assert list(verify_index(index.indexer(), index.store)) == []
        finally:
            kept.close()
            fresh.close()


def _assert_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    for kind, rows in one.items():
        assert rows == other[kind], kind


##= docs/spec/knowledge.md#index-updates
##% The next run MUST resume an interrupted one.
def test_a_run_killed_before_its_links_were_written_is_continued(repository: Path, open_host: OpenHost) -> None:
    index = open_host(repository).services.get(Index)
    index.ingest(IngestRequest())
    whole = rows_of(index.store)
    with index.store.transaction() as writer:
        for path in ("src/tidewatch/gauge/reader.py", "tests/gauge/test_reader.py", "docs/gauge.md"):
            writer.put_layer(f"links:{path}", Layer())
        writer.put_state("links", "pending")
    assert rows_of(index.store)["edges"] != whole["edges"]
    index.ingest(IngestRequest())
    _assert_equal(rows_of(index.store), whole)


def test_a_checkout_of_another_branch_is_indexed(repository: Path, open_host: OpenHost) -> None:
    index = open_host(repository).services.get(Index)
    index.ingest(IngestRequest())
    before = rows_of(index.store)
    run_git(repository, "checkout", "-q", "-b", "other")
    for path in ("docs/gauge.md", "web/format.ts"):
        (repository / path).unlink()
    (repository / "docs/tides.md").write_text("# Tides\n\nTwice a day.\n", encoding="utf-8")
    commit_all(repository, "Another branch", when="2024-07-01T12:00:00+00:00")
    index.ingest(IngestRequest())
    assert {row.artifact.path for row in index.store.files.artifacts()} >= {"docs/tides.md"}
    assert index.store.files.artifact("docs/gauge.md") is None
    run_git(repository, "checkout", "-q", "main")
    index.ingest(IngestRequest())
    _assert_equal(rows_of(index.store), before)
