"""The condition of a shared index, for health checks. Changes nothing."""

from __future__ import annotations

import psycopg

from contextive.store.postgres import schema
from contextive.store.postgres.conninfo import connection_parameters
from contextive.store.postgres.faults import error_for
from contextive.store.postgres.settings import PostgresSettings
from contextive.store.values import StoreCondition


def condition_of(settings: PostgresSettings) -> StoreCondition:
    """Whether the database can be reached and has tables for this program, and what to do if not."""
    schema.check_project(settings.project)
    try:
        with psycopg.connect(**connection_parameters(settings), autocommit=True) as connection:
            schema.check_server(connection)
            version = schema.schema_version(connection, settings.project)
            is_writable = connection.execute("SELECT NOT pg_is_in_recovery()").fetchone() == (True,)
    except psycopg.Error as error:
        reported = error_for(error)
        return StoreCondition(False, "unreachable", reported.message, reported.hint or "")
    if version > schema.latest_version():
        newer = schema.newer_schema(version)
        return StoreCondition(False, "newer_schema", newer.message, newer.hint or "")
    if version < schema.latest_version():
        if settings.migrate:
            return StoreCondition(True, "absent", "There is no index yet.", "Run contextive-mcp ingest.")
        missing = schema.missing_tables()
        return StoreCondition(False, "unreachable", missing.message, missing.hint or "")
    if not is_writable:
        return StoreCondition(
            False, "read_only", "The database of the index is a replica.", "Name the primary in store.dsn."
        )
    return StoreCondition(True, "ok")
