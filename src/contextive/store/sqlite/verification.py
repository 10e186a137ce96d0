"""Checks that the database file is intact, and its rows are consistent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from contextive.store.sql.verification import verify_rows
from contextive.store.sqlite import schema
from contextive.store.sqlite.connection import Database
from contextive.store.values import Discrepancy


def verify_database(database: Database) -> Iterator[Discrepancy]:
    """Damaged pages and values, broken foreign keys, orphaned rows."""
    if database.is_damaged():
        database.mark_damaged()
        yield Discrepancy("database", "It is damaged; it is renamed and rebuilt on the next use.")
        return
    with database.snapshot() as connection:
        found = [*_verify_keys(connection), *verify_rows(connection)]
    yield from found


def _verify_keys(connection: sqlite3.Connection) -> Iterator[Discrepancy]:
    for name in schema.altered_migrations(connection):
        yield Discrepancy("schema", f"The migration {name} was applied with different statements.")
    broken = {row[0] for row in connection.execute("PRAGMA foreign_key_check")}
    for table in sorted(broken):
        yield Discrepancy(table, "Rows refer to rows that do not exist.")
