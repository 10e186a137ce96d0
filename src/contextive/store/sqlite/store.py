"""The embedded store: opens the database of a state directory."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contextive.errors import Unavailable
from contextive.store.sql.database import handles_errors
from contextive.store.sql.store import SqlStore
from contextive.store.sqlite import lease, schema
from contextive.store.sqlite.connection import Database
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.sqlite.faults import Damaged
from contextive.store.sqlite.verification import verify_database
from contextive.store.values import Discrepancy


class SqliteStore(SqlStore):
    """The index of a state directory."""

    def __init__(self, state_dir: Path, *, read_only: bool = False, project: Path | None = None) -> None:
        self._directory = StateDirectory(state_dir, read_only=read_only, project=project)
        self._file = Database(self._directory)
        super().__init__(self._file)

    @property
    def _database(self) -> Database:
        return self._file

    def close(self) -> None:
        self.search.close()
        self._database.close()

    def _sync(self) -> None:
        self._database.sync()

    def identity(self) -> object:
        with self._database.handling_errors():
            self._database.reopen_if_replaced()
        return self._database.identity

    def acquire_lease(self, name: str, holder: str) -> lease.FileLease | None:
        if not self._directory.is_writable:
            raise Unavailable("The index is open for reading only.")
        with self._database.handling_errors():
            self._database.reopen_if_replaced()  # creates the state directory again if it was removed
        return lease.acquire_lease(self._directory.path, name, holder)

    def lease_holder(self, name: str) -> str | None:
        return lease.lease_holder(self._directory.path, name)

    @handles_errors
    def health(self) -> Mapping[str, Any]:
        progress = self._progress()
        sidecars = self.search.health(progress)
        journal = self._database.directory.database.with_name("index.db-wal")
        return {
            "store": "sqlite",
            "sqlite_version": sqlite3.sqlite_version,
            "schema_version": schema.latest_version(),
            "generation": progress.generation,
            "committed_at": progress.committed_at,
            "counts": self._row_counts(),
            "database_bytes": _size(self._directory.database),
            "journal_bytes": _size(journal),
            "journal_mode": self._database.read("PRAGMA journal_mode")[0][0],
            **sidecars,
            "warnings": [*sidecars["warnings"], *self._network_warnings()],
        }

    def _network_warnings(self) -> list[str]:
        if not self._database.network:
            return []
        warning = (
            f"The state directory is on a network file system ({self._database.network}): only one host may use it,"
            " and writing is slower. A local directory is better."
        )
        return [warning]

    def verify(self) -> Iterator[Discrepancy]:
        try:
            damaged = False
            for discrepancy in verify_database(self._database):
                damaged |= discrepancy.subject == "database"
                yield discrepancy
            if damaged:
                return
            yield from self.search.verify()
        except Damaged as error:
            yield Discrepancy("database", error.message)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
