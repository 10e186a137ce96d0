"""Copies a live database, checks the database of an archive, and replaces the live one with it."""

# ruff: noqa: S608
# Only names of our own tables are put into statements; values are always bound.

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from contextive.errors import InvalidRequest, Unavailable
from contextive.file_writing import sync_folder
from contextive.store.sqlite import faults, salvage, schema
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.sqlite.inspection import inspect, is_system_error

_COUNTED_TABLES = ("artifact", "chunk", *salvage.KEPT_TABLES)
_WAIT_SECONDS = 60.0
_NOT_OURS = "The database of the archive is not an index of this product."


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """Facts about a database for the manifest of a backup."""

    schema_version: int
    generation: int
    counts: Mapping[str, int]


##= docs/spec/gateway.md#creating-a-backup
##% An archive MUST contain the database as of a single moment, even while others write to it.
def copy_database(source: Path, target: Path) -> None:
    """Copy a database that others may be writing to. The copy has everything that was committed when copying
    began."""
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with faults.translate_errors(), _connected(source) as live, _connected(target) as copy:
        copy.execute("PRAGMA synchronous = OFF")  # an incomplete copy is thrown away
        _copy_pages(live, copy)


def read_facts(path: Path) -> DatabaseFacts:
    with faults.translate_errors(), _connected(path) as connection:
        (generation,) = connection.execute("SELECT generation FROM progress").fetchone()
        counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _COUNTED_TABLES}
        return DatabaseFacts(schema.schema_version(connection), generation, counts)


def indexed_files(path: Path) -> Iterator[tuple[str, int, str]]:
    """Path, size and digest of every indexed file, sorted by path."""
    with faults.translate_errors(), _connected(path) as connection:
        rows = connection.execute(
            "SELECT a.path, l.size, l.digest FROM artifact a JOIN ledger l ON l.artifact = a.number ORDER BY a.path"
        )
        for name, size, digest in rows:
            yield name, size, digest.hex() if isinstance(digest, bytes) else str(digest)


##= docs/spec/gateway.md#restoring-a-backup
##% A database with unknown tables, views or triggers MUST NOT be restored.
def prepare_database(path: Path, directory: StateDirectory) -> None:
    """Refuse a database that is damaged, newer or has unknown objects, and migrate an older one."""
    try:
        with _connected(path) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            if connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                raise InvalidRequest("The database of the archive is damaged.")
            version = schema.schema_version(connection)
            schema.check_not_newer(version)
            if not version or _views_and_triggers(connection) - _known_views_and_triggers():
                raise InvalidRequest(_NOT_OURS)
            if version < schema.latest_version():
                schema.migrate(connection)
            if (
                _views_and_triggers(connection) != _known_views_and_triggers()
                or _tables_of(connection) != _known_tables()
            ):
                raise InvalidRequest(_NOT_OURS)
            if connection.execute("SELECT count(*) FROM progress").fetchone() != (1,):
                raise InvalidRequest(_NOT_OURS)
            journal = "DELETE" if directory.network_file_system() else "WAL"
            connection.execute(f"PRAGMA journal_mode = {journal}").fetchone()
    except (sqlite3.Error, *faults.BROKEN_VALUES) as error:
        fault = faults.fault_of(error)
        if fault is not None and is_system_error(error):  # a full disk does not make a good archive a bad one
            raise faults.error_for(fault) from error
        raise InvalidRequest(_NOT_OURS) from None


def replace_database(staged: Path, directory: StateDirectory) -> Path | None:
    """Replace the content of the live database. Processes that have it open see either the old or the new content.

    If the live database is too damaged to be overwritten, it is renamed, and its new path is returned.
    """
    live = directory.database
    with faults.translate_errors():
        is_ours = inspect(live).kind in ("ready", "older")
    if is_ours:
        try:
            with _connected(staged) as source, _connected(live) as target:
                _copy_pages(source, target)
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (sqlite3.Error, *faults.BROKEN_VALUES) as error:
            fault = faults.fault_of(error)
            if fault is not None and is_system_error(error):
                raise faults.error_for(fault) from error
        else:
            directory.damage_marker.unlink(missing_ok=True)
            return None
    aside = salvage.set_aside(directory)
    with staged.open("rb") as file:
        os.fsync(file.fileno())
    staged.replace(live)
    sync_folder(live.parent)
    directory.damage_marker.unlink(missing_ok=True)
    salvage.remove_old(directory)
    return aside


def _copy_pages(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy all pages in one step: a copy in several steps would start over after every commit of another process."""
    source.backup(target, pages=-1, progress=_busy_deadline(), sleep=0.05)


def _busy_deadline() -> Callable[[int, int, int], None]:
    deadline = time.monotonic() + _WAIT_SECONDS

    def check(status: int, _remaining: int, _total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > deadline:
            raise Unavailable("The index is busy.", hint="Another process is writing; try again in a moment.")

    return check


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
    )
    with contextlib.closing(connection):
        yield connection


def _views_and_triggers(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """The views and triggers of a database, which can run SQL that is not ours."""
    return set(connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE type IN ('view', 'trigger')"))


def _tables_of(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return {name for (name,) in rows}


@contextlib.contextmanager
def _empty_database() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.migrate(connection)
        yield connection


def _known_views_and_triggers() -> set[tuple[str, str, str]]:
    with _empty_database() as connection:
        return _views_and_triggers(connection)


def _known_tables() -> set[str]:
    with _empty_database() as connection:
        return _tables_of(connection)
