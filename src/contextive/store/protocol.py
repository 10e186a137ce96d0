"""The interface of a store. Packages after this one do not know which implementation they have.

A store holds two kinds of things. *Derived* rows come from the files and can be made again: artifacts, chunks, symbols,
references, nodes, edges, vectors, the ledger. *Kept* rows exist nowhere else: runs, reports, votes, search events, audit.
`clear_derived` never touches the second kind.

Reading happens through the parts of a store, each with an interface of its own: `files`, `graph`, `search` and `records`.
Writing happens in transactions, each of which is one commit and one generation. Readers never wait for writers, and no
caller ever sees that the database was busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from contextive.knowledge.artifact import ArtifactType, LastCommit, ParsedArtifact, Totals
from contextive.knowledge.graph import Direction, Edge, Layer, Node
from contextive.knowledge.symbol import Reference, Symbol
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
    """One transaction. It is committed when its block ends, and undone when the block raises."""

    def put_artifact(self, parsed: ParsedArtifact, entry: LedgerEntry, layer: Layer) -> None:
        """Put one file's rows in place of those it had. Chunks whose digest is unchanged keep their number and vector."""
        ...

    def touch_artifact(self, entry: LedgerEntry, git: LastCommit | None) -> None:
        """Renew the ledger and the git facts of a file whose content did not change, its node's properties included."""
        ...

    def remove_artifact(self, path: str) -> None:
        """Take away a file with everything that came from it."""
        ...

    def put_layer(self, name: str, layer: Layer) -> bool:
        """Put derived nodes and edges in place of those that had this name; whether anything changed. Names start with @,
        those of links that a file owns with `links:` before its path."""
        ...

    def put_vectors(self, model: VectorModel, vectors: Sequence[tuple[int, str, Vector]]) -> None:
        """Keep vectors by chunk number and digest. A chunk that is gone or changed meanwhile is passed over."""
        ...

    def put_state(self, key: str, value: str | None) -> None:
        """Remember a small fact about the index (its git HEAD, the vector model, counts of skipped files)."""
        ...

    def put_run(self, run: Run) -> None: ...

    def put_report(self, report: Report, keep: int) -> None:
        """Add a report to the history of its kind, of which the newest `keep` stay."""
        ...

    def put_events(self, events: Sequence[SearchEvent], keep: int) -> int:
        """Add events, of which the newest `keep` stay, and those of searches with votes; how many had to go."""
        ...

    def put_vote(self, vote: Vote) -> None: ...

    def put_audit(self, entry: AuditEntry) -> None: ...

    def clear_derived(self) -> None:
        """Forget everything that can be made again from the files."""
        ...


class Lease(Protocol):
    """The right to do something, held by one process at a time. A holder that dies loses it at once."""

    @property
    def is_held(self) -> bool: ...

    def release(self) -> None: ...


class FileStore(Protocol):
    """What came from files: the ledger, artifacts, their symbols, references and chunks."""

    def ledger(self) -> Mapping[str, LedgerEntry]: ...

    def artifacts(self, *, limit: int | None = None, without_chunks: bool = False) -> Iterator[ArtifactRow]:
        """The artifacts by path: every one, or the first `limit`; of all, or of those from which no chunk came."""
        ...

    def totals(self) -> Mapping[ArtifactType, Totals]:
        """How many files and chunks there are, by the type of file."""
        ...

    def artifact(self, path: str) -> ArtifactRow | None: ...

    def symbols(self, path: str | None = None) -> Iterator[tuple[str, Symbol]]:
        """Symbols with the path that declares them, by path and line."""
        ...

    def symbol(self, symbol_id: str) -> Symbol | None: ...

    def symbols_named(self, names: Iterable[str]) -> Iterator[tuple[str, Symbol]]:
        """Symbols whose bare name is one of `names`."""
        ...

    def references(self, path: str) -> tuple[Reference, ...]: ...

    def paths_referring_to(self, names: Iterable[str]) -> set[str]:
        """Files with a reference whose last part (behind the last dot or slash) is one of `names`."""
        ...

    def chunks(self, numbers: Sequence[int]) -> Mapping[int, ChunkRow]: ...

    def chunk_headers(self, numbers: Sequence[int], *, with_symbols: bool) -> Mapping[int, ChunkHeader]:
        """The same chunks without their text, for a fraction of the cost; the names of their symbols where asked for."""
        ...

    def chunks_by_id(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkRow]: ...

    def chunks_of(self, path: str) -> tuple[ChunkRow, ...]: ...


