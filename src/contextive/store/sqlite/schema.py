"""The schema of the database (one numbered SQL file for each version) and its migrations."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from functools import cache

from contextive.errors import Unavailable
from contextive.store.sql.migration import Migration as Migration
from contextive.store.sql.migration import read_migrations

_HISTORY = """CREATE TABLE IF NOT EXISTS migration
    (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at REAL NOT NULL)"""


NEWER_SCHEMA_HINT = "Upgrade contextive-mcp, or run contextive-mcp rebuild to rename this index and build a new one."


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations, oldest first."""
    return read_migrations(__package__)


def latest_version() -> int:
    return migrations()[-1].version


def schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def newer_schema_message(version: int) -> str:
    return f"The index has schema {version}; this version of contextive-mcp supports schemas up to {latest_version()}."


##= docs/spec/knowledge.md#store
##% A database with a newer schema MUST be refused and left unchanged.
def check_not_newer(version: int) -> None:
    """Refuse a database whose schema is newer than the newest one that this program supports."""
    if version > latest_version():
        raise Unavailable(newer_schema_message(version), hint=NEWER_SCHEMA_HINT)


def migrate(connection: sqlite3.Connection, up_to: int | None = None) -> None:
    """Migrate a database to the latest schema, or to `up_to`, in one transaction. The caller must hold the opening
    lock."""
    last = latest_version() if up_to is None else up_to
    connection.execute("BEGIN EXCLUSIVE")
    try:
        version = schema_version(connection)
        check_not_newer(version)
        connection.execute(_HISTORY)
        for migration in migrations():
            if version < migration.version <= last:
                _apply(connection, migration)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite rolls back by itself when the disk is full or broken
            connection.execute("ROLLBACK")
        raise


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    for statement in statements_of(migration.script):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO migration VALUES (?, ?, ?, ?)",
        (migration.version, migration.name, migration.checksum, time.time()),
    )
    connection.execute(f"PRAGMA user_version = {migration.version}")


def statements_of(script: str) -> Iterator[str]:
    """The statements of a script. They are run one by one, because `executescript` commits first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def altered_migrations(connection: sqlite3.Connection) -> Iterator[str]:
    """Names of migrations that were applied with a script other than the current one."""
    known = {migration.version: migration.checksum for migration in migrations()}
    for version, name, checksum in connection.execute("SELECT version, name, checksum FROM migration"):
        if known.get(version) != checksum:
            yield name
