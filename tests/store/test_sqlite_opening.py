"""Opening a store: files and modes, migrations, damage, and what connections may do."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextive.errors import ContextiveError, InternalError, Unavailable
from contextive.knowledge.graph import Edge
from contextive.store import open_store, replace_unusable_store, store_condition
from contextive.store.sql.graph_writer import add_words
from contextive.store.sqlite import schema
from contextive.store.sqlite.directory import StateDirectory, file_system_type
from contextive.store.sqlite.salvage import renamed_files, set_aside
from contextive.store.sqlite.store import SqliteStore
from contextive.store.values import AuditEntry, StoreCondition, Vote
from contextive.workspace.directory_handles import identity_of

from .samples import embed, found_ids, near_ids, parsed, put, vector_of


@contextlib.contextmanager
def opened(state_dir: Path, *, read_only: bool = False) -> Iterator[SqliteStore]:
    store = open_store(state_dir, read_only=read_only)
    assert isinstance(store, SqliteStore)
    try:
        yield store
    finally:
        store.close()


def fill(state_dir: Path, files: int = 3) -> None:
    with opened(state_dir) as store:
        put(store, *(parsed(f"f{number}", [f"words {number}", "more " * 50]) for number in range(files)))
        with store.transaction() as writer:
            for number in range(40):
                writer.put_vote(Vote(f"q{number}", "f0::0", "me", 1.0, "x" * 50, {}, float(number)))
            writer.put_audit(AuditEntry(1.0, "me", "tool", {}))


##= docs/spec/knowledge.md#store
##% The state directory of a project MUST be readable only by its user.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_state_directory_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    state_dir = tmp_path / "deep" / "state"
    with opened(state_dir) as store:
        put(store, parsed("a", ["x"]))
        embed(store)
        found_ids(store, "x")
        near_ids(store, vector_of("x"))
        assert stat.S_IMODE(state_dir.stat().st_mode) == 0o700
        assert (state_dir / ".gitignore").read_text(encoding="utf-8") == "*\n"
        for name in ("index.db", "index.db-wal"):
            assert stat.S_IMODE((state_dir / name).stat().st_mode) == 0o600
        for name in ("lexical", "vectors"):
            assert stat.S_IMODE((state_dir / name).stat().st_mode) == 0o700


def test_the_database_uses_wal_for_many_readers(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert store.health()["journal_mode"] == "wal"
        with store._database.writing() as connection:
            connection.set_authorizer(None)
            assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
            assert connection.execute("PRAGMA synchronous").fetchone() == (1,)


def test_an_index_of_the_first_schema_is_migrated_with_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        schema.migrate(connection, up_to=1)
        add_words(connection)
        connection.execute("INSERT INTO owner VALUES (1, 1, '@a')")
        (note, link) = (
            connection.execute("SELECT number FROM word WHERE text = ?", (word,)).fetchone()[0]
            for word in ("Note", "LINKS_TO")
        )
        for number, key in ((1, "x"), (2, "y")):
            connection.execute("INSERT INTO node VALUES (?, ?, 0, 0, ?, '{}', NULL)", (number, note, key))
            connection.execute("INSERT INTO statement VALUES (?, 1, NULL)", (number,))
        connection.execute("INSERT INTO edge VALUES (1, ?, 2, 1)", (link,))
        connection.execute("INSERT INTO audit VALUES (1, 7.0, 'me', 'a-tool', '{}')")
    path.chmod(0o600)
    with opened(tmp_path) as store:
        assert [entry.tool for entry in store.records.audit(5)] == ["a-tool"]
        assert store.graph.expand(["Note:y"], [], "incoming", 5) == (Edge("Note:x", "LINKS_TO", "Note:y"),)
        assert list(store.verify()) == []
    assert not list(tmp_path.glob("index.db.damaged-*"))


def test_every_migration_is_recorded(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        rows = store._database.read("SELECT version, name, checksum FROM migration")
    assert rows == [(item.version, item.name, item.checksum) for item in schema.migrations()]
    assert [item.version for item in schema.migrations()] == list(range(1, schema.latest_version() + 1))


##= docs/spec/knowledge.md#store
##% A database with a newer schema MUST be refused and left unchanged.
def test_an_index_of_a_newer_version_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    fill(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    for read_only in (False, True):
        with pytest.raises(Unavailable, match="schema 99"):
            open_store(tmp_path, read_only=read_only)
    assert not list(tmp_path.glob("index.db.damaged-*"))


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE ':memory:' AS other",
        "DETACH DATABASE main",
        "DELETE FROM vote",
        "INSERT INTO state VALUES ('a', 'b')",
        "UPDATE progress SET generation = 1",
        "CREATE TABLE mine (x)",
        "DROP TABLE chunk",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA writable_schema = ON",
        "SELECT load_extension('x')",
        "VACUUM INTO 'copy.db'",
        "REINDEX",
    ],
)
def test_read_connections_can_only_read(tmp_path: Path, statement: str) -> None:
    with opened(tmp_path) as store:
        with pytest.raises(sqlite3.DatabaseError):
            store._database.reader().execute(statement)
        assert store._database.reader().execute("SELECT value FROM json_each('[7]')").fetchall() == [(7,)]


@pytest.mark.parametrize(
    "statement", ["ATTACH DATABASE ':memory:' AS other", "SELECT load_extension('x')", "PRAGMA user_version = 5"]
)
def test_write_connections_cannot_attach_databases_or_change_settings(tmp_path: Path, statement: str) -> None:
    with opened(tmp_path) as store, pytest.raises(ContextiveError), store._database.writing() as connection:
        connection.execute(statement)


def _overwrite_header(file: Path) -> None:
    file.write_bytes(b"not a database file" + file.read_bytes()[19:])


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: 10 * 4096 + 100])


def _overwrite_with_noise(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    file.write_bytes(bytes(content))


##= docs/spec/knowledge.md#store
##% A damaged database MUST be renamed and rebuilt, with the votes, runs and audit records that can still be read.
@pytest.mark.parametrize("damage", [_overwrite_header, _truncate, _overwrite_with_noise])
def test_a_damaged_index_is_rebuilt(tmp_path: Path, damage: object) -> None:
    fill(tmp_path)
    assert callable(damage)
    damage(tmp_path / "index.db")
    with opened(tmp_path) as store:
        found = [item.what for item in store.verify()]
        with contextlib.suppress(Unavailable):
            store.generation()
        put(store, parsed("again", ["fresh words"]))
        assert found_ids(store, "fresh") == ["again::0"]
        assert list(store.verify()) == []
        assert "f1" not in store.files.ledger() or found == []


def test_votes_survive_damage_in_derived_pages(tmp_path: Path) -> None:
    fill(tmp_path, files=60)
    file = tmp_path / "index.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunk'").fetchone()
    content = bytearray(file.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = os.urandom(4096)
    file.write_bytes(bytes(content))
    with opened(tmp_path) as store:
        assert [item.subject for item in store.verify()] == ["database"]
    with opened(tmp_path) as store:
        assert len(store.records.votes()) == 40
        assert [entry.tool for entry in store.records.audit(5)] == ["repair", "tool"]
        assert list(store.files.artifacts()) == []
        assert "none were lost" in store_condition(tmp_path).message
        assert len(renamed_files(StateDirectory(tmp_path, read_only=True))) == 1
        assert list(store.verify()) == []
    with opened(tmp_path) as store:
        assert "none were lost" in store_condition(tmp_path).message
        with store.transaction() as writer:
            writer.clear_derived()
        assert store_condition(tmp_path) == StoreCondition(True, "ok")


def test_damage_found_during_a_call_is_repaired_by_the_next_call(tmp_path: Path) -> None:
    fill(tmp_path, files=60)
    file = tmp_path / "index.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunk'").fetchone()
    content = bytearray(file.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    file.write_bytes(bytes(content))
    with opened(tmp_path) as store:
        with pytest.raises(Unavailable, match="damaged"):
            store.files.chunks([1, 2, 3])
        assert store.files.chunks([1, 2, 3]) == {}
        assert len(store.records.votes()) == 40


def test_a_store_notices_that_its_file_was_replaced_or_removed(tmp_path: Path) -> None:
    fill(tmp_path / "other", files=2)
    with opened(tmp_path / "state") as store:
        put(store, parsed("mine", ["special sentence"]))
        assert found_ids(store, "special") == ["mine::0"]
        for name in ("index.db-wal", "index.db-shm"):
            (tmp_path / "state" / name).unlink(missing_ok=True)
        shutil.copy(tmp_path / "other" / "index.db", tmp_path / "state" / "copy.db")
        (tmp_path / "state" / "copy.db").replace(tmp_path / "state" / "index.db")
        assert set(store.files.ledger()) == {"f0", "f1"}
        assert found_ids(store, "special") == []
        assert set(found_ids(store, "words")) == {"f0::0", "f1::0"}
        assert list(store.verify()) == []
        for file in (tmp_path / "state").glob("index.db*"):
            file.unlink()
        assert store.files.ledger() == {}
        put(store, parsed("new", ["brand new"]))
        assert found_ids(store, "brand") == ["new::0"]


def test_an_index_can_be_read_without_write_permission(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no index"):
        open_store(tmp_path / "nothing", read_only=True)
    assert not (tmp_path / "nothing").exists()
    fill(tmp_path)
    with opened(tmp_path) as store:
        embed(store)
    before = sorted(path.name for path in tmp_path.iterdir())
    with opened(tmp_path, read_only=True) as store:
        assert set(store.files.ledger()) == {"f0", "f1", "f2"}
        assert len(found_ids(store, "words")) == 3
        assert len(near_ids(store, vector_of("q"))) == 6
        with pytest.raises(Unavailable), store.transaction():
            pass
        with pytest.raises(Unavailable):
            store.acquire_lease("ingest", "me")
        left = {path.name for path in tmp_path.iterdir()} - set(before)
        assert left <= {"index.db-wal", "index.db-shm"}


def test_transactions_do_not_nest(tmp_path: Path) -> None:
    with opened(tmp_path) as store, store.transaction(), pytest.raises(RuntimeError), store.transaction():
        pass


##= docs/spec/knowledge.md#store
##% A full disk MUST be reported with a clear message, and no stored data is lost.
def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path: Path) -> None:
    fill(tmp_path)
    with opened(tmp_path) as store:
        with store._database.writing() as connection:
            connection.set_authorizer(None)
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
        store._database._writer.execute(f"PRAGMA max_page_count = {pages + 2}")  # type: ignore[union-attr]
        with pytest.raises(Unavailable, match="full"):
            put(store, parsed("big", ["x" * 200_000]))
        assert set(store.files.ledger()) == {"f0", "f1", "f2"}
        store._database._writer.execute("PRAGMA max_page_count = 1000000")  # type: ignore[union-attr]
        put(store, parsed("big", ["x" * 200_000]))
        assert list(store.verify()) == []


def test_a_log_that_cannot_be_removed_is_reported_as_unavailable(tmp_path: Path) -> None:
    """A log without a database belongs to a removed one. Here the log is a directory, so it cannot be deleted."""
    log = tmp_path / "index.db-wal"
    log.mkdir()
    with pytest.raises(Unavailable, match="cannot be written"):
        open_store(tmp_path)
    log.rmdir()
    with opened(tmp_path) as store:
        assert list(store.verify()) == []


def test_a_busy_database_is_reported_after_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextive.store.sqlite import connection, inspection

    fill(tmp_path)
    monkeypatch.setattr(connection, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(inspection, "BUSY_MILLISECONDS", 10)
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "index.db", isolation_level=None)) as other,
        opened(tmp_path) as store,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="busy"), store.transaction():
            pass
        assert len(store.files.ledger()) == 3
        other.execute("ROLLBACK")
        put(store, parsed("later", ["x"]))


_MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
host:/export /srv/data nfs4 rw 0 0
user@host:/x /srv/data/with\\040space fuse.sshfs rw 0 0
/dev/sdb1 /srv/data/local ext4 rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/data/project", "nfs4"),
        ("/srv/data/with space/project", "fuse.sshfs"),
        ("/srv/data/local/project", "ext4"),
        ("/srv/database", "ext4"),
    ],
)
def test_the_type_of_the_file_system_is_found_from_the_mount_table(path: str, kind: str) -> None:
    assert file_system_type(_MOUNTS, Path(path)) == kind


def test_on_a_network_file_system_wal_is_not_used_and_there_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StateDirectory, "network_file_system", lambda self: "nfs4")
    with opened(tmp_path) as store:
        put(store, parsed("a", ["text"]))
        assert found_ids(store, "text") == ["a::0"]
        assert store.health()["journal_mode"] == "delete"
        assert any("nfs4" in warning for warning in store.health()["warnings"])


def test_a_log_that_was_renamed_before_a_crash_stays_with_its_database(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, read_only=False)
    name = "index.db.damaged-20260101T000000"
    (tmp_path / f"{name}-wal").write_bytes(b"its log")  # the process died before it renamed the database too
    directory.database.write_bytes(b"the database")
    (tmp_path / "index.db-wal").write_bytes(b"of a process that opened it afterwards")
    assert set_aside(directory) == tmp_path / name
    assert {file.name: file.read_bytes() for file in tmp_path.glob("index.db*")} == {
        name: b"the database",
        f"{name}-wal": b"its log",
    }
    directory.database.write_bytes(b"the next one")
    second = set_aside(directory)
    assert second is not None
    assert second.name > name
    assert second.read_bytes() == b"the next one"


##= docs/spec/knowledge.md#store
##% Before a database is rebuilt, the old file MUST be renamed to `index.db.damaged-<time>`, and the newest two such
##% files are kept.
def test_the_newest_two_renamed_databases_are_kept(tmp_path: Path) -> None:
    fill(tmp_path)
    contents = [b"no database %d" % number * 100 for number in range(4)]
    for content in contents:
        for journal in tmp_path.glob("index.db-*"):
            journal.unlink()
        (tmp_path / "index.db").write_bytes(content)
        with opened(tmp_path) as store:
            assert list(store.verify()) == []
    kept = sorted(tmp_path.glob("index.db.damaged-*"))
    assert [file.read_bytes() for file in kept] == contents[2:]


def test_a_file_that_is_emptied_while_it_is_used_is_reported_as_lost_data(tmp_path: Path) -> None:
    fill(tmp_path)
    with opened(tmp_path) as store:
        assert len(store.records.votes()) == 40
        for journal in tmp_path.glob("index.db-*"):
            journal.unlink()
        os.truncate(tmp_path / "index.db", 0)
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"index\.db is empty.*lost"):
                store.records.votes()
        assert store_condition(tmp_path).reason_code == "empty"
        repair = replace_unusable_store(tmp_path)
        assert repair is not None
        assert repair.lost is None
        assert store.records.votes() == ()
        assert store_condition(tmp_path).reason_code == "repaired"


def test_a_server_does_not_write_to_an_index_that_a_newer_version_has_migrated_meanwhile(tmp_path: Path) -> None:
    fill(tmp_path)
    with opened(tmp_path) as store:
        with contextlib.closing(sqlite3.connect(tmp_path / "index.db")) as connection:
            connection.execute("PRAGMA user_version = 99")
        with pytest.raises(Unavailable, match="schema 99"):
            put(store, parsed("late", ["x"]))
        assert not list(tmp_path.glob("index.db.damaged-*"))


##= docs/spec/knowledge.md#store
##% Any database exception MUST count as damage, unless the operating system refused the operation or a check finds
##% the file intact.
def test_a_bug_in_our_code_does_not_cause_a_rebuild(tmp_path: Path) -> None:
    fill(tmp_path)
    with opened(tmp_path) as store:
        for statement in ("SELECT nothing FROM chunk", "SELECT 1 FROM nowhere", "SELEKT"):
            with pytest.raises(InternalError):
                store._database.read(statement)
        with pytest.raises(KeyError), store.snapshot():
            raise KeyError("a bug in code that reads")
        assert len(store.records.votes()) == 40
    assert not list(tmp_path.glob("index.db.damaged-*"))
    assert not (tmp_path / "index.damaged").exists()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE vote SET context = '{' WHERE number = 7",
        "UPDATE vote SET note = CAST(x'ff00fe' AS TEXT) WHERE number = 7",
        "UPDATE vote SET timestamp = 'late' WHERE number = 7",
    ],
)
def test_a_kept_row_that_cannot_be_read_is_lost_alone(tmp_path: Path, change: str) -> None:
    fill(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        connection.execute(change)
        connection.commit()
    with opened(tmp_path) as store:
        with contextlib.suppress(Unavailable):
            store.records.votes()
        list(store.verify())
        assert [vote.request_id for vote in store.records.votes()] == [
            f"q{number}" for number in range(40) if number != 6
        ]
    condition = store_condition(tmp_path)
    assert (condition.ok, condition.reason_code) == (False, "repaired")
    assert "1 were lost" in condition.message


def test_a_rebuild_continues_after_a_crash_between_renaming_and_building(tmp_path: Path) -> None:
    fill(tmp_path)
    directory = StateDirectory(tmp_path, read_only=False)
    directory.mark_damaged(identity_of(directory.database))
    assert set_aside(directory) is not None
    with opened(tmp_path) as store:
        assert len(store.records.votes()) == 40
    assert not directory.damage_marker.exists()


def test_a_damage_marker_does_not_count_for_another_file(tmp_path: Path) -> None:
    fill(tmp_path)
    StateDirectory(tmp_path, read_only=False).mark_damaged((1, 2))
    with opened(tmp_path) as store:
        assert len(store.files.ledger()) == 3


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    fill(tmp_path)
    tmp_path.chmod(0o500)
    try:
        assert store_condition(tmp_path).reason_code == "read_only"
    finally:
        tmp_path.chmod(0o700)
