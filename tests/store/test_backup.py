"""Backups: consistent while others write, checked before they are trusted, and restored over nothing that is in use."""

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
from contextive.store.sqlite.copying import prepare_database
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.values import AuditEntry
from tests.running import clean_environment

from .backed_up import START, Place
from .samples import found_ids, parsed, put


def test_an_archive_is_named_by_its_time_and_lies_with_the_backups(place: Place) -> None:
    made = place.backups.create()
    assert made.shown == "backups/archives/km-backup-20251009T085321.tgz"
    assert made.path == place.state / made.shown
    assert made.path.stat().st_size == made.size_bytes
    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == made.sha256
    assert made.path.stat().st_mode & 0o077 == 0
    assert made.manifest.counts == {
        "artifact": 2, "chunk": 3, "run": 1, "report": 1, "event": 1, "vote": 1, "audit": 1,
    }  # fmt: skip
    entry = place.store().records.audit(1)[0]
    assert (entry.tool, entry.body["archive"]) == ("km-backup-trigger", made.path.name)


##= docs/spec/gateway.md#making-a-backup
##% An archive MUST NOT hold tokens or the files of the project.
def test_it_holds_the_database_the_logs_and_the_digests_of_files_and_nothing_else(place: Place) -> None:
    (place.state / "audit").mkdir()
    (place.state / "audit" / "recipes.log").write_text("{}\n", encoding="utf-8")
    (place.state / "tokens.json").write_text("secret", encoding="utf-8")
    place.backups.create()
    made = place.backups.create()
    with tarfile.open(made.path) as tar:
        assert tar.getnames() == ["manifest.json", "index.db", "content.jsonl", "audit/recipes.log"]
        listing = tar.extractfile("content.jsonl")
        assert listing is not None
        rows = [json.loads(line) for line in listing.read().splitlines()]
    ledger = place.store().files.ledger()
    assert {row["path"]: row["digest"] for row in rows} == {path: entry.digest for path, entry in ledger.items()}
    assert made.manifest.content_files == 2
    assert check_archive(made.path) == read_manifest(made.path) == made.manifest


##= docs/spec/gateway.md#making-a-backup
##% The newest `backup.retention` archives of the project MUST stay, and archives of others be left alone.
def test_the_newest_stay_and_only_those_of_this_project_go(make_place: Callable[..., Place], tmp_path: Path) -> None:
    shared = tmp_path / "shelf"
    place, other = (make_place(name, destination=str(shared), retention=2) for name in ("one", "two"))
    foreign = other.backups.create()
    stranger = shared / "km-backup-20200101T000000.tgz"
    stranger.write_text("not ours", encoding="utf-8")
    names = [place.backups.create().path.name for _ in range(4)]
    assert [backup.path.name for backup in place.backups.existing()] == names[:1:-1]
    assert foreign.path.exists()
    assert stranger.exists()
    assert place.backups.create().pruned == (names[2],)


def test_without_a_limit_all_stay(make_place: Callable[..., Place]) -> None:
    place = make_place(retention=0)
    for _ in range(9):
        assert place.backups.create().pruned == ()
    assert len(place.backups.existing()) == 9


def test_two_in_one_second_have_two_names(place: Place) -> None:
    backups = Backups(place.backups.settings, place.store, lambda: START)
    names = [backups.create().path.name for _ in range(3)]
    stem = "km-backup-20251009T085320"
    assert names == [f"{stem}.tgz", f"{stem}-2.tgz", f"{stem}-3.tgz"]
    assert [backup.path.name for backup in backups.existing()] == names[::-1]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("release", "backups/release/km-backup-20251009T085321.tgz"),
        ("backups/release/", "backups/release/km-backup-20251009T085321.tgz"),
        ("{state}/backups/x", "backups/x/km-backup-20251009T085321.tgz"),
        ("  ", "backups/archives/km-backup-20251009T085321.tgz"),
    ],
)
def test_a_destination_is_a_directory_below_that_of_backups(place: Place, given: str, shown: str) -> None:
    assert place.backups.create(given.format(state=place.state)).shown == shown


