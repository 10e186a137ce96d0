"""The store that everything above asks: rows, graph, kept rows, and the two sidecars, behind one door."""

# ruff: noqa: S608
# What is put into statements here are names of our own tables and columns; values are always bound.

from __future__ import annotations

import contextlib
import functools
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from contextive.errors import Unavailable
from contextive.knowledge.artifact import ArtifactType, Totals
from contextive.knowledge.graph import Direction, Edge, Node
from contextive.knowledge.symbol import Reference, Symbol
from contextive.store.sqlite import lease, schema
from contextive.store.sqlite.catalogue import Catalogue
from contextive.store.sqlite.connection import Database
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.sqlite.faults import Damaged
from contextive.store.sqlite.filters import Filters
from contextive.store.sqlite.graph import Graph
from contextive.store.sqlite.lexical import LexicalSidecar
from contextive.store.sqlite.progress import Progress, read_progress
from contextive.store.sqlite.quantisation import normalised
from contextive.store.sqlite.records import Records
from contextive.store.sqlite.statements import add_words
from contextive.store.sqlite.vectors import VectorSidecar, read_vectors, score_exactly
from contextive.store.sqlite.verification import verify_rows
from contextive.store.sqlite.writer import SqliteWriter
from contextive.store.values import (
    STATE_PENDING_FILES,
    STATE_REPO_HEAD,
    STATE_SKIPPED_FILES,
    STATE_VECTOR_MODEL,
    ArtifactRow,
    AsOf,
    AuditEntry,
    ChunkFilter,
    ChunkPlace,
    ChunkRow,
    Discrepancy,
    Found,
    LedgerEntry,
    LexicalQuery,
    Pending,
    Report,
    ReportKind,
    Run,
    SearchEvent,
    Steps,
    VectorModel,
    Vote,
)

if TYPE_CHECKING:
    from contextive.store.protocol import Vector

_COUNTED_TABLES = ("artifact", "chunk", "symbol", "node", "edge", "vector", "run", "report", "event", "vote", "audit")
_SETTLING_SECONDS = 600.0


P = ParamSpec("P")
R = TypeVar("R")


