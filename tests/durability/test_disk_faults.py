"""Disks that are full, broken or read-only, limits of the system, and files that were damaged: told in plain words, mended
from the files where that can be done, with notes and votes kept."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool
from contextive.ingest.settings import IngestRequest
from contextive.ingest.verification import verify_index
from contextive.search.index import Index
from contextive.store.sqlite import schema
from tests.processes import clean_environment
from tests.raw_clients import StdioClient, envelope, wait_until

from .conftest import outcomes_of
from .jobs import JOBS, opened, prepare

ROOT = Path(__file__).parents[2]
FULL = os.environ.get("DURABILITY") == "full"
POINTS = "60" if FULL else "3"
REFUSED_JOBS = tuple(JOBS) if FULL else ("ingest", "storetext", "backup", "creation")
ENVIRONMENT = {
    "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy",
    "KM_ADMIN_TOKEN": "a-token-for-tests-that-is-long-enough",
}
VOTES = 2
DAMAGED_TABLES = (None, "artifact", "chunk", "edge", "ledger", "progress", "vector") if FULL else (None, "chunk")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("disk") / "template"
    prepare(root)
    return root


@pytest.fixture
def project(template: Path, tmp_path: Path) -> Path:
    """A project with an index, notes, two votes and a backup."""
    return Path(shutil.copytree(template, tmp_path / "project", symlinks=True))


def run(project: Path, *words: str, limit: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """A command of ours. Whatever happens to it, it shows no trace."""
    done = subprocess.run(
        [sys.executable, "-m", "contextive", *words],
        cwd=project,
        env=clean_environment(ENVIRONMENT),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert "internal_error" not in done.stdout + done.stderr, done.stderr
    assert done.returncode >= 0, f"it was killed by signal {-done.returncode}"
    return done


def assert_whole(project: Path, votes: int = VOTES) -> None:
    """One run later the index agrees with the files, and nothing is lost that only it held."""
    with opened(project) as host:
        index = host.services.get(Index)
        index.ingest(IngestRequest())
        index.embed()
        assert list(verify_index(index.indexer(), index.store)) == []
        assert "src/gauge.py" in paths_in(call_tool(host, "km-search", {"query": "median"}))
        assert "After the storm." in call_tool(host, "get_page", {"slug": "second"})["content"]
        assert len(index.store.records.votes()) == votes


def paths_found(project: Path, query: str) -> set[str]:
    with opened(project) as host:
        return paths_in(call_tool(host, "km-search", {"query": query}))


def paths_in(found: dict[str, Any]) -> set[str]:
    return {result["chunk"]["artifact_path"] for result in found["results"]}


def damage(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


# Writes that the system refuses


@pytest.fixture(scope="module", params=[errno.ENOSPC, errno.EIO] if FULL else [errno.ENOSPC])
def outcomes(request: pytest.FixtureRequest, template: Path, hook: Path) -> Mapping[str, Any]:
    return outcomes_of(REFUSED_JOBS, template.parent, hook, POINTS, request.param)


@pytest.mark.parametrize("job", REFUSED_JOBS)
def test_a_write_that_is_refused_is_told_in_words_of_ours(job: str, outcomes: Mapping[str, Any]) -> None:
    """At every chosen write the disk refuses this one and all that follow; then there is room again."""
    assert outcomes[job]["failures"] == []


def test_a_limit_on_the_size_of_files_is_told_and_does_no_harm(project: Path) -> None:
    for number in range(60):
        (project / f"docs/long{number}.md").write_text(f"# Long {number}\n\n" + "words " * 400, encoding="utf-8")
    limit = (project / ".contextive/index.db").stat().st_size + 20_000

    refused = run(project, "ingest", "--json", limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert refused.returncode != 0
    assert refused.stderr.strip()
    assert_whole(project)


@pytest.mark.parametrize("descriptors", [8, 9, 10, 11, 12, 14, 16, 20, 24, 32] if FULL else [12])
def test_too_few_descriptors_are_told_and_do_no_harm(project: Path, descriptors: int) -> None:
    (project / "docs/new.md").write_text("# New\n\nA zeppelin.\n", encoding="utf-8")
    done = run(
        project,
        "search",
        "median",
        limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)),
    )
    assert done.returncode in (0, 1) or done.stderr.strip()
    assert_whole(project)


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    try:
        subprocess.run(["mount", *options, str(folder)], check=True, capture_output=True, timeout=10)
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=10)


def test_a_real_disk_that_is_full_is_told_and_goes_on_once_there_is_room(project: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    with mounted(small, "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        here = shutil.copytree(project, small / "project")
        ballast = small / "ballast"
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        (here / "docs/gauge.md").write_bytes(b"")
        refused = run(here, "ingest")
        assert refused.returncode != 0
        assert "full" in refused.stderr or "written" in refused.stderr
        stored = run(here, "call", "km-storetext", "--content", "What we learned.\n" * 500, "--title", "Lesson")
        assert stored.returncode != 0
        assert not (here / "docs/lesson.md").exists()
        ballast.unlink()
        (here / "docs/gauge.md").write_bytes((project / "docs/gauge.md").read_bytes())
        assert_whole(here)


##= docs/spec/knowledge.md#store
##% An index on a read-only disk MUST still be searchable.
def test_a_server_takes_up_what_it_missed_as_soon_as_there_is_room(project: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    with mounted(small, "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        here = shutil.copytree(project, small / "project")
        with StdioClient("serve", cwd=here, env=ENVIRONMENT) as pipe:
            wait_until(lambda: _state(pipe) == "watching", "the index is kept", 120)
            page = (here / "docs/gauge.md").read_bytes()
            ballast = small / "ballast"
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            (here / "docs/gauge.md").write_bytes(b"A zeppelin. ".ljust(len(page), b"x"))
            wait_until(lambda: _state(pipe).startswith("failed"), "the full disk is noticed", 120)
            ballast.unlink()
            wait_until(lambda: _state(pipe) == "watching", "the index is kept again", 120)
            found = _asked(pipe, "km-search", {"query": "zeppelin"})
            assert found["results"][0]["chunk"]["artifact_path"] == "docs/gauge.md"


def _state(pipe: StdioClient) -> str:
    return str(_asked(pipe, "km-ingest-status", {})["now"].get("keeper", ""))


def _asked(pipe: StdioClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = pipe.ask("tools/call", envelope({"name": tool, "arguments": arguments}), 120)
    data: dict[str, Any] = answer["result"]["structuredContent"]
    return data


def test_a_disk_that_can_only_be_read_still_answers(project: Path) -> None:
    with mounted(project, "--bind", str(project)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(project)], check=True, timeout=10)
        assert "src/gauge.py" in paths_in(json.loads(run(project, "search", "median", "--json").stdout))
        assert "After the storm." in run(project, "call", "get_page", "--slug", "second").stdout
        for refused in (
            run(project, "ingest"),
            run(project, "call", "create_page", "--title", "New"),
            run(project, "call", "km-storetext", "--content", "x", "--title", "New"),
        ):
            assert refused.returncode != 0
            assert refused.stderr.strip()
    assert_whole(project)


# Files that were damaged


def _pages_of(project: Path) -> dict[str, int]:
    """The first page of every table and index."""
    with closing(sqlite3.connect(project / ".contextive/index.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))


@pytest.mark.parametrize("name", DAMAGED_TABLES)
@pytest.mark.parametrize("content", [b"\xff" * 4096] if not FULL else [b"\xff" * 4096, bytes(4096), b"\x0d" * 100])
def test_a_damaged_page_is_found_and_the_index_built_anew(project: Path, name: str | None, content: bytes) -> None:
    page = 1 if name is None else _pages_of(project)[name]
    _pages_of(project)
    damage(project / ".contextive/index.db", (page - 1) * 4096, content)
    run(project, "verify")
    assert_whole(project, votes=VOTES)


def test_a_log_that_was_cut_off_leaves_an_older_state_and_never_a_wrong_one(project: Path) -> None:
    (project / "docs/later.md").write_text("# Later\n\nA zeppelin.\n", encoding="utf-8")
    program = (
        "import os, signal; from pathlib import Path; from tests.durability import jobs\n"
        f"host = jobs.opened(Path({str(project)!r})).__enter__(); jobs._index(host); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=120, check=False)
    log = project / ".contextive/index.db-wal"
    size = log.stat().st_size
    assert size > 4096
    kept = shutil.copytree(project, project.with_name("kept"))
    for share in (0, 16, 33, size // 3, size // 2, size - 4000, size - 1) if FULL else (33, size // 2):
        shutil.rmtree(project)
        shutil.copytree(kept, project)
        os.truncate(log, share)
        assert_whole(project)
        assert "docs/later.md" in paths_found(project, "zeppelin")


def test_an_empty_database_is_reported_and_built_anew_by_rebuild(project: Path) -> None:
    os.truncate(project / ".contextive/index.db", 0)
    refused = run(project, "ingest")
    assert refused.returncode == 1
    assert "are lost" in refused.stderr
    assert run(project, "rebuild").returncode == 0
    assert_whole(project, votes=0)


def test_an_index_of_a_newer_version_is_refused_left_alone_and_replaced_by_rebuild_only(project: Path) -> None:
    database = project / ".contextive/index.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA user_version = {schema.latest_version() + 1}")
    before = database.read_bytes()
    for words in (("ingest",), ("status",), ("verify",)):
        refused = run(project, *words)
        assert refused.returncode != 0
        assert "Upgrade contextive-mcp" in refused.stderr
    assert database.read_bytes() == before
    rebuilt = run(project, "rebuild")
    assert rebuilt.returncode == 0
    (renamed,) = (project / ".contextive").glob("index.db.damaged-*")
    assert renamed.name in rebuilt.stderr
    assert renamed.read_bytes() == before
    assert_whole(project)


def test_an_index_that_an_older_version_had_only_begun_is_finished(project: Path) -> None:
    for file in (project / ".contextive").glob("index.db*"):
        file.unlink()
    with closing(sqlite3.connect(project / ".contextive/index.db")) as connection:
        connection.execute("CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                           " checksum TEXT NOT NULL, applied_at REAL NOT NULL)")  # fmt: skip
    assert_whole(project, votes=0)


def _sidecars(project: Path) -> list[Path]:
    state = project / ".contextive"
    return sorted(p for name in ("lexical", "vectors") for p in (state / name).rglob("*") if p.is_file())


@pytest.mark.parametrize("fault", ["removed", "emptied", "halved", "garbled"])
def test_sidecars_that_were_damaged_are_made_anew(project: Path, fault: str) -> None:
    before = _answers(project)
    for path in _sidecars(project):
        match fault:
            case "removed":
                path.unlink()
            case "emptied":
                os.truncate(path, 0)
            case "halved":
                os.truncate(path, path.stat().st_size // 2)
            case _:
                damage(path, 0, os.urandom(path.stat().st_size))
    assert _answers(project) == before
    assert_whole(project)


def _answers(project: Path) -> Any:
    with opened(project) as host:
        found = call_tool(host, "km-search", {"query": "median storm"})
    return [(result["chunk"]["chunk_id"], result["scoring"]["adjusted_score"]) for result in found["results"]]
