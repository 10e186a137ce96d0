"""Leases: advisory locks of a connection of their own. The database releases them when the connection ends."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import psycopg

from contextive.store.postgres.connection import PostgresDatabase
from contextive.store.postgres.faults import error_for

_CHECK_SECONDS = 1.0
_KEY = "hashtextextended(%s, 0)"


class PostgresLease:
    """A held lease."""

    def __init__(self, connection: psycopg.Connection[Any], key: str) -> None:
        self._connection = connection
        self._key = key
        self._guard = threading.Lock()
        self._checked_at = time.monotonic()

    @property
    def is_held(self) -> bool:
        """Whether the connection, and with it the lock, is still there."""
        with self._guard:
            if self._connection.closed:
                return False
            if time.monotonic() - self._checked_at > _CHECK_SECONDS:
                try:
                    self._connection.execute("SELECT 1")
                except psycopg.Error:
                    self._connection.close()
                    return False
                self._checked_at = time.monotonic()
            return True

    def release(self) -> None:
        with self._guard, contextlib.closing(self._connection), contextlib.suppress(psycopg.Error):
            # The end of the connection releases the lock too, but not at once.
            self._connection.execute(f"SELECT pg_advisory_unlock({_KEY})", (self._key,))


##= docs/spec/knowledge.md#shared-store
##% At most one process of a project MUST ingest at a time; when it dies, another one takes over within five seconds.
def acquire_lease(database: PostgresDatabase, name: str, holder: str) -> PostgresLease | None:
    """The lease of that name, or None while another process holds it."""
    try:
        connection = database.connect()
        try:
            (taken,) = _one(connection, f"SELECT pg_try_advisory_lock({_KEY})", _key(database, name))
            if not taken:
                connection.close()
                return None
            connection.execute(
                f'INSERT INTO "{database.settings.project}".lease VALUES (%s, %s)'  # noqa: S608 - the name is checked
                " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder",
                (name, holder),
            )
        except BaseException:
            connection.close()
            raise
    except psycopg.Error as error:
        raise error_for(error) from error
    return PostgresLease(connection, _key(database, name))


def lease_holder(database: PostgresDatabase, name: str) -> str | None:
    """The holder of the lease; None when it is free."""
    found = database.read(
        "SELECT holder FROM lease WHERE name = ?1 AND EXISTS (SELECT 1 FROM pg_catalog.pg_locks"
        " WHERE locktype = 'advisory' AND granted AND objsubid = 1"
        " AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"
        " AND (classid::bigint << 32 | objid::bigint) = hashtextextended(?2, 0))",
        (name, _key(database, name)),
    )
    return str(found[0][0]) if found else None


def _key(database: PostgresDatabase, name: str) -> str:
    return f"contextive {database.settings.project} {name}"


def _one(connection: psycopg.Connection[Any], sql: str, value: str) -> Any:
    return psycopg.Cursor(connection).execute(sql, (value,)).fetchone()
