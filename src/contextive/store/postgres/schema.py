"""The tables of a project (one numbered SQL file for each version) and their migrations."""

from __future__ import annotations

import re
import time
from functools import cache
from typing import Any

import psycopg
from psycopg import sql

from contextive.errors import ConfigError, Unavailable
from contextive.store.postgres.faults import MIGRATE_HINT
from contextive.store.sql.migration import Migration, read_migrations

_PROJECT = re.compile(r"[a-z][a-z0-9_]{0,40}")
_OLDEST_SERVER = 150_000


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations, oldest first."""
    return read_migrations(__package__)


def latest_version() -> int:
    return migrations()[-1].version


def check_project(name: str) -> None:
    """Raise ConfigError for a name that cannot be a schema."""
    if not _PROJECT.fullmatch(name) or name.startswith("pg_"):
        raise ConfigError(
            "store.project must be a lower-case letter and at most 40 lower-case letters, digits and underscores.",
            hint="Choose a name such as team_docs; names that start with pg_ belong to PostgreSQL.",
        )


def check_server(connection: psycopg.Connection[Any]) -> None:
    """Refuse a server that is too old, or a database that cannot store every text."""
    if connection.info.server_version < _OLDEST_SERVER:
        raise Unavailable(
            f"PostgreSQL {connection.info.server_version // 10_000} is too old for the index.",
            hint="Use PostgreSQL 15 or newer.",
        )
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise Unavailable(
            "The encoding of the database is not UTF8.", hint="Create a database with ENCODING 'UTF8' for the index."
        )


def schema_version(connection: psycopg.Connection[Any], project: str) -> int:
    """The version of the project's tables; 0 if there are none."""
    found = connection.execute("SELECT to_regclass(%s)", (f'"{project}".migration',)).fetchone()
    if found is None or found[0] is None:
        return 0
    table = sql.Identifier(project, "migration")
    row = connection.execute(sql.SQL("SELECT max(version) FROM {}").format(table)).fetchone()
    return int(row[0] or 0) if row else 0


##= docs/spec/knowledge.md#shared-store
##% A schema that is newer than the program MUST be refused and left unchanged.
def check_not_newer(version: int) -> None:
    if version > latest_version():
        raise newer_schema(version)


def newer_schema(version: int) -> Unavailable:
    """The error for tables of a newer program."""
    return Unavailable(
        f"The shared index has schema {version}; this version of contextive-mcp supports schemas up to {latest_version()}.",
        hint="Upgrade contextive-mcp.",
    )


def missing_tables() -> Unavailable:
    """The error for tables that are missing or older, and may not be created by this process."""
    return Unavailable("The shared index has no tables for this version of contextive-mcp.", hint=MIGRATE_HINT)


def migrate(connection: psycopg.Connection[Any], project: str) -> tuple[str, ...]:
    """Create or migrate the tables of a project in one transaction; returns the names of the migrations that ran.

    Gateways go on reading meanwhile: a migration only adds, so that programs of the version before can use its tables.
    """
    with connection.transaction():
        # Two servers that start at the same time must not both create the tables.
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"contextive migrate {project}",))
        version = schema_version(connection, project)
        check_not_newer(version)
        pending = [migration for migration in migrations() if migration.version > version]
        if not pending:
            return ()
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(project)))
        connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(project)))
        for migration in pending:
            connection.execute(migration.script.encode())
            connection.execute(
                "INSERT INTO migration VALUES (%s, %s, %s, %s)",
                (migration.version, migration.name, migration.checksum, time.time()),
            )
    return tuple(migration.name for migration in pending)
