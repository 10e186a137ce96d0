"""Backups are consistent while others write, are checked before a restore, and never replace an index in use."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contextive.errors import Conflict, Forbidden, InvalidRequest, Unavailable
from contextive.store import open_store
from contextive.store.archive import check_archive, read_manifest, unpack_archive
from contextive.store.backup import Backups
from contextive.store.restore import restore_backup, restore_elsewhere
from contextive.store.sqlite.database_copy import prepare_database
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.values import AuditEntry
from tests.processes import clean_environment

from .backup_project import START, BackupProject
from .samples import found_ids, parsed, put


def test_an_archive_is_named_by_its_time_and_stored_with_the_backups(backup_project: BackupProject) -> None:
    backup = backup_project.backups.create()
    assert backup.display_path == "backups/archives/km-backup-20251009T085321.tgz"
    assert backup.path == backup_project.state / backup.display_path
    assert backup.path.stat().st_size == backup.size_bytes
    assert hashlib.sha256(backup.path.read_bytes()).hexdigest() == backup.sha256
    assert backup.path.stat().st_mode & 0o077 == 0
    assert backup.manifest.counts == {
        "artifact": 2, "chunk": 3, "run": 1, "report": 1, "event": 1, "vote": 1, "audit": 1,
    }  # fmt: skip
    entry = backup_project.store().records.audit(1)[0]
    assert (entry.tool, entry.body["archive"]) == ("km-backup-trigger", backup.path.name)


##= docs/spec/gateway.md#creating-a-backup
##% An archive MUST NOT contain tokens or the files of the project.
def test_an_archive_contains_only_the_database_evidence_logs_and_digests_of_files(
    backup_project: BackupProject,
) -> None:
    (backup_project.state / "audit").mkdir()
    (backup_project.state / "audit" / "recipes.log").write_text("{}\n", encoding="utf-8")
    (backup_project.state / "evidence.json").write_text("{}", encoding="utf-8")
    (backup_project.state / "tokens.json").write_text("secret", encoding="utf-8")
    backup_project.backups.create()
    backup = backup_project.backups.create()
    with tarfile.open(backup.path) as tar:
        assert tar.getnames() == [
            "manifest.json", "index.db", "content.jsonl", "evidence.json", "audit/recipes.log",
        ]  # fmt: skip
        listing = tar.extractfile("content.jsonl")
        assert listing is not None
        rows = [json.loads(line) for line in listing.read().splitlines()]
    ledger = backup_project.store().files.ledger()
    assert {row["path"]: row["digest"] for row in rows} == {path: entry.digest for path, entry in ledger.items()}
    assert backup.manifest.content_files == 2
    assert check_archive(backup.path) == read_manifest(backup.path) == backup.manifest


##= docs/spec/gateway.md#creating-a-backup
##% The newest `backup.retention` archives of the project MUST be kept, and archives of other projects left untouched.
def test_the_newest_archives_are_kept_and_only_those_of_this_project_are_deleted(
    make_backup_project: Callable[..., BackupProject], tmp_path: Path
) -> None:
    shared = tmp_path / "shelf"
    backup_project, other = (make_backup_project(name, destination=str(shared), retention=2) for name in ("one", "two"))
    foreign = other.backups.create()
    stranger = shared / "km-backup-20200101T000000.tgz"
    stranger.write_text("not ours", encoding="utf-8")
    names = [backup_project.backups.create().path.name for _ in range(4)]
    assert [backup.path.name for backup in backup_project.backups.existing()] == names[:1:-1]
    assert foreign.path.exists()
    assert stranger.exists()
    assert backup_project.backups.create().pruned == (names[2],)


def test_without_a_limit_all_archives_are_kept(make_backup_project: Callable[..., BackupProject]) -> None:
    backup_project = make_backup_project(retention=0)
    for _ in range(9):
        assert backup_project.backups.create().pruned == ()
    assert len(backup_project.backups.existing()) == 9


def test_two_archives_of_the_same_second_have_different_names(backup_project: BackupProject) -> None:
    backups = Backups(backup_project.backups.settings, backup_project.store, lambda: START)
    names = [backups.create().path.name for _ in range(3)]
    stem = "km-backup-20251009T085320"
    assert names == [f"{stem}.tgz", f"{stem}-2.tgz", f"{stem}-3.tgz"]
    assert [backup.path.name for backup in backups.existing()] == names[::-1]


@pytest.mark.parametrize(
    ("destination", "display_path"),
    [
        ("release", "backups/release/km-backup-20251009T085321.tgz"),
        ("backups/release/", "backups/release/km-backup-20251009T085321.tgz"),
        ("{state}/backups/x", "backups/x/km-backup-20251009T085321.tgz"),
        ("  ", "backups/archives/km-backup-20251009T085321.tgz"),
    ],
)
def test_a_destination_is_below_the_backup_directory(
    backup_project: BackupProject, destination: str, display_path: str
) -> None:
    assert backup_project.backups.create(destination.format(state=backup_project.state)).display_path == display_path


##= docs/spec/gateway.md#creating-a-backup
##% A destination MUST be below the backup directory.
@pytest.mark.parametrize(
    "destination",
    ["..", "../x", "a/../../x", "/etc", "/tmp", "{state}/x", "{state}/backups/../x", "a\0b", ".hidden", "a b", "~"],
)
def test_a_destination_outside_the_backup_directory_is_refused(backup_project: BackupProject, destination: str) -> None:
    with pytest.raises((InvalidRequest, Forbidden)) as raised:
        backup_project.backups.create(destination.format(state=backup_project.state))
    assert str(backup_project.state) not in raised.value.full_message()


def test_a_link_instead_of_a_directory_is_not_followed(backup_project: BackupProject, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (backup_project.state / "backups").mkdir()
    (backup_project.state / "backups" / "archives").symlink_to(outside)
    with pytest.raises(Unavailable):
        backup_project.backups.create()
    (backup_project.state / "backups" / "archives").unlink()
    (backup_project.state / "backups").rmdir()
    (backup_project.state / "backups").symlink_to(outside)
    with pytest.raises(Unavailable):
        backup_project.backups.create()
    inside = Backups(replace(backup_project.backups.settings, destination="shelf"), backup_project.store)
    (backup_project.project / "shelf").symlink_to(outside)
    (backup_project.state / "backups").unlink()
    with pytest.raises(Unavailable):
        inside.create()
    assert list(outside.iterdir()) == []


def test_only_one_backup_is_created_at_a_time(backup_project: BackupProject) -> None:
    lease = backup_project.store().acquire_lease("backup", "somebody")
    assert lease is not None
    with pytest.raises(Unavailable, match="Another backup"):
        backup_project.backups.create()
    lease.release()
    backup_project.backups.create()


##= docs/spec/gateway.md#creating-a-backup
##% A failed backup MUST leave nothing behind.
def test_a_failed_backup_leaves_nothing_behind(backup_project: BackupProject) -> None:
    leftover = backup_project.state / "backups" / "staging-old"
    leftover.mkdir(parents=True)
    (leftover / "index.db").write_text("half", encoding="utf-8")
    archives = backup_project.state / "backups" / "archives"
    archives.write_text("in the way", encoding="utf-8")
    with pytest.raises(Unavailable):
        backup_project.backups.create()
    assert [path.name for path in (backup_project.state / "backups").iterdir()] == ["archives"]
    archives.unlink()
    backup_project.backups.create()
    assert [path.name for path in (backup_project.state / "backups").iterdir()] == ["archives"]


##= docs/spec/gateway.md#creating-a-backup
##% An archive MUST contain the database as of a single moment, even while others write to it.
def test_a_backup_is_consistent_while_others_write(backup_project: BackupProject, tmp_path: Path) -> None:
    """Each transaction writes an audit entry and a counter: a copy has both or neither."""
    stop, faults = threading.Event(), []

    def write(worker: int) -> None:
        try:
            store = open_store(backup_project.state)
            turn = 0
            while not stop.is_set():
                turn += 1
                with store.transaction() as writer:
                    writer.put_audit(AuditEntry(time.time(), f"w{worker}", "turn", {"turn": turn}))
                    writer.put_state(f"turn{worker}", str(turn))
                put(store, parsed(f"w{worker}/f{turn % 7}", [f"text {turn}", "second"]))
            store.close()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    backups = [backup_project.backups.create() for _ in range(6)]
    stop.set()
    for thread in threads:
        thread.join(60)
    assert faults == []
    for number, backup in enumerate(backups):
        target = tmp_path / f"restored{number}"
        restore_elsewhere(backup.path, target, backup_project.backups)
        store = open_store(target)
        assert list(store.verify()) == []
        audit = store.records.audit(1_000_000)
        for worker in range(2):
            turns = [entry.body["turn"] for entry in audit if entry.caller == f"w{worker}"]
            assert turns == list(range(len(turns), 0, -1))
            assert store.state(f"turn{worker}") == (str(len(turns)) if turns else None)
        store.close()
    assert backups[0].manifest.generation < backups[-1].manifest.generation


##= docs/spec/gateway.md#restoring-a-backup
##% A restore MUST bring back everything that was backed up.
def test_a_backup_is_restored_into_an_empty_directory_with_all_kept_rows(
    backup_project: BackupProject, tmp_path: Path
) -> None:
    (backup_project.state / "audit").mkdir()
    (backup_project.state / "audit" / "recipes.log").write_text('{"recipe": "x"}\n', encoding="utf-8")
    (backup_project.state / "evidence.json").write_text('{"records": []}', encoding="utf-8")
    backup = backup_project.backups.create()
    target = tmp_path / "new" / "state"
    restored = restore_elsewhere(backup.path, target, backup_project.backups)
    assert restored.safety_copy is None
    before, after = backup_project.store(), open_store(target)
    assert after.records.runs(10) == before.records.runs(10)
    assert after.records.votes() == before.records.votes()
    assert after.records.events() == before.records.events()
    assert after.records.reports("coverage", 5) == before.records.reports("coverage", 5)
    assert [entry.tool for entry in after.records.audit(10)] == ["restore", "km-storetext"]
    assert after.files.ledger() == before.files.ledger()
    assert found_ids(after, "tide") == found_ids(before, "tide")
    assert list(after.verify()) == []
    assert (target / "audit" / "recipes.log").read_text(encoding="utf-8") == '{"recipe": "x"}\n'
    assert (target / "evidence.json").read_text(encoding="utf-8") == '{"records": []}'
    assert target.stat().st_mode & 0o077 == 0
    after.close()


def test_a_directory_that_is_not_empty_is_not_overwritten(backup_project: BackupProject, tmp_path: Path) -> None:
    backup = backup_project.backups.create()
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(Conflict):
        restore_elsewhere(backup.path, target, backup_project.backups)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(Conflict):
        restore_elsewhere(backup.path, link, backup_project.backups)
    with pytest.raises(Conflict, match="already"):
        restore_backup(backup.path, backup_project.backups)
    with pytest.raises(InvalidRequest, match="The archive cannot be opened"):
        restore_backup(tmp_path / "nope.tgz", backup_project.backups)


##= docs/spec/gateway.md#restoring-a-backup
##% An existing index MUST be replaced only with `--force`, and only after a backup of it was made.
def test_a_restore_in_place_makes_a_safety_copy_and_readers_continue(backup_project: BackupProject) -> None:
    backup = backup_project.backups.create()
    reader = open_store(backup_project.state)
    put(reader, parsed("docs/late.md", ["came after the backup"]))
    assert found_ids(reader, "backup") == ["docs/late.md::0"]
    restored = restore_backup(backup.path, backup_project.backups, force=True)
    assert restored.safety_copy is not None
    assert reader.files.artifact("docs/late.md") is None
    assert found_ids(reader, "backup") == []
    assert found_ids(reader, "tide") == found_ids(backup_project.store(), "tide") != []
    assert list(reader.verify()) == []
    put(reader, parsed("docs/later.md", ["written after the restore"]))
    assert backup_project.store().files.artifact("docs/later.md") is not None
    again = restore_backup(restored.safety_copy.path, backup_project.backups, force=True)
    assert again.manifest.counts["artifact"] == 3
    assert reader.files.artifact("docs/late.md") is not None
    assert list(reader.verify()) == []
    reader.close()


##= docs/spec/gateway.md#restoring-a-backup
##% An index that a server is using MUST NOT be replaced.
@pytest.mark.parametrize("name", ["keeper", "ingest"])
def test_an_index_that_a_server_uses_is_not_replaced(backup_project: BackupProject, name: str) -> None:
    backup = backup_project.backups.create()
    generation = backup_project.store().generation()
    code = (
        "import sys, pathlib; from contextive.store import open_store;"
        f"store = open_store(pathlib.Path(sys.argv[1])); lease = store.acquire_lease({name!r}, 'host:1');"
        "print('held', flush=True); sys.stdin.read()"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(backup_project.state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment({}),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server:
        assert server.stdout.readline() == b"held\n"
        with pytest.raises(Unavailable, match="in use by host:1"):
            restore_backup(backup.path, backup_project.backups, force=True)
        assert backup_project.backups.create().manifest.generation == generation
        server.stdin.close()
        server.wait(20)
    restore_backup(backup.path, backup_project.backups, force=True)


def test_a_damaged_index_is_replaced_and_the_old_file_renamed(backup_project: BackupProject) -> None:
    backup = backup_project.backups.create()
    backup_project.close()
    database = backup_project.state / "index.db"
    database.write_bytes(b"this is not a database" * 1000)
    for journal in backup_project.state.glob("index.db-*"):
        journal.unlink()
    restore_backup(backup.path, backup_project.backups, force=True)
    backup_project.close()
    store = backup_project.store()
    assert len(store.records.votes()) == 1
    assert list(store.verify()) == []
    assert len(list(backup_project.state.glob("index.db.damaged-*"))) == 1


def test_a_disk_error_does_not_make_a_good_archive_a_bad_one(backup_project: BackupProject, tmp_path: Path) -> None:
    unpack_archive(backup_project.backups.create().path, tmp_path)
    directory = StateDirectory(backup_project.state, read_only=False)
    journal = tmp_path / "index.db-journal"
    journal.mkdir()  # so that no journal can be opened
    with pytest.raises(Unavailable, match="cannot be read or written"):
        prepare_database(tmp_path / "index.db", directory)
    journal.rmdir()
    prepare_database(tmp_path / "index.db", directory)


def test_a_link_in_place_of_the_evidence_is_not_backed_up(backup_project: BackupProject, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("private", encoding="utf-8")
    backup_project.store()
    (backup_project.state / "evidence.json").symlink_to(tmp_path / "private")
    assert [member.name for member in backup_project.backups.create().manifest.files] == ["index.db", "content.jsonl"]
