"""What the SQL stores do the same way: transactions, snapshots and the facts about the whole index."""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from contextive.store.sql.database import SqlDatabase, handles_errors
from contextive.store.sql.files import SqlFiles
from contextive.store.sql.graph import SqlGraph
from contextive.store.sql.progress import ProgressRow, read_progress
from contextive.store.sql.records import SqlRecords
from contextive.store.sql.search import SqlSearch
from contextive.store.sql.writer import SqlWriter
from contextive.store.values import (
    STATE_PENDING_FILES,
    STATE_REPO_HEAD,
    STATE_SKIPPED_FILES,
    STATE_VECTOR_MODEL,
    STATE_VECTOR_SETTING,
    AsOf,
)

_COUNTED_TABLES = ("artifact", "chunk", "symbol", "node", "edge", "vector", "run", "report", "event", "vote", "audit")


class SqlStore:
    """The parts of a store that do not depend on its database."""

    def __init__(self, database: SqlDatabase) -> None:
        self._shared = database
        self.files = SqlFiles(database)
        self.graph = SqlGraph(database)
        self.records = SqlRecords(database)
        self.search = SqlSearch(database)
        self._as_of: tuple[int, AsOf] | None = None
        self._pruned_events: tuple[object, int] = (None, 0)
        """The identity of the database, and `SqlWriter.pruned_events_up_to` of the last transaction."""

    @property
    def _database(self) -> SqlDatabase:
        return self._shared

    @contextmanager
    def transaction(self) -> Iterator[SqlWriter]:
        with self._shared.writing() as connection:
            identity, (pruned_in, pruned_up_to) = self._shared.identity, self._pruned_events
            writer = SqlWriter(
                connection,
                pruned_up_to if pruned_in == identity else 0,
                partial(self._shared.lock_table, connection),
            )
            yield writer
            writer.finish()
        self._pruned_events = identity, writer.pruned_events_up_to
        if writer.needs_sync:
            self._sync()

    def _sync(self) -> None:
        """Make the last commit durable, if the commit itself did not."""

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._shared.snapshot():
            yield

    @handles_errors
    def generation(self) -> int:
        return self._progress().generation

    def _progress(self) -> ProgressRow:
        return read_progress(self._shared)

    @handles_errors
    def as_of(self) -> AsOf:
        progress = self._progress()
        known = self._as_of
        if known is None or known[0] != progress.stamp:
            known = self._as_of = (progress.stamp, self._read_as_of(progress))
        return known[1]

    def _read_as_of(self, progress: ProgressRow) -> AsOf:
        """Read the facts for `as_of`. They do not change within a generation."""
        state: dict[str, str] = dict(self._shared.read("SELECT key, value FROM state"))
        chunks = int(self._shared.read("SELECT count(*) FROM chunk")[0][0])
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
        ((count,),) = self._shared.read(
            "SELECT count(*) FROM vector WHERE model ="
            " (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?)",
            (name, int(dimensions) if dimensions.isdigit() else -1),
        )
        return int(count)

    @handles_errors
    def state(self, key: str) -> str | None:
        row = self._shared.read_one("SELECT value FROM state WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    def _row_counts(self) -> dict[str, int]:
        return {table: self._shared.read(f"SELECT count(*) FROM {table}")[0][0] for table in _COUNTED_TABLES}
