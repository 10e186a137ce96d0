"""Full, broken or read-only disks, system limits and damaged files are reported clearly; the index is rebuilt from
the files where possible, and notes and votes are kept."""

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
from .jobs import JOBS, open_host, prepare

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


def run(project: Path, *arguments: str, limit: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command, and check that it prints no traceback and no internal error."""
    finished = subprocess.run(
        [sys.executable, "-m", "contextive", *arguments],
        cwd=project,
        env=clean_environment(ENVIRONMENT),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit,
    )
    assert "Traceback" not in finished.stdout + finished.stderr, finished.stderr
    assert "internal_error" not in finished.stdout + finished.stderr, finished.stderr
    assert finished.returncode >= 0, f"it was killed by signal {-finished.returncode}"
    return finished


def assert_index_intact(project: Path, votes: int = VOTES) -> None:
    """After another run the index matches the files, and no kept rows are lost."""
    with open_host(project) as host:
        index = host.services.get(Index)
        index.ingest(IngestRequest())
        index.embed()
        assert list(verify_index(index.indexer(), index.store)) == []
        assert "src/gauge.py" in paths_in(call_tool(host, "km-search", {"query": "median"}))
        assert "After the storm." in call_tool(host, "get_page", {"slug": "second"})["content"]
        assert len(index.store.records.votes()) == votes


def paths_found(project: Path, query: str) -> set[str]:
    with open_host(project) as host:
        return paths_in(call_tool(host, "km-search", {"query": query}))


def paths_in(found: dict[str, Any]) -> set[str]:
    return {result["chunk"]["artifact_path"] for result in found["results"]}


def damage(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


# Failing writes


@pytest.fixture(scope="module", params=[errno.ENOSPC, errno.EIO] if FULL else [errno.ENOSPC])
def outcomes(request: pytest.FixtureRequest, template: Path, hook: Path) -> Mapping[str, Any]:
    return outcomes_of(REFUSED_JOBS, template.parent, hook, POINTS, request.param)


@pytest.mark.parametrize("job", REFUSED_JOBS)
def test_a_failing_write_is_reported_as_one_of_our_errors(job: str, outcomes: Mapping[str, Any]) -> None:
    """From each chosen write on, all writes fail; afterwards the disk works again."""
    assert outcomes[job]["failures"] == []


def test_a_limit_on_file_size_is_reported_and_does_no_harm(project: Path) -> None:
    for number in range(60):
        (project / f"docs/long{number}.md").write_text(f"# Long {number}\n\n" + "words " * 400, encoding="utf-8")
    limit = (project / ".contextive/index.db").stat().st_size + 20_000

    refused = run(project, "ingest", "--json", limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert refused.returncode != 0
    assert refused.stderr.strip()
    assert_index_intact(project)


@pytest.mark.parametrize("descriptors", [8, 9, 10, 11, 12, 14, 16, 20, 24, 32] if FULL else [12])
def test_too_few_file_descriptors_are_reported_and_do_no_harm(project: Path, descriptors: int) -> None:
    (project / "docs/new.md").write_text("# New\n\nA zeppelin.\n", encoding="utf-8")
    finished = run(
        project,
        "search",
        "median",
        limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)),
    )
    assert finished.returncode in (0, 1) or finished.stderr.strip()
    assert_index_intact(project)


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


def test_a_full_disk_is_reported_and_work_continues_once_there_is_space(project: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    with mounted(small, "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        copy = shutil.copytree(project, small / "project")
        ballast = small / "ballast"
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        (copy / "docs/gauge.md").write_bytes(b"")
        refused = run(copy, "ingest")
        assert refused.returncode != 0
        assert "full" in refused.stderr or "written" in refused.stderr
        stored = run(copy, "call", "km-storetext", "--content", "What we learned.\n" * 500, "--title", "Lesson")
        assert stored.returncode != 0
        assert not (copy / "docs/lesson.md").exists()
        ballast.unlink()
        (copy / "docs/gauge.md").write_bytes((project / "docs/gauge.md").read_bytes())
        assert_index_intact(copy)


##= docs/spec/knowledge.md#store
##% An index on a read-only disk MUST still be searchable.
def test_a_server_catches_up_once_the_disk_has_space_again(project: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    with mounted(small, "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        copy = shutil.copytree(project, small / "project")
        with StdioClient("serve", cwd=copy, env=ENVIRONMENT) as pipe:
            wait_until(lambda: _state(pipe) == "watching", "the index is watched", 120)
            page = (copy / "docs/gauge.md").read_bytes()
            ballast = small / "ballast"
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            (copy / "docs/gauge.md").write_bytes(b"A zeppelin. ".ljust(len(page), b"x"))
            wait_until(lambda: _state(pipe).startswith("failed"), "the full disk is noticed", 120)
            ballast.unlink()
            wait_until(lambda: _state(pipe) == "watching", "the index is watched again", 120)
            found = _call_tool(pipe, "km-search", {"query": "zeppelin"})
            assert found["results"][0]["chunk"]["artifact_path"] == "docs/gauge.md"


def _state(pipe: StdioClient) -> str:
    return str(_call_tool(pipe, "km-ingest-status", {})["now"].get("keeper", ""))


def _call_tool(pipe: StdioClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    response = pipe.ask("tools/call", envelope({"name": tool, "arguments": arguments}), 120)
    data: dict[str, Any] = response["result"]["structuredContent"]
    return data


def test_an_index_on_a_read_only_disk_can_be_searched(project: Path) -> None:
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
    assert_index_intact(project)


# Damaged files


def _root_pages(project: Path) -> dict[str, int]:
    """The root page of every table and index. Also empties the log."""
    with closing(sqlite3.connect(project / ".contextive/index.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))


@pytest.mark.parametrize("name", DAMAGED_TABLES)
@pytest.mark.parametrize("content", [b"\xff" * 4096] if not FULL else [b"\xff" * 4096, bytes(4096), b"\x0d" * 100])
def test_a_damaged_page_is_detected_and_the_index_is_rebuilt(project: Path, name: str | None, content: bytes) -> None:
    page = 1 if name is None else _root_pages(project)[name]
    _root_pages(project)
    damage(project / ".contextive/index.db", (page - 1) * 4096, content)
    run(project, "verify")
    assert_index_intact(project, votes=VOTES)


def test_a_truncated_log_leaves_an_older_state_and_never_a_wrong_one(project: Path) -> None:
    (project / "docs/later.md").write_text("# Later\n\nA zeppelin.\n", encoding="utf-8")
    program = (
        "import os, signal; from pathlib import Path; from tests.durability import jobs\n"
        f"host = jobs.open_host(Path({str(project)!r})).__enter__(); jobs._index(host); os.kill(os.getpid(), signal.SIGKILL)"
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
        assert_index_intact(project)
        assert "docs/later.md" in paths_found(project, "zeppelin")


def test_an_empty_database_is_reported_and_replaced_by_rebuild(project: Path) -> None:
    os.truncate(project / ".contextive/index.db", 0)
    refused = run(project, "ingest")
    assert refused.returncode == 1
    assert "are lost" in refused.stderr
    assert run(project, "rebuild").returncode == 0
    assert_index_intact(project, votes=0)


def test_only_rebuild_replaces_an_index_of_a_newer_version(project: Path) -> None:
    database = project / ".contextive/index.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA user_version = {schema.latest_version() + 1}")
    before = database.read_bytes()
    for arguments in (("ingest",), ("status",), ("verify",)):
        refused = run(project, *arguments)
        assert refused.returncode != 0
        assert "Upgrade contextive-mcp" in refused.stderr
    assert database.read_bytes() == before
    rebuilt = run(project, "rebuild")
    assert rebuilt.returncode == 0
    (renamed,) = (project / ".contextive").glob("index.db.damaged-*")
    assert renamed.name in rebuilt.stderr
    assert renamed.read_bytes() == before
    assert_index_intact(project)


def test_an_index_that_was_only_partly_created_is_completed(project: Path) -> None:
    for file in (project / ".contextive").glob("index.db*"):
        file.unlink()
    with closing(sqlite3.connect(project / ".contextive/index.db")) as connection:
        connection.execute("CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                           " checksum TEXT NOT NULL, applied_at REAL NOT NULL)")  # fmt: skip
    assert_index_intact(project, votes=0)


def _sidecars(project: Path) -> list[Path]:
    state = project / ".contextive"
    return sorted(p for name in ("lexical", "vectors") for p in (state / name).rglob("*") if p.is_file())


@pytest.mark.parametrize("fault", ["removed", "emptied", "halved", "garbled"])
def test_damaged_sidecars_are_rebuilt(project: Path, fault: str) -> None:
    before = _search_results(project)
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
    assert _search_results(project) == before
    assert_index_intact(project)


def _search_results(project: Path) -> Any:
    with open_host(project) as host:
        found = call_tool(host, "km-search", {"query": "median storm"})
    return [(result["chunk"]["chunk_id"], result["scoring"]["adjusted_score"]) for result in found["results"]]
