"""The shared store: opens the schema of a project and combines the parts of the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contextive.store.postgres import lease, schema
from contextive.store.postgres.caches import CacheFolders
from contextive.store.postgres.connection import PostgresDatabase
from contextive.store.postgres.settings import PostgresSettings
from contextive.store.sql.database import handles_errors
from contextive.store.sql.store import SqlStore
from contextive.store.sql.verification import verify_rows
from contextive.store.values import Discrepancy


class PostgresStore(SqlStore):
    """The index of a project in a PostgreSQL database."""

    def __init__(
        self, settings: PostgresSettings, state_dir: Path, *, read_only: bool = False, project: Path | None = None
    ) -> None:
        self._server = PostgresDatabase(settings, CacheFolders(state_dir, read_only=read_only, project=project))
        super().__init__(self._server)

    @property
    def _database(self) -> PostgresDatabase:
        return self._server

    def close(self) -> None:
        self.search.close()
        self._database.close()

    def identity(self) -> object:
        self._database.reopen_if_replaced()
        return self._database.identity

    def acquire_lease(self, name: str, holder: str) -> lease.PostgresLease | None:
        return lease.acquire_lease(self._database, name, holder)

    def lease_holder(self, name: str) -> str | None:
        return lease.lease_holder(self._database, name)

    @handles_errors
    def health(self) -> Mapping[str, Any]:
        progress = self._progress()
        ((version, size),) = self._database.read(
            "SELECT current_setting('server_version'), pg_database_size(current_database())"
        )
        return {
            "store": "postgresql",
            "postgresql_version": version.split(" ")[0],
            "schema_version": schema.latest_version(),
            "project": self._database.settings.project,
            "generation": progress.generation,
            "committed_at": progress.committed_at,
            "counts": self._row_counts(),
            "database_bytes": size,
            **self.search.health(progress),
        }

    def verify(self) -> Iterator[Discrepancy]:
        with self._database.snapshot() as connection:
            applied = dict(connection.execute("SELECT name, checksum FROM migration").fetchall())
            found = list(verify_rows(connection))
        for migration in schema.migrations():
            if applied.get(migration.name) != migration.checksum:
                yield Discrepancy("schema", f"The migration {migration.name} was applied with different statements.")
        yield from found
        yield from self.search.verify()
