"""The schema of the database, one numbered file a version, and how a database comes to it."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from contextive.errors import Unavailable

_HISTORY = """CREATE TABLE IF NOT EXISTS migration
    (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at REAL NOT NULL)"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    version: int
    name: str
    script: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    """Every step, oldest first."""
    folder = resources.files(__package__) / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text(encoding="utf-8"))
        for file in files
    )


def latest_version() -> int:
    return migrations()[-1].version


def schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


##= docs/spec/knowledge.md#store
##% A database with a newer schema MUST be refused and left unchanged.
def check_not_newer(version: int) -> None:
    """Refuse a database whose schema this version of the program does not know."""
    if version > latest_version():
        raise Unavailable(
            f"The index has schema {version}; this version knows schemas up to {latest_version()}.",
            hint="Upgrade contextive-mcp. contextive-mcp rebuild renames the index and builds one of this version.",
        )


def migrate(connection: sqlite3.Connection, up_to: int | None = None) -> None:
    """Bring a database to the latest schema, or to a given one, in one transaction. The caller holds the opening lock."""
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
        if connection.in_transaction:  # SQLite has ended it by itself where the disk was full or broken
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
    """The statements of a script one by one: `executescript` would commit between them."""
    waiting = ""
    for line in script.splitlines(keepends=True):
        waiting += line
        if sqlite3.complete_statement(waiting):
            yield waiting
            waiting = ""
    if waiting.strip():
        yield waiting


def altered_migrations(connection: sqlite3.Connection) -> Iterator[str]:
    """Names of steps that were applied in another wording than the one known here."""
    known = {migration.version: migration.checksum for migration in migrations()}
    for version, name, checksum in connection.execute("SELECT version, name, checksum FROM migration"):
        if known.get(version) != checksum:
            yield name
