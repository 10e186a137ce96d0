"""Renames a database that cannot be used, and copies the kept rows that can be read from it."""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from contextive.file_writing import sync_folder
from contextive.store.sqlite import schema
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.sqlite.faults import EXCEPTIONS
from contextive.store.sqlite.inspection import is_system_error
from contextive.workspace.directory_handles import identity_of

KEPT_TABLES = ("run", "report", "event", "vote", "audit")
_JOURNALS = ("-wal", "-shm", "-journal")
_RENAMED = re.compile(r"\.damaged-\d{8}T\d{6}(?:-\d+)?")
_KEPT_FILES = 2
_MAX_SINGLE_ROWS = 100_000
_MAX_MISSES = 5_000
_AFTER_LAST_ROW = 1 << 62
_PAGE_BYTES = 4096
"""The page size of every database that we write: the default of SQLite."""
_FORMAT = slice(18, 20)
_WAL_FORMAT = b"\x02\x02"
_NUMBER_OF_PAGES = slice(28, 32)

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SalvageResult:
    """How many kept rows were copied, and how many could not be read (None if unknown)."""

    saved: int = 0
    lost: int | None = 0


# Renaming


def remove_journals(database: Path) -> None:
    for suffix in _JOURNALS:
        database.with_name(database.name + suffix).unlink(missing_ok=True)


##= docs/spec/knowledge.md#store
##% Before a database is rebuilt, the old file MUST be renamed to `index.db.damaged-<time>`, and the newest two such
##% files are kept.
def set_aside(directory: StateDirectory) -> Path | None:
    """Rename the database with its log, and return the new path; None if there is nothing to rename."""
    database = directory.database
    if not (database.exists() or database.is_symlink()):
        remove_journals(database)
        return None
    target = _free_name(directory)
    # The log is renamed first: if we die in between, a database without its log is only older, but a log next to
    # another database is wrong. If there is already a log with the new name, a process died at that point: that log
    # belongs to this database, and the one found now does not.
    for suffix in (*_JOURNALS, ""):
        file, renamed = database.with_name(database.name + suffix), target.with_name(target.name + suffix)
        with contextlib.suppress(FileNotFoundError):
            if suffix and renamed.exists():
                file.unlink()
            else:
                file.rename(renamed)
    sync_folder(directory.path)
    return target


def renamed_files(directory: StateDirectory) -> list[Path]:
    """The renamed databases, oldest first."""
    name = directory.database.name
    found = [
        path for path in directory.path.glob(f"{name}.damaged-*") if _RENAMED.fullmatch(path.name.removeprefix(name))
    ]
    return sorted(found, key=_sort_key)


def remove_old(directory: StateDirectory) -> None:
    """Remove all renamed databases except the newest two."""
    for path in renamed_files(directory)[:-_KEPT_FILES]:
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
            remove_journals(path)


def renamed_from(directory: StateDirectory) -> Path | None:
    """The renamed database that the damage marker names and that was not rebuilt yet, because a process died."""
    marked = directory.damaged_identity()
    return next((path for path in reversed(renamed_files(directory)) if marked in (None, identity_of(path))), None)


def _free_name(directory: StateDirectory) -> Path:
    """A name that no database has. A name with a log but no database was left by a process that died while
    renaming."""
    database = directory.database
    logs = database.parent.glob(f"{database.name}.damaged-*-wal")
    logged = [log.with_name(log.name.removesuffix("-wal")) for log in logs]
    unfinished = [
        path for path in logged if _RENAMED.fullmatch(path.name.removeprefix(database.name)) and not path.exists()
    ]
    if unfinished:
        return max(unfinished, key=_sort_key)
    stamp = datetime.fromtimestamp(time.time(), UTC).strftime("%Y%m%dT%H%M%S")
    # Higher than all of the same second: a reused number would make a new file look like the oldest.
    taken = [number for time_stamp, number in map(_sort_key, renamed_files(directory)) if time_stamp == stamp]
    return database.with_name(f"{database.name}.damaged-{stamp}" + (f"-{max(taken) + 1}" if taken else ""))


def _sort_key(path: Path) -> tuple[str, int]:
    stamp, _, number = path.name.rpartition(".damaged-")[2].partition("-")
    return stamp, int(number or 0)


# Copying rows