def _noticing(method: Callable[Concatenate[SqliteStore, P], R]) -> Callable[Concatenate[SqliteStore, P], R]:
    """A method that reads rows and makes values of them: a row that has another form than ours is damage, too."""

    @functools.wraps(method)
    def reading(self: SqliteStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._database.failures_noticed():
            return method(self, *args, **kwargs)

    return reading


class SqliteStore:
    """An index in a state directory of its own."""

    def __init__(self, state_dir: Path, *, read_only: bool = False, project: Path | None = None) -> None:
        self._directory = StateDirectory(state_dir, read_only=read_only, project=project)
        self._database = Database(self._directory)
        self._catalogue = Catalogue(self._database)
        self._graph = Graph(self._database)
        self._records = Records(self._database)
        self._filters = Filters(self._database)
        self._lexical = LexicalSidecar(self._database, self._filters)
        self._vectors: dict[VectorModel, VectorSidecar] = {}
        self._as_of: tuple[int, AsOf] | None = None
        self._sifted_events: tuple[object, int] = (None, 0)
        """Of which file, and up to which number its log of searches needs no second look."""
        self._guard = threading.Lock()

    # Life

    def close(self) -> None:
        self._lexical.close()
        with self._guard:
            for sidecar in self._vectors.values():
                sidecar.close()
            self._vectors.clear()
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[SqliteWriter]:
        with self._database.writing() as connection:
            add_words(connection)
            words = dict(connection.execute("SELECT text, number FROM word"))
            identity, (sifted_file, sifted) = self._database.identity, self._sifted_events
            writer = SqliteWriter(connection, words, sifted if sifted_file == identity else 0)
            yield writer
            writer.finish()
        self._sifted_events = identity, writer.sifted_events
        if writer.must_last:
            self._database.sync()

    def snapshot(self) -> contextlib.AbstractContextManager[object]:
        return self._database.snapshot()

    def identity(self) -> object:
        with self._database.failures_noticed():
            self._database.follow_file()
        return self._database.identity

    def settle(self) -> None:
        """Bring the sidecars up to the present, however much that is."""
        self._lexical.settle(_SETTLING_SECONDS)
        for model in self.vector_counts():
            self._sidecar(model).catch_up()

    def acquire_lease(self, name: str, holder: str) -> lease.FileLease | None:
        if not self._directory.is_writable:
            raise Unavailable("The index is open for reading only.")
        with self._database.failures_noticed():
            self._database.follow_file()  # creates a state directory again that somebody removed
        return lease.acquire_lease(self._directory.path, name, holder)

    def lease_holder(self, name: str) -> str | None:
        return lease.lease_holder(self._directory.path, name)

    @_noticing
    def generation(self) -> int:
        return self._progress().generation

    def _progress(self) -> Progress:
        return read_progress(self._database)

    @_noticing
    def as_of(self) -> AsOf:
        progress = self._progress()
        known = self._as_of
        if known is None or known[0] != progress.stamp:
            known = self._as_of = (progress.stamp, self._read_as_of(progress))
        return known[1]

    def _read_as_of(self, progress: Progress) -> AsOf:
        """Everything that it tells is the same throughout a generation."""
        state: dict[str, str] = dict(self._database.read("SELECT key, value FROM state"))
        return AsOf(
            generation=progress.generation,
            committed_at=progress.committed_at,
            repo_head=state.get(STATE_REPO_HEAD),
            pending_files=int(state.get(STATE_PENDING_FILES, 0)),
            pending_vectors=self._pending_vectors(state.get(STATE_VECTOR_MODEL)),
            skipped_files=int(state.get(STATE_SKIPPED_FILES, 0)),
        )

    def _pending_vectors(self, model: str | None) -> int:
        """How many chunks lack a vector of the model that the index is meant to have."""
        if model is None:
            return 0
        name, _, dimensions = model.rpartition("/")
        ((count,),) = self._database.read(
            "SELECT (SELECT count(*) FROM chunk) - (SELECT count(*) FROM vector WHERE model ="
            " (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?))",
            (name, int(dimensions) if dimensions.isdigit() else -1),
        )
        return int(count)

    @_noticing
    def state(self, key: str) -> str | None:
        row = self._database.read_one("SELECT value FROM state WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    @_noticing
    def health(self) -> Mapping[str, Any]:
        progress = self._progress()
        counts = {table: self._database.read(f"SELECT count(*) FROM {table}")[0][0] for table in _COUNTED_TABLES}
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
            "lexical": self._lexical.health(progress),
            "vectors": {
                f"{model.name}/{model.dimensions}": {"stored": count, **self._sidecar(model).health()}
                for model, count in self.vector_counts().items()
            },
            "warnings": self._warnings(),
        }

    def _warnings(self) -> list[str]:
        warnings = self._lexical.warnings()
        if self._database.network:
            warnings.append(
                f"The state directory is on a network file system ({self._database.network}): only one host may use it,"
                " and writing is slower. A local directory is better."
            )
        return warnings

    def verify(self) -> Iterator[Discrepancy]:
        try:
            damaged = False
            for discrepancy in verify_rows(self._database):
                damaged |= discrepancy.subject == "database"
                yield discrepancy
            if damaged:
                return
            yield from self._lexical.verify()
            for model in self.vector_counts():
                yield from self._sidecar(model).verify()
        except Damaged as error:
            yield Discrepancy("database", error.message)

    # Files

    @_noticing
    def ledger(self) -> Mapping[str, LedgerEntry]:
        return self._catalogue.ledger()

    def artifacts(self, *, limit: int | None = None, without_chunks: bool = False) -> Iterator[ArtifactRow]:
        with self._database.failures_noticed():
            yield from self._catalogue.artifacts(limit, without_chunks)

    @_noticing
    def totals(self) -> dict[ArtifactType, Totals]:
        return self._catalogue.totals()

    @_noticing
    def artifact(self, path: str) -> ArtifactRow | None:
        return self._catalogue.artifact(path)

    # Linking

    def symbols(self, path: str | None = None) -> Iterator[tuple[str, Symbol]]:
        with self._database.failures_noticed():
            yield from self._catalogue.symbols(path)

    @_noticing
    def symbol(self, symbol_id: str) -> Symbol | None:
        return self._catalogue.symbol(symbol_id)

    def symbols_named(self, names: Iterable[str]) -> Iterator[tuple[str, Symbol]]:
        with self._database.failures_noticed():
            yield from self._catalogue.symbols_named(names)

    @_noticing
    def references(self, path: str) -> tuple[Reference, ...]:
        return self._catalogue.references(path)

    @_noticing
    def paths_referring_to(self, names: Iterable[str]) -> set[str]:
        return self._catalogue.paths_referring_to(names)

    # Search

    @_noticing
    def lexical(self, query: LexicalQuery, k: int, where: ChunkFilter) -> Found:
        return self._lexical.search(query, k, where)

    ##= docs/spec/knowledge.md#ranking
    ##% Vectors of two models MUST NOT be compared with each other.
    @_noticing
    def dense(self, model: VectorModel, vector: Vector, k: int, where: ChunkFilter) -> Found:
        known = self._database.read_one(
            "SELECT 1 FROM vector WHERE model = (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?) LIMIT 1",
            (model.name, model.dimensions),
        )
        if known is None:
            return Found((), self.generation())
        return self._sidecar(model).search(vector, k, where)

    def _sidecar(self, model: VectorModel) -> VectorSidecar:
        with self._guard:
            sidecar = self._vectors.get(model)
            if sidecar is None:
                sidecar = self._vectors[model] = VectorSidecar(self._database, self._filters, model)
        return sidecar

    @_noticing
    def cosines(self, model: VectorModel, vector: Vector, numbers: Sequence[int]) -> Mapping[int, float]:
        found = read_vectors(self._database, model, [int(number) for number in numbers])
        return dict(zip(*score_exactly(found, normalised(vector)), strict=True))

    @_noticing
    def chunks(self, numbers: Sequence[int]) -> Mapping[int, ChunkRow]:
        return self._catalogue.chunks(numbers)

    @_noticing
    def places(self, numbers: Sequence[int], *, with_symbols: bool) -> Mapping[int, ChunkPlace]:
        return self._catalogue.places(numbers, with_symbols=with_symbols)

    @_noticing
    def chunks_by_id(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRow]:
        return self._catalogue.chunks_by_id(chunk_ids)

    @_noticing
    def chunks_of(self, path: str) -> tuple[ChunkRow, ...]:
        return self._catalogue.chunks_of(path)

    @_noticing
    def pending_vectors(self, model: VectorModel, limit: int) -> tuple[Pending, ...]:
        return self._catalogue.pending_vectors(model, limit)

    @_noticing
    def vector_counts(self) -> Mapping[VectorModel, int]:
        return self._catalogue.vector_counts()

    # Graph

    @_noticing
    def node(self, node_id: str) -> Node | None:
        return self._graph.nodes([node_id]).get(node_id)

    @_noticing
    def nodes(self, node_ids: Iterable[str]) -> Mapping[str, Node]:
        return self._graph.nodes(node_ids)

    @_noticing
    def nodes_with_edges(
        self, node_ids: Iterable[str], types: Sequence[str], limit: int
    ) -> tuple[Mapping[str, Node], tuple[Edge, ...]]:
        return self._graph.nodes_with_edges(node_ids, types, limit)

    @_noticing
    def nodes_labelled(self, label: str, after: str | None, limit: int) -> tuple[Node, ...]:
        return self._graph.nodes_labelled(label, after, limit)

    @_noticing
    def nodes_keyed(self, label: str, key: str) -> tuple[Node, ...]:
        return self._graph.nodes_keyed(label, key)

    @_noticing
    def find_nodes(self, term: str, labels: Sequence[str], limit: int) -> tuple[Node, ...]:
        return self._graph.find_nodes(term, labels, limit)

    @_noticing
    def node_number(self, node_id: str) -> int | None:
        return self._graph.node_number(node_id)

    @_noticing
    def nodes_numbered(self, numbers: Iterable[int]) -> Mapping[int, Node]:
        return self._graph.nodes_numbered(numbers)

    @_noticing
    def steps(self, frontier: Sequence[int], types: Sequence[str], limit: int) -> Steps:
        return self._graph.steps(frontier, types, limit)

    @_noticing
    def expand(
        self, frontier: Sequence[str], types: Sequence[str], direction: Direction, limit: int
    ) -> tuple[Edge, ...]:
        return self._graph.expand(frontier, types, direction, limit)

    @_noticing
    def degree(self, node_id: str, direction: Direction = "both") -> Mapping[str, int]:
        return self._graph.degree(node_id, direction)

    @_noticing
    def unconnected(self, label: str, types: Sequence[str], after: str | None, limit: int) -> tuple[Node, ...]:
        return self._graph.unconnected(label, types, after, limit)

    # What only the store holds

    @_noticing
    def runs(self, limit: int, profile: str | None = None) -> tuple[Run, ...]:
        return self._records.runs(limit, profile)

    @_noticing
    def reports(self, kind: ReportKind, limit: int) -> tuple[Report, ...]:
        return self._records.reports(kind, limit)

    @_noticing
    def events(self, request_id: str | None = None, limit: int = 10_000) -> tuple[SearchEvent, ...]:
        return self._records.events(request_id, limit)

    @_noticing
    def event_bytes(self) -> int:
        return self._records.event_bytes()

    @_noticing
    def votes(self, limit: int = 10_000) -> tuple[Vote, ...]:
        return self._records.votes(limit)

    @_noticing
    def audit(self, limit: int) -> tuple[AuditEntry, ...]:
        return self._records.audit(limit)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
