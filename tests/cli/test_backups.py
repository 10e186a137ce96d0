"""The commands `backup` and `restore`."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from contextive.store.sqlite.lease import lease_holder
from tests.cli.conftest import InProcessCli
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM

QUIET = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"}


@pytest.fixture
def station(in_process_cli: InProcessCli) -> InProcessCli:
    """A project that was indexed once."""
    (in_process_cli.folder / "docs").mkdir()
    in_process_cli.write("docs/gauge.md", "# Gauge\n\nThe level is read once a minute.\n")
    in_process_cli.run("ingest", env=QUIET)
    return in_process_cli


def archive_of(station: InProcessCli, *arguments: str) -> Path:
    made = json.loads(station.run("backup", "--json", *arguments, env=QUIET).stdout)
    return station.folder / ".contextive" / str(made["archive"])


def test_a_backup_is_made_listed_and_checked(station: InProcessCli) -> None:
    assert "There are no backups." in station.run("backup", "--list", env=QUIET).stdout
    printed = station.run("backup", env=QUIET).stdout
    assert printed.startswith("backups/archives/km-backup-")
    assert "1 runs" in printed
    listed = json.loads(station.run("backup", "--list", "--json", env=QUIET).stdout)["backups"]
    assert [backup["archive"] for backup in listed] == [printed.split()[0]]
    archive = station.folder / ".contextive" / printed.split()[0]
    assert "matches its manifest" in station.run("backup", "--check", str(archive), env=QUIET).stdout
    facts = json.loads(station.run("backup", "--check", str(archive), "--json", env=QUIET).stdout)
    assert (facts["ok"], facts["content_files"], facts["counts"]["run"]) == (True, 1, 1)


def test_a_corrupt_archive_fails_with_exit_code_1(station: InProcessCli) -> None:
    archive = archive_of(station)
    data = archive.read_bytes()
    archive.write_bytes(data[: len(data) // 2])
    assert "truncated" in station.error_message("backup", "--check", str(archive), code=1)
    assert "truncated" in station.error_message("restore", str(archive), "--force", code=1, env=QUIET)
    assert "cannot be opened" in station.error_message("backup", "--check", "nowhere.tgz", code=1)


def test_the_destination_and_the_retention_come_from_the_settings(station: InProcessCli, tmp_path: Path) -> None:
    shelf = {**QUIET, "KM_BACKUP_DEST_PATH": str(tmp_path / "shelf"), "KM_BACKUP_RETENTION_LIMIT": "2"}
    names = [json.loads(station.run("backup", "--json", env=shelf).stdout)["archive"] for _ in range(3)]
    assert {path.name for path in (tmp_path / "shelf").iterdir()} == set(names[1:])
    assert not (station.folder / ".contextive" / "backups" / "archives").exists()
    inside = {**QUIET, "KM_BACKUP_DEST_PATH": "shelf"}
    assert json.loads(station.run("backup", "--json", env=inside).stdout)["archive"].startswith("shelf/km-backup-")
    assert "outside" in station.error_message("backup", "--to", "/etc", code=1, env=QUIET)


##= docs/spec/gateway.md#restoring-a-backup
##% A restore MUST bring back everything that was backed up.
def test_a_lost_state_directory_can_be_restored_and_updated(station: InProcessCli, tmp_path: Path) -> None:
    archive = shutil.copy(archive_of(station), tmp_path / "kept.tgz")
    shutil.rmtree(station.folder / ".contextive")
    station.write("docs/late.md", "# Late\n")
    assert "Restored" in station.run("restore", str(archive), env=QUIET).stdout
    station.run("verify", code=1, env=QUIET)
    station.run("ingest", env=QUIET)
    station.run("verify", env=QUIET)
    assert json.loads(station.run("status", "--json", env=QUIET).stdout)["generation"] > 0
    listed = station.run("search", "how often is the level read", env=QUIET).stdout
    assert "docs/gauge.md" in listed


##= docs/spec/gateway.md#restoring-a-backup
##% An existing index MUST be replaced only with `--force`, and only after a backup of it was made.
def test_an_existing_index_is_replaced_only_with_force(station: InProcessCli) -> None:
    archive = archive_of(station)
    station.write("docs/late.md", "# Late\n")
    station.run("ingest", env=QUIET)
    assert "--force" in station.error_message("restore", str(archive), code=1, env=QUIET)
    restored = json.loads(station.run("restore", str(archive), "--force", "--json", env=QUIET).stdout)
    assert restored["safety_copy"].startswith("backups/archives/km-backup-")
    assert restored["counts"]["artifact"] == 1
    station.run("verify", code=1, env=QUIET)
    station.run("ingest", env=QUIET)
    station.run("verify", env=QUIET)


def test_a_restore_to_another_directory_needs_an_empty_one(station: InProcessCli, tmp_path: Path) -> None:
    archive = archive_of(station)
    station.run("restore", str(archive), "--to", str(tmp_path / "new"), env=QUIET)
    assert (tmp_path / "new" / "index.db").exists()
    assert "not empty" in station.error_message(
        "restore", str(archive), "--to", str(tmp_path / "new"), code=1, env=QUIET
    )
    station.error_message("restore", str(archive), "--to", str(tmp_path / "x"), "--force", code=2, env=QUIET)


##= docs/spec/gateway.md#restoring-a-backup
##% An index that a server is using MUST NOT be replaced.
def test_an_index_in_use_by_a_server_is_not_replaced(station: InProcessCli) -> None:
    archive = archive_of(station)
    state = station.folder / ".contextive"
    server = subprocess.Popen(
        [*PROGRAM, "serve", "--stdio"],
        cwd=station.folder,
        env=clean_environment({"XDG_CONFIG_HOME": str(station.folder / "xdg"), **QUIET}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert server.stdin is not None
    with server:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        for message in (
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "km-coverage-summary", "arguments": {}}},
        ):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        server.stdin.flush()
        deadline = time.monotonic() + 30
        while lease_holder(state, "keeper") is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "in use" in station.error_message("restore", str(archive), "--force", code=1, env=QUIET)
        assert archive_of(station).exists()
        server.stdin.close()
        server.wait(20)
    station.run("restore", str(archive), "--force", env=QUIET)