class GraphStore(Protocol):
    """Nodes and edges, whichever file or layer they came from."""

    def node(self, node_id: str) -> Node | None: ...

    def nodes(self, node_ids: Iterable[str]) -> Mapping[str, Node]: ...

    def nodes_with_edges(
        self, node_ids: Iterable[str], types: Sequence[str], limit: int
    ) -> tuple[Mapping[str, Node], tuple[Edge, ...]]:
        """These nodes, and what `expand` says of them in both directions."""
        ...

    def nodes_labelled(self, label: str, after: str | None, limit: int) -> tuple[Node, ...]:
        """Nodes of a label by key, behind the key `after`."""
        ...

    def nodes_keyed(self, label: str, key: str) -> tuple[Node, ...]:
        """Nodes of a label whose key equals `key` when case is not regarded."""
        ...

    def find_nodes(self, term: str, labels: Sequence[str], limit: int) -> tuple[Node, ...]:
        """Nodes whose key or name holds `term`, without regard to case: by label in the given order, then by key."""
        ...

    def node_number(self, node_id: str) -> int | None:
        """The number of a node, by which a walk goes on: it costs less than the id. Good inside of one `snapshot`."""
        ...

    def nodes_numbered(self, numbers: Iterable[int]) -> Mapping[int, Node]: ...

    def numbered_edges(self, frontier: Sequence[int], types: Sequence[str], limit: int) -> NumberedEdges:
        """What `expand` says of these nodes in both directions, by their numbers; in no order, and an edge perhaps twice."""
        ...

    def expand(
        self, frontier: Sequence[str], types: Sequence[str], direction: Direction, limit: int
    ) -> tuple[Edge, ...]:
        """Edges at these nodes in a stable order; no types means all. At most `limit` for each node and direction."""
        ...

    def degree(self, node_id: str, direction: Direction = "both") -> Mapping[str, int]:
        """How many edges of each type a node has."""
        ...

    def unconnected(self, label: str, types: Sequence[str], after: str | None, limit: int) -> tuple[Node, ...]:
        """Nodes of a label without an edge of these types in either direction, by key."""
        ...


class SearchStore(Protocol):
    """Chunks by their words and by their vectors.

    A store may answer from caches that follow the change sequence. `SearchHits` has the generation of an answer, and whether it is
    behind the last commit.
    """

    def lexical(self, query: LexicalQuery, k: int, where: ChunkFilter) -> SearchHits:
        """The `k` best chunks by BM25 over title and text, of those that the filter lets through."""
        ...

    def dense(self, model: VectorModel, vector: Vector, k: int, where: ChunkFilter) -> SearchHits:
        """The `k` nearest chunks by cosine; exact. Empty when the index has no vectors of this model."""
        ...

    def cosines(self, model: VectorModel, vector: Vector, numbers: Sequence[int]) -> Mapping[int, float]:
        """The cosine of each of these chunks that has a vector of this model."""
        ...

    def pending_vectors(self, model: VectorModel, limit: int) -> tuple[PendingChunk, ...]:
        """Chunks without a vector of this model, short ones together."""
        ...

    def vector_counts(self) -> Mapping[VectorModel, int]: ...

    def catch_up(self) -> None:
        """Bring the caches up to the last commit, so that the next query is quick. Call it after a large write; without it,
        queries are answered from what the caches have."""
        ...


class RecordStore(Protocol):
    """Kept rows, which exist nowhere else: runs, reports, search events, votes and the audit."""

    def runs(self, limit: int, profile: str | None = None) -> tuple[Run, ...]:
        """Newest first."""
        ...

    def reports(self, kind: ReportKind, limit: int) -> tuple[Report, ...]:
        """Newest first."""
        ...

    def events(self, request_id: str | None = None, limit: int = 10_000) -> tuple[SearchEvent, ...]: ...

    def event_bytes(self) -> int:
        """How much text the kept events are."""
        ...

    def votes(self, limit: int = 10_000) -> tuple[Vote, ...]: ...

    def audit(self, limit: int) -> tuple[AuditEntry, ...]:
        """Newest first."""
        ...


class Store(Protocol):
    """An index: the parts that callers read, and what concerns all of them."""

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
        """Writes that are committed together when the block ends. Votes and audit entries outlive a power cut from there on."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything that this thread asks inside the block is answered from one generation."""
        ...

    def identity(self) -> object:
        """Which database this is. Another value says that it was removed, rebuilt or exchanged."""
        ...

    def acquire_lease(self, name: str, holder: str) -> Lease | None:
        """The lease, or None when another living process holds it."""
        ...

    def lease_holder(self, name: str) -> str | None: ...

    def generation(self) -> int: ...

    def as_of(self) -> AsOf: ...

    def state(self, key: str) -> str | None: ...

    def health(self) -> Mapping[str, Any]:
        """Sizes, versions, the state of caches, and warnings for a person."""
        ...

    def verify(self) -> Iterator[Discrepancy]:
        """Whatever does not hold together inside the index: orphans, counts, caches that disagree, damage."""
        ...