##= docs/spec/gateway.md#making-a-backup
##% A destination MUST lie below the directory for backups.
@pytest.mark.parametrize(
    "given",
    ["..", "../x", "a/../../x", "/etc", "/tmp", "{state}/x", "{state}/backups/../x", "a\0b", ".hidden", "a b", "~"],
)
def test_no_destination_leads_elsewhere(place: Place, given: str) -> None:
    with pytest.raises((InvalidRequest, Forbidden)) as raised:
        place.backups.create(given.format(state=place.state))
    assert str(place.state) not in raised.value.sentence()


def test_a_link_in_place_of_a_directory_is_not_followed(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (place.state / "backups").mkdir()
    (place.state / "backups" / "archives").symlink_to(outside)
    with pytest.raises(Unavailable):
        place.backups.create()
    (place.state / "backups" / "archives").unlink()
    (place.state / "backups").rmdir()
    (place.state / "backups").symlink_to(outside)
    with pytest.raises(Unavailable):
        place.backups.create()
    inside = Backups(replace(place.backups.settings, destination="shelf"), place.store)
    (place.project / "shelf").symlink_to(outside)
    (place.state / "backups").unlink()
    with pytest.raises(Unavailable):
        inside.create()
    assert list(outside.iterdir()) == []


def test_one_backup_is_made_at_a_time(place: Place) -> None:
    lease = place.store().acquire_lease("backup", "somebody")
    assert lease is not None
    with pytest.raises(Unavailable, match="Another backup"):
        place.backups.create()
    lease.release()
    place.backups.create()


##= docs/spec/gateway.md#making-a-backup
##% A backup that fails MUST leave nothing behind.
def test_a_failed_backup_leaves_nothing_behind(place: Place) -> None:
    left = place.state / "backups" / "staging-old"
    left.mkdir(parents=True)
    (left / "index.db").write_text("half", encoding="utf-8")
    archives = place.state / "backups" / "archives"
    archives.write_text("in the way", encoding="utf-8")
    with pytest.raises(Unavailable):
        place.backups.create()
    assert [path.name for path in (place.state / "backups").iterdir()] == ["archives"]
    archives.unlink()
    place.backups.create()
    assert [path.name for path in (place.state / "backups").iterdir()] == ["archives"]


##= docs/spec/gateway.md#making-a-backup
##% An archive MUST hold the database as of one moment, while others go on writing.
def test_a_backup_made_while_others_write_is_of_one_moment(place: Place, tmp_path: Path) -> None:
    """Each transaction writes a file with two chunks, an audit entry and a counter: a copy has all of it or none."""
    stop, faults = threading.Event(), []

    def write(worker: int) -> None:
        try:
            store = open_store(place.state)
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
    made = [place.backups.create() for _ in range(6)]
    stop.set()
    for thread in threads:
        thread.join(60)
    assert faults == []
    for number, backup in enumerate(made):
        target = tmp_path / f"restored{number}"
        restore_elsewhere(backup.path, target, place.backups)
        store = open_store(target)
        assert list(store.verify()) == []
        audit = store.records.audit(1_000_000)
        for worker in range(2):
            turns = [entry.body["turn"] for entry in audit if entry.caller == f"w{worker}"]
            assert turns == list(range(len(turns), 0, -1))
            assert store.state(f"turn{worker}") == (str(len(turns)) if turns else None)
        store.close()
    assert made[0].manifest.generation < made[-1].manifest.generation


##= docs/spec/gateway.md#restoring-a-backup
##% What was restored MUST hold all that was kept.
def test_a_backup_comes_back_in_an_empty_place_with_all_that_was_kept(place: Place, tmp_path: Path) -> None:
    (place.state / "audit").mkdir()
    (place.state / "audit" / "recipes.log").write_text('{"recipe": "x"}\n', encoding="utf-8")
    made = place.backups.create()
    target = tmp_path / "new" / "state"
    restored = restore_elsewhere(made.path, target, place.backups)
    assert restored.safety_copy is None
    before, after = place.store(), open_store(target)
    assert after.records.runs(10) == before.records.runs(10)
    assert after.records.votes() == before.records.votes()
    assert after.records.events() == before.records.events()
    assert after.records.reports("coverage", 5) == before.records.reports("coverage", 5)
    assert [entry.tool for entry in after.records.audit(10)] == ["restore", "km-storetext"]
    assert after.files.ledger() == before.files.ledger()
    assert found_ids(after, "tide") == found_ids(before, "tide")
    assert list(after.verify()) == []
    assert (target / "audit" / "recipes.log").read_text(encoding="utf-8") == '{"recipe": "x"}\n'
    assert target.stat().st_mode & 0o077 == 0
    after.close()


def test_a_place_that_is_not_empty_is_left_alone(place: Place, tmp_path: Path) -> None:
    made = place.backups.create()
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(Conflict):
        restore_elsewhere(made.path, target, place.backups)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(Conflict):
        restore_elsewhere(made.path, link, place.backups)
    with pytest.raises(Conflict, match="already"):
        restore_backup(made.path, place.backups)


##= docs/spec/gateway.md#restoring-a-backup
##% An index that is there MUST be replaced with `--force` only, and after a copy of it was made.
def test_in_place_there_is_a_safety_copy_first_and_readers_go_on(place: Place) -> None:
    made = place.backups.create()
    reader = open_store(place.state)
    put(reader, parsed("docs/late.md", ["came after the backup"]))
    assert found_ids(reader, "backup") == ["docs/late.md::0"]
    restored = restore_backup(made.path, place.backups, force=True)
    assert restored.safety_copy is not None
    assert reader.files.artifact("docs/late.md") is None
    assert found_ids(reader, "backup") == []
    assert found_ids(reader, "tide") == found_ids(place.store(), "tide") != []
    assert list(reader.verify()) == []
    put(reader, parsed("docs/later.md", ["written to what was restored"]))
    assert place.store().files.artifact("docs/later.md") is not None
    again = restore_backup(restored.safety_copy.path, place.backups, force=True)
    assert again.manifest.counts["artifact"] == 3
    assert reader.files.artifact("docs/late.md") is not None
    assert list(reader.verify()) == []
    reader.close()


##= docs/spec/gateway.md#restoring-a-backup
##% An index that a server keeps MUST NOT be replaced.
@pytest.mark.parametrize("name", ["keeper", "ingest"])
def test_an_index_that_a_server_keeps_is_not_replaced(place: Place, name: str) -> None:
    made = place.backups.create()
    generation = place.store().generation()
    code = (
        "import sys, pathlib; from contextive.store import open_store;"
        f"store = open_store(pathlib.Path(sys.argv[1])); lease = store.acquire_lease({name!r}, 'host:1');"
        "print('held', flush=True); sys.stdin.read()"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(place.state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment({}),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server:
        assert server.stdout.readline() == b"held\n"
        with pytest.raises(Unavailable, match="in use by host:1"):
            restore_backup(made.path, place.backups, force=True)
        assert place.backups.create().manifest.generation == generation
        server.stdin.close()
        server.wait(20)
    restore_backup(made.path, place.backups, force=True)


def test_a_damaged_index_is_replaced_and_the_old_file_renamed(place: Place) -> None:
    made = place.backups.create()
    place.close()
    database = place.state / "index.db"
    database.write_bytes(b"this is not a database" * 1000)
    for journal in place.state.glob("index.db-*"):
        journal.unlink()
    restore_backup(made.path, place.backups, force=True)
    place.close()
    store = place.store()
    assert len(store.records.votes()) == 1
    assert list(store.verify()) == []
    assert len(list(place.state.glob("index.db.damaged-*"))) == 1


def test_a_disk_that_refuses_does_not_make_a_good_archive_a_bad_one(place: Place, tmp_path: Path) -> None:
    unpack_archive(place.backups.create().path, tmp_path)
    directory = StateDirectory(place.state, read_only=False)
    journal = tmp_path / "index.db-journal"
    journal.mkdir()  # so that none can be opened
    with pytest.raises(Unavailable, match="cannot be read or written"):
        prepare_database(tmp_path / "index.db", directory)
    journal.rmdir()
    prepare_database(tmp_path / "index.db", directory)
