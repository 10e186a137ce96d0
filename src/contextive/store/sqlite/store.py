"""The embedded store: opens the database of a state directory and combines the parts of the store."""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contextive.errors import Unavailable
from contextive.store.sqlite import lease, schema
from contextive.store.sqlite.connection import Database, handles_errors
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.sqlite.faults import Damaged
from contextive.store.sqlite.files import SqliteFiles
from contextive.store.sqlite.graph import SqliteGraph
from contextive.store.sqlite.graph_writer import add_words
from contextive.store.sqlite.progress import ProgressRow, read_progress
from contextive.store.sqlite.records import SqliteRecords
from contextive.store.sqlite.search import SqliteSearch
from contextive.store.sqlite.verification import verify_rows
from contextive.store.sqlite.writer import SqliteWriter
from contextive.store.values import (
    STATE_PENDING_FILES,
    STATE_REPO_HEAD,
    STATE_SKIPPED_FILES,
    STATE_VECTOR_MODEL,
    STATE_VECTOR_SETTING,
    AsOf,
    Discrepancy,
)

_COUNTED_TABLES = ("artifact", "chunk", "symbol", "node", "edge", "vector", "run", "report", "event", "vote", "audit")


class SqliteStore:
    """The index of a state directory."""

    def __init__(self, state_dir: Path, *, read_only: bool = False, project: Path | None = None) -> None:
        self._directory = StateDirectory(state_dir, read_only=read_only, project=project)
        self._database = Database(self._directory)
        self.files = SqliteFiles(self._database)
        self.graph = SqliteGraph(self._database)
        self.records = SqliteRecords(self._database)
        self.search = SqliteSearch(self._database)
        self._as_of: tuple[int, AsOf] | None = None
        self._pruned_events: tuple[object, int] = (None, 0)
        """The identity of the database file, and `SqliteWriter.pruned_events_up_to` of the last transaction."""

    def close(self) -> None:
        self.search.close()
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[SqliteWriter]:
        with self._database.writing() as connection:
            add_words(connection)
            words = dict(connection.execute("SELECT text, number FROM word"))
            identity, (pruned_file, pruned_up_to) = self._database.identity, self._pruned_events
            writer = SqliteWriter(connection, words, pruned_up_to if pruned_file == identity else 0)
            yield writer
            writer.finish()
        self._pruned_events = identity, writer.pruned_events_up_to
        if writer.needs_sync:
            self._database.sync()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._database.snapshot():
            yield

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
    def generation(self) -> int:
        return self._progress().generation

    def _progress(self) -> ProgressRow:
        return read_progress(self._database)

    @handles_errors
    def as_of(self) -> AsOf:
        progress = self._progress()
        known = self._as_of
        if known is None or known[0] != progress.stamp:
            known = self._as_of = (progress.stamp, self._read_as_of(progress))
        return known[1]

    def _read_as_of(self, progress: ProgressRow) -> AsOf:
        """Read the facts for `as_of`. They do not change within a generation."""
        state: dict[str, str] = dict(self._database.read("SELECT key, value FROM state"))
        chunks = int(self._database.read("SELECT count(*) FROM chunk")[0][0])
        return AsOf(
            generation=progress.generation,
            committed_at=progress.committed_at,
            repo_head=state.get(STATE_REPO_HEAD),
            pending_files=int(state.get(STATE_PENDING_FILES, 0)),
            pending_vectors=chunks - self._vector_count(state.get(STATE_VECTOR_MODEL)),
            skipped_files=int(state.get(STATE_SKIPPED_FILES, 0)),
            chunk_count=chunks,
            vector_setting=state.get(STATE_VECTOR_SETTING),
        )

    def _vector_count(self, model: str | None) -> int:
        """The number of chunks with a vector of this model; 0 without a model."""
        if model is None:
            return 0
        name, _, dimensions = model.rpartition("/")
        ((count,),) = self._database.read(
            "SELECT count(*) FROM vector WHERE model ="
            " (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?)",
            (name, int(dimensions) if dimensions.isdigit() else -1),
        )
        return int(count)

    @handles_errors
    def state(self, key: str) -> str | None:
        row = self._database.read_one("SELECT value FROM state WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    @handles_errors
    def health(self) -> Mapping[str, Any]:
        progress = self._progress()
        counts = {table: self._database.read(f"SELECT count(*) FROM {table}")[0][0] for table in _COUNTED_TABLES}
        sidecars = self.search.health(progress)
        journal = self._database.directory.database.with_name("index.db-wal")
        return {
            "store": "sqlite",
            "sqlite_version": sqlite3.sqlite_version,
            "schema_version": schema.latest_version(),
            "generation": progress.generation,
            "committed_at": progress.committed_at,
            "counts": counts,
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
            for discrepancy in verify_rows(self._database):
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
