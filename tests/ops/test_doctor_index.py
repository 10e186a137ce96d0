"""The doctor on an index: for each thing that can be wrong, one plain sentence and how to mend it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextive.config import ConfigRequest, LoadedConfig, load_config
from contextive.ingest.schedule import JobState, write_state
from contextive.ingest.settings import IngestRequest
from contextive.ops.doctor_index import diagnose_index
from contextive.ops.doctor_project import Diagnosis
from contextive.packs import BUILTIN
from contextive.packs.knowledge.pack import DocumentsAndBackups
from contextive.search.index import Index
from contextive.server.host import Host
from contextive.store import open_store
from contextive.store.values import Vote

MANUAL = {"CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"}
Findings = dict[str, Diagnosis]


def load(project: Path, **environ: str) -> LoadedConfig:
    environ = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy", **environ}
    return load_config(ConfigRequest(project=project, builtin_packs=frozenset(BUILTIN), environ=environ))


def diagnose(project: Path, **environ: str) -> Findings:
    """What was found, the worst of each subject. A wrong one always says what to do."""
    found: Findings = {}
    for finding in diagnose_index(load(project, **environ)):
        assert finding.ok or finding.remedy
        assert str(project) not in finding.detail + finding.remedy
        if finding.subject not in found or found[finding.subject].ok:
            found[finding.subject] = finding
    return found


def wrong(found: Findings) -> set[str]:
    return {subject for subject, finding in found.items() if not finding.ok}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tide.md").write_text("# Tide\n\nHigh at noon.\n", encoding="utf-8")
    (tmp_path / "gauge.py").write_text("def read_level() -> int:\n    return 3\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def indexed(project: Path) -> Path:
    def fill(index: Index, _host: Host) -> None:
        index.ingest(IngestRequest(profile="first"))
        index.embed()

    work(project, fill)
    return project


def work(project: Path, do: Callable[[Index, Host], object], **environ: str) -> None:
    host = Host(load(project, **environ), mode="in-process")
    try:
        do(host.services.get(Index), host)
    finally:
        host.close()


def state_of(project: Path) -> Path:
    return project / ".contextive"


@pytest.fixture
def keeper(indexed: Path) -> Iterator[str]:
    """Somebody who has promised to keep the index in step, and does not."""
    store = open_store(state_of(indexed))
    lease = store.acquire_lease("keeper", "elsewhere:42")
    assert lease is not None
    yield "elsewhere:42"
    lease.release()
    store.close()


def vote(project: Path, at: float) -> None:
    store = open_store(state_of(project))
    with store.transaction() as writer:
        writer.put_vote(Vote("r1", "gauge.py::0", "somebody", 1.0, None, {}, at))
    store.close()


def test_a_missing_index_is_no_trouble_where_servers_make_it(project: Path) -> None:
    found = diagnose(project)
    assert wrong(found) == set()
    assert "no index yet" in found["index"].detail
    assert not state_of(project).exists(), "a doctor looks, and makes nothing"


def test_a_missing_index_that_nobody_makes_is_to_be_made(project: Path) -> None:
    found = diagnose(project, **MANUAL)
    assert wrong(found) == {"index"}
    assert "contextive-mcp ingest" in found["index"].remedy


def test_an_index_that_is_well(indexed: Path) -> None:
    found = diagnose(indexed)
    assert wrong(found) == set()
    assert set(found) == {"index", "lease", "files", "vectors", "backup"}
    assert found["files"].detail == "The index agrees with the files."
    assert "chunks have one" in found["vectors"].detail


def test_files_that_changed_since_are_counted(indexed: Path) -> None:
    (indexed / "docs" / "tide.md").write_text("# Tide\n\nHigh at midnight.\n", encoding="utf-8")
    (indexed / "new.md").write_text("# New\n", encoding="utf-8")
    (indexed / "gauge.py").unlink()
    found = diagnose(indexed)
    assert wrong(found) == set()
    assert found["files"].detail.startswith("2 files are new or changed since the index was written, 1 are gone.")
    found = diagnose(indexed, **MANUAL)
    assert wrong(found) == {"files"}
    assert "stale" in found["files"].detail
    assert "contextive-mcp ingest" in found["files"].remedy


def test_a_keeper_that_does_not_keep_is_named(indexed: Path, keeper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextive.ops.doctor_index._CATCH_UP_SECONDS", 0.1)
    found = diagnose(indexed)
    assert wrong(found) == set()
    assert keeper in found["lease"].detail
    (indexed / "new.md").write_text("# New\n", encoding="utf-8")
    found = diagnose(indexed)
    assert wrong(found) == {"files"}
    assert keeper in found["files"].detail
    assert "End that process" in found["files"].remedy


def test_a_run_of_another_process_is_told(indexed: Path) -> None:
    store = open_store(state_of(indexed))
    lease = store.acquire_lease("ingest", "elsewhere:43")
    assert lease is not None
    assert "elsewhere:43 is indexing" in diagnose(indexed)["lease"].detail
    lease.release()
    store.close()


##= docs/spec/commands.md#doctor
##% The doctor MUST leave a damaged index unchanged.
@pytest.mark.parametrize("damage", ["no database at all", "pages"])
def test_a_damaged_index_is_told_and_left_as_it_is(indexed: Path, damage: str) -> None:
    database = state_of(indexed) / "index.db"
    data = bytearray(database.read_bytes())
    if damage == "pages":
        data[4096 * 3 :] = os.urandom(len(data) - 4096 * 3)
    else:
        data[:100] = b"x" * 100
    database.write_bytes(data)
    found = diagnose(indexed)
    assert wrong(found) == {"index"}
    assert "damaged" in found["index"].detail
    assert "restore" in found["index"].remedy
    assert database.read_bytes() == data
    assert not (state_of(indexed) / "index.damaged").exists()


def test_vectors_of_another_model_are_named(indexed: Path) -> None:
    found = diagnose(indexed, CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL="minilm")
    assert wrong(found) == {"vectors"}
    assert "another model (dummy)" in found["vectors"].detail
    assert "contextive-mcp ingest" in found["vectors"].remedy


def test_chunks_without_vectors_are_counted(project: Path) -> None:
    work(project, lambda index, _host: index.ingest(IngestRequest(profile="first")))
    found = diagnose(project)
    assert wrong(found) == {"vectors"}
    assert "chunks have no embedding yet" in found["vectors"].detail
    assert wrong(diagnose(project, CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL="none")) == set()


def test_a_model_that_cannot_be_used_is_told_with_its_reason(indexed: Path) -> None:
    environ = {
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "openai:a-model",
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_URL": "http://127.0.0.1:9/v1",
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_KEY": "a-secret-key-0123456789",
    }
    found = diagnose(indexed, **environ)
    assert wrong(found) == {"vectors"}
    assert "openai:a-model cannot be used" in found["vectors"].detail
    assert "a-secret-key" not in repr(found)


def test_the_age_of_the_newest_backup_counts_where_people_have_voted(indexed: Path) -> None:
    assert "There is none" in diagnose(indexed)["backup"].detail
    vote(indexed, time.time())
    assert wrong(diagnose(indexed)) == {"backup"}
    work(indexed, lambda _index, host: host.services.get(DocumentsAndBackups).backups().create())
    assert wrong(diagnose(indexed)) == set()
    found = found_later(indexed, days=40)
    assert found["backup"].detail == "The newest is 40 days old, and people have voted since."
    assert "contextive-mcp backup" in found["backup"].remedy


def found_later(project: Path, days: int) -> Findings:
    """What is found when the newest backup was made some days ago, and somebody voted after it."""
    [archive] = (state_of(project) / "backups" / "archives").glob("*.tgz")
    archive.unlink()
    past = time.time() - days * 86_400

    def backdate(_index: Index, host: Host) -> None:
        backups = host.services.get(DocumentsAndBackups).backups()
        backups._clock = lambda: past
        backups.create()

    work(project, backdate)
    vote(project, time.time())
    return diagnose(project)


def test_a_job_that_failed_or_is_late_is_told(indexed: Path) -> None:
    environ = {"KM_SCHEDULER_ENABLED": "true", "KM_ADMIN_TOKEN": "admin-token-0123456789"}
    store = open_store(state_of(indexed))
    write_state(store, "ingest", JobState(time.time(), "failure", "upstream_error"))
    assert "ingest failed (upstream_error)" in diagnose(indexed, **environ)["schedule"].detail
    write_state(store, "ingest", JobState(time.time() - 1_000_000, "success"))
    found = diagnose(indexed, **environ)
    store.close()
    assert wrong(found) == {"schedule"}
    assert "ingest is late" in found["schedule"].detail


def test_in_remote_mode_there_is_no_index_to_look_at(project: Path) -> None:
    found = diagnose(project, KM_GATEWAY_URL="http://127.0.0.1:9")
    assert wrong(found) == set()
    assert "gateway" in found["index"].detail


def test_the_command_tells_it(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from contextive.cli import run

    monkeypatch.setenv("CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL", "dummy")
    run(["doctor", "--json", "--project", str(indexed)])
    subjects = [finding["subject"] for finding in json.loads(capsys.readouterr().out)]
    assert [name for name in ("index", "lease", "files", "vectors", "backup") if name not in subjects] == []