##= docs/spec/knowledge.md#store
##% A damaged database MUST be renamed and rebuilt, with the votes, runs and audit records that can still be read.
def copy_kept_rows(damaged: Path, target: sqlite3.Connection, scratch: Path) -> SalvageResult:
    """Copy the kept rows that can be read from a renamed database. `scratch` is a path for a modified copy of it."""
    if not damaged.is_file() or damaged.stat().st_size == 0:
        return SalvageResult(0, None)
    with _open_tolerant(damaged, "ro") as source:
        tables = {table: _read_table(source, table) for table in KEPT_TABLES}
        roots = _root_pages(source, tables)
    damaged.with_name(f"{damaged.name}-shm").unlink(missing_ok=True)
    if any(read.has_losses for read in tables.values()):
        with _open_with_known_schema(damaged, scratch, roots) as source:
            retried = {table: _read_table(source, table) for table in KEPT_TABLES}
        tables = {table: tables[table].joined(retried[table]) for table in KEPT_TABLES}
    saved = 0
    target.execute("BEGIN IMMEDIATE")
    for table, read in tables.items():
        for row in read.rows.values():
            marks = ", ".join("?" * len(row))
            saved += target.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row).rowcount
    target.execute("COMMIT")
    is_unknown = any(read.is_unknown for read in tables.values())
    return SalvageResult(saved, None if is_unknown else sum(len(read.unreadable) for read in tables.values()))


def has_unreadable_rows(database: Path) -> bool:
    """Whether a kept row of a database cannot be read or has a value that we would not write."""
    with _open_tolerant(database, "ro") as source:
        return any(_read_table(source, table).has_losses for table in KEPT_TABLES)


@dataclass(slots=True)
class _TableRows:
    """The rows that could be read from a table."""

    rows: dict[int, Row] = field(default_factory=dict)
    unreadable: set[int] = field(default_factory=set)
    is_unknown: bool = False
    """Whether there may be more rows, which could not be read."""
    is_missing: bool = False

    @property
    def has_losses(self) -> bool:
        return self.is_unknown or bool(self.unreadable)

    def joined(self, other: _TableRows) -> _TableRows:
        rows = {**other.rows, **self.rows}
        return _TableRows(
            rows,
            (self.unreadable & other.unreadable) - rows.keys(),
            self.is_unknown and other.is_unknown,
            self.is_missing,
        )


def _read_table(source: sqlite3.Connection, table: str) -> _TableRows:
    """Read rows from the start up to the damage, from the end down to it, and one by one in between."""
    read = _TableRows()
    names = ", ".join(name for name, _kind, _required in _columns(table))
    select = f"SELECT {names} FROM {table} NOT INDEXED"
    try:
        source.execute(f"{select} LIMIT 0")
    except EXCEPTIONS as error:
        _raise_system_error(error)
        return _TableRows(is_unknown=True, is_missing=True)
    first = _read_in_order(source, f"{select} ORDER BY number ASC", table, read)
    if first is None:
        return read
    last = _read_in_order(source, f"{select} ORDER BY number DESC", table, read)
    if last is None:
        return read
    misses = 0
    for number in range(first + 1, min(last, first + _MAX_SINGLE_ROWS)):
        if number in read.rows:
            continue
        misses = 0 if _read_row(source, select, number, table, read) else misses + 1
        if last == _AFTER_LAST_ROW and misses > _MAX_MISSES:
            break
    read.is_unknown = last - first > _MAX_SINGLE_ROWS
    if last == _AFTER_LAST_ROW:  # numbers after the last row look unreadable too
        read.unreadable.clear()
    return read


def _read_in_order(source: sqlite3.Connection, select: str, table: str, read: _TableRows) -> int | None:
    """Read rows in one order; returns the last number before the damage, or None if there was no damage."""
    at = 0 if select.endswith("ASC") else _AFTER_LAST_ROW
    try:
        for row in source.execute(select):
            if row[0] in read.rows or row[0] in read.unreadable:
                return None
            at = row[0]
            _add_row(row, table, read)
    except EXCEPTIONS as error:
        _raise_system_error(error)
        return at
    return None


def _read_row(source: sqlite3.Connection, select: str, number: int, table: str, read: _TableRows) -> bool:
    try:
        row = source.execute(f"{select} WHERE number = ?", (number,)).fetchone()
    except EXCEPTIONS as error:
        _raise_system_error(error)
        read.unreadable.add(number)
        return False
    if row is not None:
        _add_row(row, table, read)
    return row is not None


def _add_row(row: Row, table: str, read: _TableRows) -> None:
    try:
        read.rows[row[0]] = tuple(
            _value(stored, kind, required=required)
            for stored, (_name, kind, required) in zip(row, _columns(table), strict=True)
        )
    except (ValueError, TypeError, RecursionError):
        read.unreadable.add(row[0])


