"""The interface of a store. Packages after this one do not know which implementation they use.

A store contains two kinds of rows. *Derived* rows come from the files and can be rebuilt: artifacts, chunks, symbols,
references, nodes, edges, vectors, the ledger. *Kept* rows exist nowhere else: runs, reports, votes, search events,
the audit log. `clear_derived` never touches kept rows.

A store is read through four parts, each with its own interface: `files`, `graph`, `search` and `records`. It is
written in transactions; each one is one commit and one generation. Readers never wait for writers, and callers never
get an error because the database was locked for a moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from contextive.knowledge.artifact import ArtifactType, LastCommit, ParsedArtifact, Totals
from contextive.knowledge.graph import Direction, Edge, Layer, Node
from contextive.knowledge.query_words import TermCounts
from contextive.knowledge.symbol import Reference, Symbol, TypeHint
from contextive.store.values import (
    ArtifactRow,
    AsOf,
    AuditEntry,
    ChunkFilter,
    ChunkHeader,
    ChunkRow,
    Discrepancy,
    LedgerEntry,
    LexicalQuery,
    NamedNode,
    NumberedEdges,
    PendingChunk,
    Report,
    ReportKind,
    Run,
    SearchEvent,
    SearchHits,
    VectorModel,
    Vote,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


class Writer(Protocol):
    """One transaction. It is committed when its block ends, and rolled back when the block raises."""

    def put_artifact(self, parsed: ParsedArtifact, entry: LedgerEntry, layer: Layer) -> None:
        """Replace the rows of one file. Chunks whose digest is unchanged keep their number and vector."""
        ...

    def touch_artifact(self, entry: LedgerEntry, git: LastCommit | None) -> None:
        """Update the ledger and the last commit of a file whose content did not change, also in the graph."""
        ...

    def remove_artifact(self, path: str) -> None:
        """Remove a file and everything derived from it."""
        ...

    def put_layer(self, name: str, layer: Layer) -> bool:
        """Replace the nodes and edges of the layer with this name; returns whether anything changed. Names start with
        `@`; the layer `links:` and the path of a file has the links that the file owns."""
        ...

    def put_links(self, path: str, layer: Layer, names: Iterable[str]) -> None:
        """Replace the edges from a file to others, and the names on which they depend besides its references."""
        ...

    def put_vectors(self, model: VectorModel, vectors: Sequence[tuple[int, str, Vector]]) -> None:
        """Store vectors by chunk number and digest. Chunks that were removed or changed in the meantime are
        skipped."""
        ...

    def put_state(self, key: str, value: str | None) -> None:
        """Store a small fact about the index (its git HEAD, the vector model, counts of skipped files)."""
        ...

    def put_run(self, run: Run) -> None: ...

    def put_report(self, report: Report, keep: int) -> None:
        """Add a report to the history of its kind, and drop all but the newest `keep`."""
        ...

    def put_events(self, events: Sequence[SearchEvent], keep: int) -> int:
        """Add events, and drop all but the newest `keep` and those of searches with votes; returns how many were
        dropped."""
        ...

    def put_vote(self, vote: Vote) -> None: ...

    def put_audit(self, entry: AuditEntry) -> None: ...

    def clear_derived(self) -> None:
        """Delete everything that can be rebuilt from the files."""
        ...


class Lease(Protocol):
    """The right to do something, held by one process at a time. A holder that dies loses it at once."""

    @property
    def is_held(self) -> bool: ...

    def release(self) -> None: ...


class FileStore(Protocol):
    """Everything parsed from files: the ledger, artifacts, their symbols, references and chunks."""

    def ledger(self) -> Mapping[str, LedgerEntry]: ...

    def artifacts(self, *, limit: int | None = None, without_chunks: bool = False) -> Iterator[ArtifactRow]:
        """Artifacts sorted by path, at most `limit`; with `without_chunks`, only those that have no chunk."""
        ...

    def totals(self) -> Mapping[ArtifactType, Totals]:
        """The number of files and chunks by artifact type."""
        ...

    def artifact(self, path: str) -> ArtifactRow | None: ...

    def symbols(self, path: str | None = None) -> Iterator[tuple[str, Symbol]]:
        """Symbols with the path of the file that declares them, sorted by path and line."""
        ...

    def symbol(self, symbol_id: str) -> Symbol | None: ...

    def symbols_named(self, names: Iterable[str]) -> Iterator[tuple[str, Symbol]]:
        """Symbols whose bare name is one of `names`."""
        ...

    def references(self, path: str) -> tuple[Reference, ...]: ...

    def hints(self, path: str) -> tuple[TypeHint, ...]: ...

    def paths_referring_to(self, names: Iterable[str]) -> set[str]:
        """Files whose links depend on one of these names: it is the last part (after the last dot or slash) of one of
        their references, or was stored with their links."""
        ...

    def chunks(self, numbers: Sequence[int]) -> Mapping[int, ChunkRow]: ...

    def chunk_headers(self, numbers: Sequence[int], *, with_symbols: bool) -> Mapping[int, ChunkHeader]:
        """The chunks without their text, at a fraction of the cost; with the names of their symbols on request."""
        ...

    def chunks_by_id(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRow]: ...

    def chunks_of(self, path: str) -> tuple[ChunkRow, ...]: ...


class GraphStore(Protocol):
    """Nodes and edges of all files and layers."""

    def node(self, node_id: str) -> Node | None: ...

    def nodes(self, node_ids: Iterable[str]) -> Mapping[str, Node]: ...

    def nodes_with_edges(
        self, node_ids: Iterable[str], types: Sequence[str], limit: int
    ) -> tuple[Mapping[str, Node], tuple[Edge, ...]]:
        """These nodes, and the edges that `expand` returns for them in both directions."""
        ...

    def nodes_labelled(self, label: str, after: str | None, limit: int) -> tuple[Node, ...]:
        """Nodes of a label sorted by key, starting after the key `after`."""
        ...

    def nodes_keyed(self, label: str, key: str) -> tuple[Node, ...]:
        """Nodes of a label whose key equals `key`, ignoring case."""
        ...

    def find_nodes(self, term: str, labels: Sequence[str], limit: int, offset: int = 0) -> tuple[NamedNode, ...]:
        """Nodes whose key or name contains `term`, ignoring case: those with this name, then those whose name starts
        with it, then all others; in each group by label in the given order, shorter keys first. Returns at most `limit`
        of them, without the first `offset`."""
        ...

    def node_number(self, node_id: str) -> int | None:
        """The number of a node. Traversals use it because it is cheaper than the id. Valid inside one `snapshot`."""
        ...

    def nodes_numbered(self, numbers: Iterable[int]) -> Mapping[int, Node]: ...

    def numbered_edges(self, frontier: Sequence[int], types: Sequence[str], limit: int) -> NumberedEdges:
        """The edges that `expand` returns for these nodes in both directions, by number; unsorted, perhaps with
        duplicates."""
        ...

    def expand(
        self, frontier: Sequence[str], types: Sequence[str], direction: Direction, limit: int
    ) -> tuple[Edge, ...]:
        """Edges of these nodes in a stable order; no types means all. At most `limit` for each node and direction."""
        ...

    def degree(self, node_id: str, direction: Direction = "both") -> Mapping[str, int]:
        """The number of edges of a node by type."""
        ...

    def unconnected(self, label: str, types: Sequence[str], after: str | None, limit: int) -> tuple[Node, ...]:
        """Nodes of a label without an edge of these types in either direction, sorted by key."""
        ...


class SearchStore(Protocol):
    """Lexical search and vector search over chunks.

    A store may answer from caches that lag behind the last commit. `SearchHits` has the generation of the result and
    whether it is behind.
    """

    def lexical(self, query: LexicalQuery, k: int, where: ChunkFilter) -> SearchHits:
        """The `k` best chunks by BM25 over title and text, of those that pass the filter."""
        ...

    def chunk_counts(self, terms: Collection[str]) -> TermCounts:
        """In how many chunks each of these terms is. Chunks that were removed a short while ago may be counted."""
        ...

    def dense(self, model: VectorModel, vector: Vector, k: int, where: ChunkFilter) -> SearchHits:
        """The `k` nearest chunks by cosine similarity; exact. Empty when the index has no vectors of this model."""
        ...

    def cosines(self, model: VectorModel, vector: Vector, numbers: Sequence[int]) -> Mapping[int, float]:
        """The cosine similarity of each of these chunks that has a vector of this model."""
        ...

    def pending_vectors(self, model: VectorModel, limit: int) -> tuple[PendingChunk, ...]:
        """Chunks without a vector of this model, those first that answer most questions: documents, requirements and
        notes, then public symbols, then other code and data, then tests; in each group by length."""
        ...

    def vector_counts(self) -> Mapping[VectorModel, int]: ...

    def catch_up(self) -> None:
        """Update the caches to the last commit. Call it after a large write, so that the next query is fast and does
        not return results from before the write."""
        ...


class RecordStore(Protocol):
    """Kept rows, which exist nowhere else: runs, reports, search events, votes and the audit log."""

    def runs(self, limit: int, profile: str | None = None) -> tuple[Run, ...]:
        """Newest first."""
        ...

    def reports(self, kind: ReportKind, limit: int) -> tuple[Report, ...]:
        """Newest first."""
        ...

    def events(self, request_id: str | None = None, limit: int = 10_000) -> tuple[SearchEvent, ...]: ...

    def event_bytes(self) -> int:
        """The size of the text of all kept events."""
        ...

    def votes(self, limit: int = 10_000) -> tuple[Vote, ...]: ...

    def audit(self, limit: int) -> tuple[AuditEntry, ...]:
        """Newest first."""
        ...


class Store(Protocol):
    """An index: its four parts, and operations on all of them."""

    @property
    def files(self) -> FileStore: ...

    @property
    def graph(self) -> GraphStore: ...

    @property
    def search(self) -> SearchStore: ...

    @property
    def records(self) -> RecordStore: ...

    def close(self) -> None: ...

    def transaction(self) -> AbstractContextManager[Writer]:
        """A block of writes that are committed together when it ends. After that, votes and audit entries survive a
        power cut."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """A block in which all reads of this thread see the same generation."""
        ...

    def identity(self) -> object:
        """A value that changes when the database is removed, rebuilt or replaced."""
        ...

    def acquire_lease(self, name: str, holder: str) -> Lease | None:
        """The lease, or None when another running process holds it."""
        ...

    def lease_holder(self, name: str) -> str | None: ...

    def generation(self) -> int: ...

    def as_of(self) -> AsOf: ...

    def state(self, key: str) -> str | None: ...

    def health(self) -> Mapping[str, Any]:
        """Sizes, versions, the state of caches, and warnings for the user."""
        ...

    def verify(self) -> Iterator[Discrepancy]:
        """Inconsistencies in the index: orphaned rows, wrong counts, caches that disagree with the database,
        damage."""
        ...
