"""A damaged database: set aside whole, and its kept rows copied as far as they can be read."""

# ruff: noqa: S608
# What is put into statements here are names of our own tables and columns; values are always bound.

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contextive.store.sqlite.directory import StateDirectory

KEPT_TABLES = ("run", "report", "event", "vote", "audit")
_JOURNALS = ("-wal", "-shm", "-journal")


def remove_journals(database: Path) -> None:
    for suffix in _JOURNALS:
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def set_aside(directory: StateDirectory) -> Path | None:
    """Move the database and its log into `damaged/`, in place of an earlier one; where it stands now."""
    database = directory.database
    if not database.exists():
        remove_journals(database)
        return None
    shelf = directory.path / "damaged"
    if (shelf / database.name).exists():
        shutil.rmtree(shelf, ignore_errors=True)
    shelf.mkdir(mode=0o700, exist_ok=True)
    # The log goes first: should we die in between, a database without its log is only older, a log without its own is wrong.
    # A log that lies there alone was brought by somebody who died so: it belongs to this database, a later one does not.
    for suffix in (*_JOURNALS, ""):
        file, place = database.with_name(database.name + suffix), shelf / (database.name + suffix)
        with contextlib.suppress(FileNotFoundError):
            if place.exists():
                file.unlink()
            else:
                file.replace(place)
    return shelf / database.name


##= docs/spec/knowledge.md#the-store
##% A damaged database MUST be set aside and made anew, with the votes, runs and audit that can still be read.
def copy_kept_rows(damaged: Path, target: sqlite3.Connection) -> int:
    """Copy the kept rows that can still be read; how many there were."""
    saved = 0
    try:
        source = sqlite3.connect(damaged, isolation_level=None)
    except sqlite3.Error:
        return 0
    with contextlib.closing(source):
        target.execute("BEGIN IMMEDIATE")
        for table in KEPT_TABLES:
            for row in _readable_rows(source, table):
                marks = ", ".join("?" * len(row))
                with contextlib.suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
                    target.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
                    saved += 1
        target.execute("COMMIT")
    return saved


def _readable_rows(source: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Rows from the front up to the damage, then from the back down to it."""
    seen: set[int] = set()
    for order in ("ASC", "DESC"):
        try:
            for row in source.execute(f"SELECT * FROM {table} NOT INDEXED ORDER BY number {order}"):
                if row[0] in seen:
                    return
                seen.add(row[0])
                yield row
        except sqlite3.Error:
            continue
