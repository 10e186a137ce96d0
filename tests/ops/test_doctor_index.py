"""The doctor's checks of an index: each problem is reported with a remedy."""

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
    """The worst finding of each subject. Each problem must have a remedy."""
    found: Findings = {}
    for finding in diagnose_index(load(project, **environ)):
        assert finding.ok or finding.remedy
        assert str(project) not in finding.detail + finding.remedy
        if finding.subject not in found or found[finding.subject].ok:
            found[finding.subject] = finding
    return found


def problems(found: Findings) -> set[str]:
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
    """A process that holds the lease for updating the index, and does not update it."""
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


def test_a_missing_index_is_no_problem_if_servers_create_it(project: Path) -> None:
    found = diagnose(project)
    assert problems(found) == set()
    assert "no index yet" in found["index"].detail
    assert not state_of(project).exists(), "the doctor creates nothing"


def test_a_missing_index_is_a_problem_without_auto_ingest(project: Path) -> None:
    found = diagnose(project, **MANUAL)
    assert problems(found) == {"index"}
    assert "contextive-mcp ingest" in found["index"].remedy


def test_a_healthy_index_has_no_problems(indexed: Path) -> None:
    found = diagnose(indexed)
    assert problems(found) == set()
    assert set(found) == {"index", "lease", "files", "vectors", "backup"}
    assert found["files"].detail == "The index is up to date with the files."
    assert "chunks have an embedding" in found["vectors"].detail


def test_changed_files_are_counted(indexed: Path) -> None:
    (indexed / "docs" / "tide.md").write_text("# Tide\n\nHigh at midnight.\n", encoding="utf-8")
    (indexed / "new.md").write_text("# New\n", encoding="utf-8")
    (indexed / "gauge.py").unlink()
    found = diagnose(indexed)
    assert problems(found) == set()
    expected = "File changes since the index was written: 2 new or changed, 1 removed."
    assert found["files"].detail.startswith(expected)
    found = diagnose(indexed, **MANUAL)
    assert problems(found) == {"files"}
    assert "stale" in found["files"].detail
    assert "contextive-mcp ingest" in found["files"].remedy


def test_a_keeper_that_does_not_update_the_index_is_named(
    indexed: Path, keeper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextive.ops.doctor_index._CATCH_UP_SECONDS", 0.1)
    found = diagnose(indexed)
    assert problems(found) == set()
    assert keeper in found["lease"].detail
    (indexed / "new.md").write_text("# New\n", encoding="utf-8")
    found = diagnose(indexed)
    assert problems(found) == {"files"}
    assert keeper in found["files"].detail
    assert "Stop that process" in found["files"].remedy


def test_a_run_of_another_process_is_reported(indexed: Path) -> None:
    store = open_store(state_of(indexed))
    lease = store.acquire_lease("ingest", "elsewhere:43")
    assert lease is not None
    assert "elsewhere:43 is indexing" in diagnose(indexed)["lease"].detail
    lease.release()
    store.close()


##= docs/spec/commands.md#doctor
##% The doctor MUST leave a damaged index unchanged.
@pytest.mark.parametrize("damage", ["no database at all", "pages"])
def test_a_damaged_index_is_reported_and_not_changed(indexed: Path, damage: str) -> None:
    database = state_of(indexed) / "index.db"
    data = bytearray(database.read_bytes())
    if damage == "pages":
        data[4096 * 3 :] = os.urandom(len(data) - 4096 * 3)
    else:
        data[:100] = b"x" * 100
    database.write_bytes(data)
    found = diagnose(indexed)
    assert problems(found) == {"index"}
    assert "damaged" in found["index"].detail
    assert "restore" in found["index"].remedy
    assert database.read_bytes() == data
    assert not (state_of(indexed) / "index.damaged").exists()


def test_embeddings_of_another_model_are_reported(indexed: Path) -> None:
    found = diagnose(indexed, CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL="minilm")
    assert problems(found) == {"vectors"}
    assert "a different model (dummy)" in found["vectors"].detail
    assert "contextive-mcp ingest" in found["vectors"].remedy


def test_chunks_without_embeddings_are_counted(project: Path) -> None:
    work(project, lambda index, _host: index.ingest(IngestRequest(profile="first")))
    found = diagnose(project)
    assert problems(found) == {"vectors"}
    assert "chunks have no embedding yet" in found["vectors"].detail
    assert problems(diagnose(project, CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL="none")) == set()


def test_an_unusable_model_is_reported_with_the_reason(indexed: Path) -> None:
    environ = {
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "openai:a-model",
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_URL": "http://127.0.0.1:9/v1",
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_KEY": "a-secret-key-0123456789",
    }
    found = diagnose(indexed, **environ)
    assert problems(found) == {"vectors"}
    assert "openai:a-model cannot be used" in found["vectors"].detail
    assert "a-secret-key" not in repr(found)


def test_an_old_backup_is_a_problem_if_there_are_newer_votes(indexed: Path) -> None:
    assert "There is no backup" in diagnose(indexed)["backup"].detail
    vote(indexed, time.time())
    assert problems(diagnose(indexed)) == {"backup"}
    work(indexed, lambda _index, host: host.services.get(DocumentsAndBackups).backups().create())
    assert problems(diagnose(indexed)) == set()
    found = found_later(indexed, days=40)
    assert found["backup"].detail == "The newest backup is 40 days old, and there are newer votes."
    assert "contextive-mcp backup" in found["backup"].remedy


def found_later(project: Path, days: int) -> Findings:
    """The findings if the newest backup is some days old and there is a newer vote."""
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


def test_a_failed_or_overdue_job_is_reported(indexed: Path) -> None:
    environ = {"KM_SCHEDULER_ENABLED": "true", "KM_ADMIN_TOKEN": "admin-token-0123456789"}
    store = open_store(state_of(indexed))
    write_state(store, "ingest", JobState(time.time(), "failure", "upstream_error"))
    assert "ingest failed (upstream_error)" in diagnose(indexed, **environ)["schedule"].detail
    write_state(store, "ingest", JobState(time.time() - 1_000_000, "success"))
    found = diagnose(indexed, **environ)
    store.close()
    assert problems(found) == {"schedule"}
    assert "ingest is overdue" in found["schedule"].detail


def test_in_remote_mode_no_local_index_is_checked(project: Path) -> None:
    found = diagnose(project, KM_GATEWAY_URL="http://127.0.0.1:9")
    assert problems(found) == set()
    assert "gateway" in found["index"].detail


def test_the_command_includes_the_checks_of_the_index(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from contextive.cli import run

    monkeypatch.setenv("CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL", "dummy")
    run(["doctor", "--json", "--project", str(indexed)])
    subjects = [finding["subject"] for finding in json.loads(capsys.readouterr().out)]
    assert [name for name in ("index", "lease", "files", "vectors", "backup") if name not in subjects] == []