def _value(stored: Any, kind: str, *, required: bool) -> Any:
    """The stored value if it has the form that we write; otherwise raises ValueError or TypeError."""
    if stored is None and not required:
        return None
    match kind:
        case "INTEGER" if isinstance(stored, int):
            return stored
        case "REAL" if isinstance(stored, int | float):
            return float(stored)
        case "TEXT" | "JSON" if isinstance(stored, bytes):
            text = stored.decode()
            if kind == "JSON" and not isinstance(json.loads(text), dict):
                raise TypeError
            return text
        case _:
            raise TypeError


def _raise_system_error(error: Exception) -> None:
    if is_system_error(error):
        raise error


@contextlib.contextmanager
def _open_tolerant(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection that tolerates an invalid schema and text that is not UTF-8."""
    has_log = path.with_name(f"{path.name}-wal").exists()
    options = f"mode={mode}" if has_log or mode == "rw" else "immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, isolation_level=None)
    with contextlib.closing(connection):
        connection.text_factory = bytes
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection


# A schema that cannot be read


@cache
def _columns(table: str) -> tuple[tuple[str, str, bool], ...]:
    """Name, kind and whether a value is required, for each column."""
    return _known_schema()[table][1]


@cache
def _known_schema() -> dict[str, tuple[int, tuple[tuple[str, str, bool], ...]]]:
    """The root page and the columns of each kept table, in a newly created database."""
    tables = {}
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.migrate(connection)
        for table in KEPT_TABLES:
            (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
            columns = tuple(
                (name, "JSON" if name in ("body", "context") else declared, bool(required or key))
                for _number, name, declared, required, _default, key in connection.execute(
                    f"PRAGMA table_info({table})"
                )
            )
            tables[table] = (root, columns)
    return tables


def _root_pages(source: sqlite3.Connection, tables: Mapping[str, _TableRows]) -> dict[str, int]:
    """The root page of each kept table: from the schema if only the table's statement in it is damaged, otherwise as
    in a new database."""
    roots = {table: root for table, (root, _columns) in _known_schema().items()}
    try:
        rows = source.execute("SELECT tbl_name, rootpage FROM sqlite_schema WHERE type = 'table'").fetchall()
    except EXCEPTIONS as error:
        _raise_system_error(error)
        return roots
    for name, root in rows:
        table = name.decode(errors="replace") if isinstance(name, bytes) else ""
        if table in tables and tables[table].is_missing and isinstance(root, int) and root > 1:
            roots[table] = root
    return roots


@contextlib.contextmanager
def _open_with_known_schema(damaged: Path, scratch: Path, roots: Mapping[str, int]) -> Iterator[sqlite3.Connection]:
    """A connection to a copy of the database whose first page is replaced by one that lists only the kept tables."""
    log, copied_log = damaged.with_name(f"{damaged.name}-wal"), scratch.with_name(f"{scratch.name}-wal")
    try:
        shutil.copyfile(damaged, scratch)
        page = _first_page(scratch, roots)
        if log.exists():
            shutil.copyfile(log, copied_log)
            _write_first_page(scratch, page, is_logged=True)
            try:
                with _open_tolerant(scratch, "rw") as connection:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except EXCEPTIONS as error:
                _raise_system_error(error)
            remove_journals(scratch)
        _write_first_page(scratch, page, is_logged=False)
        with _open_tolerant(scratch, "ro") as connection:
            yield connection
    finally:
        remove_journals(scratch)
        scratch.unlink(missing_ok=True)


def _first_page(scratch: Path, roots: Mapping[str, int]) -> bytes:
    template = scratch.with_name(f"{scratch.name}-page")
    try:
        with contextlib.closing(sqlite3.connect(template, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            for table in KEPT_TABLES:
                names = ", ".join(name for name, _kind, _required in _columns(table)[1:])
                connection.execute(f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, {names})")
            connection.execute("PRAGMA writable_schema = ON")
            for table, root in roots.items():
                connection.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", (root, table))
        return template.read_bytes()[:_PAGE_BYTES]
    finally:
        template.unlink(missing_ok=True)


def _write_first_page(scratch: Path, page: bytes, *, is_logged: bool) -> None:
    with scratch.open("r+b") as file:
        pages = -(-file.seek(0, 2) // _PAGE_BYTES)
        file.truncate(pages * _PAGE_BYTES)
        content = bytearray(page)
        content[_NUMBER_OF_PAGES] = pages.to_bytes(4, "big")
        if is_logged:
            content[_FORMAT] = _WAL_FORMAT
        file.seek(0)
        file.write(content)
