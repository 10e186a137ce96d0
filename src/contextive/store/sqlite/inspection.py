"""Determines the state of a database file without changing it."""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import contextlib
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from contextive.store.sqlite import schema
from contextive.store.sqlite.faults import EXCEPTIONS, Fault, fault_of

BUSY_MILLISECONDS = 2_000
_JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024
_JSON_COLUMNS = (("run", "body"), ("report", "body"), ("event", "body"), ("vote", "context"), ("audit", "body"))
_STORED_TYPES = {
    "INTEGER": ("integer",),
    "REAL": ("real", "integer"),
    "TEXT": ("text",),
    "BLOB": ("blob", "text"),  # a digest that is not hexadecimal is stored as text
}

Kind = Literal["absent", "empty", "not_a_file", "damaged", "unknown", "older", "newer", "ready"]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is at the path of the database."""

    kind: Kind
    version: int = 0

    @property
    def message(self) -> str:
        """What is wrong with it, as a message for the user."""
        match self.kind:
            case "absent":
                return "There is no index yet."
            case "empty":
                return "index.db is empty: its votes, runs and audit log are lost."
            case "not_a_file":
                return "index.db is not a file."
            case "damaged":
                return "The index is damaged."
            case "unknown":
                return f"The index has schema {self.version}, which no version of contextive-mcp writes."
            case "newer":
                return schema.newer_schema_message(self.version)
            case "older" | "ready":
                return ""

    @property
    def hint(self) -> str:
        """What to do about it."""
        match self.kind:
            case "absent":
                return "Run contextive-mcp ingest."
            case "empty":
                return (
                    "Run contextive-mcp restore to restore a backup, or contextive-mcp rebuild to start from the files."
                )
            case "newer":
                return schema.NEWER_SCHEMA_HINT
            case "not_a_file" | "unknown" | "damaged":
                return (
                    "Run contextive-mcp rebuild: it renames index.db and builds a new one with the votes, runs and audit "
                    "log that can be read. Or restore a backup with contextive-mcp restore."
                )
            case "older" | "ready":
                return ""


def connect(
    path: Path, mode: str = "ro", *, immutable: bool = False, synchronous: str = "NORMAL"
) -> sqlite3.Connection:
    """A connection to an existing database file."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}" + ("&immutable=1" if immutable else ""),
        uri=True,
        timeout=BUSY_MILLISECONDS / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        # A WAL stays consistent without a sync at each commit. Writes that must survive a power cut call `sync`.
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        # The file may have come with a cloned project: its schema must not be able to call our SQL functions.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_LIMIT_BYTES}")
    except BaseException:
        connection.close()
        raise
    return connection


def inspect(path: Path) -> Inspection:
    """What is at a path. System errors (busy, full disk, missing permissions, no memory) are raised unchanged."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Inspection("not_a_file" if path.is_symlink() else "absent")
    if not stat.S_ISREG(status.st_mode):
        return Inspection("not_a_file")
    if status.st_size == 0:
        return Inspection("empty")
    if not any(path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-journal")):
        # Without a log everything is in the file itself, and can be read without creating a log. If another process
        # starts to write at this moment, the file may look damaged; so any other result is checked again below.
        with contextlib.suppress(Exception), contextlib.closing(connect(path, immutable=True)) as connection:
            inspection = inspect_opened(connection)
            if inspection.kind in ("ready", "newer"):
                return inspection
    try:
        with contextlib.closing(connect(path)) as connection:
            return inspect_opened(connection)
    except EXCEPTIONS as error:
        if is_system_error(error):
            raise
        return Inspection("damaged")


def is_system_error(error: BaseException) -> bool:
    """Whether the error came from the operating system, and not from the content of the file."""
    return fault_of(error) not in (Fault.DAMAGE, Fault.SUSPECT, None)


def inspect_opened(connection: sqlite3.Connection) -> Inspection:
    """The state of an open database, from its version, its schema and its `progress` row."""
    version = schema.schema_version(connection)
    if version > schema.latest_version():
        return Inspection("newer", version)
    objects = _objects_of(connection)
    if version < 1:
        # A file with some of our tables but none of the kept ones was never finished, or has lost its log. There is
        # nothing in it to preserve.
        names = {name for _kind, name, _sql in objects}
        ours = {name for _kind, name, _sql in _known_objects(schema.latest_version())}
        is_unfinished = names <= ours and names.isdisjoint(table for table, _column in _JSON_COLUMNS)
        return Inspection("damaged" if is_unfinished else "unknown", version)
    if objects != _known_objects(version):
        return Inspection("damaged", version)
    if version < schema.latest_version():
        return Inspection("older", version)
    rows = connection.execute("SELECT 1 FROM progress p JOIN generation g ON g.seq = p.generation").fetchall()
    return Inspection("ready" if len(rows) == 1 else "damaged", version)


def find_damage(connection: sqlite3.Connection, *, with_keys: bool) -> str | None:
    """What is wrong with the pages or values of a database; None if it is intact. Reads all of it."""
    connection.execute("PRAGMA cell_size_check = ON")
    if inspect_opened(connection).kind == "damaged":
        return "its schema or its state was changed"
    if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
        return "its pages are damaged"
    if with_keys and connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
        return "rows refer to rows that are missing"
    for table, condition in _row_checks(connection):
        if connection.execute(f"SELECT 1 FROM {table} WHERE NOT ({condition}) LIMIT 1").fetchone() is not None:
            return f"a row of {table} has a value of the wrong form"
    return None


def _row_checks(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Conditions that every row that we write fulfils, with their table."""
    tables = [name for kind, name, _sql in sorted(_objects_of(connection)) if kind == "table"]
    for table in tables:
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        for _number, name, declared, required, _default, _key in columns:
            allowed = (*_STORED_TYPES[declared], *(() if required else ("null",)))
            named = ", ".join(f"'{kind}'" for kind in allowed)
            yield table, f"typeof({name}) IN ({named})"
    for table, column in _JSON_COLUMNS:
        yield table, f"json_valid({column})"
    yield "vector", "length(data) = 2 * (SELECT dimensions FROM vector_model m WHERE m.number = vector.model)"


def _objects_of(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Type, name and statement of everything in the schema, except for SQLite's own objects."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    return frozenset(rows)


@cache
def _known_objects(version: int) -> frozenset[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.migrate(connection, up_to=version)
        return _objects_of(connection)
