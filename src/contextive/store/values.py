"""The values that are written to a store and read from it, for every implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from contextive.knowledge.artifact import Artifact, ArtifactType
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.graph import Node
from contextive.knowledge.symbol import Symbol, SymbolKind

STATE_REPO_HEAD = "repo_head"
STATE_PENDING_FILES = "pending_files"
STATE_SKIPPED_FILES = "skipped_files"
STATE_VECTOR_MODEL = "vector_model"
STATE_VECTOR_SETTING = "vector_setting"
STATE_PARSE_CONTEXT = "surroundings"
"""Keys of the facts behind `AsOf`. The model is stored as `<name>/<dimensions>` and as the setting that chose it; counts
as decimal numbers. The parse context is written at the end of a run: without it, no run has finished yet."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """The state of the index behind an answer."""

    generation: int
    committed_at: float
    repo_head: str | None = None
    pending_files: int = 0
    """Files that are known to have changed and are not indexed yet."""
    pending_vectors: int = 0
    """Chunks without an embedding of the model that last computed some; all chunks if there was none yet."""
    skipped_files: int = 0
    chunk_count: int = 0
    vector_setting: str | None = None
    """The configured model that last computed embeddings; None if that is unknown."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What the index stores about a file to tell without reading it whether it changed."""

    path: str
    digest: str
    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    parser: str
    """Version of the code that parsed the file. If it differs, the file is parsed again."""


@dataclass(frozen=True, slots=True)
class ChunkFilter:
    """Which chunks a search may return. A chunk has to match every condition, and one value of each; case is
    ignored."""

    subsystems: tuple[str, ...] = ()
    extra_paths: tuple[str, ...] = ()
    """Paths of files that pass `subsystems` too, because of their edges in the graph."""
    artifact_types: tuple[ArtifactType, ...] = ()
    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    """Qualified names; a bare name matches too."""
    symbol_kinds: tuple[SymbolKind, ...] = ()
    symbol_languages: tuple[str, ...] = ()
    updated_after: float | None = None
    """Seconds since the epoch. Chunks without a time do not pass."""
    paths: tuple[str, ...] = ()
    """Path prefixes, for callers that search only a part of the project."""

    @property
    def is_empty(self) -> bool:
        return self == ChunkFilter()


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """Terms from the shared tokeniser, without duplicates. `whole` are the identifiers as typed, in lower case."""

    terms: tuple[str, ...]
    whole: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """The number of a chunk in the store, and its score."""

    number: int
    score: float


@dataclass(frozen=True, slots=True)
class SearchHits:
    """Hits, best first, and the generation that was searched."""

    hits: tuple[Hit, ...]
    generation: int
    is_behind: bool = False
    """Whether the searched rows have changed since that generation."""


class NamedSymbol(Protocol):
    """The names by which a query may mention a symbol."""

    @property
    def name(self) -> str: ...
    @property
    def qualified_name(self) -> str: ...


class RankableChunk(Protocol):
    """What ranking needs of a chunk: its position, its artifact, its title and the symbols that it declares."""

    @property
    def number(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def artifact(self) -> Artifact: ...
    @property
    def symbols(self) -> Sequence[NamedSymbol]: ...
    @property
    def title(self) -> str: ...


class SymbolName(NamedTuple):
    """The two names of a symbol."""

    name: str
    qualified_name: str


class ChunkHeader(NamedTuple):
    """A chunk without its text. Ranking reads many of these for each chunk that is returned."""

    number: int
    sequence: int
    artifact: Artifact
    symbols: tuple[SymbolName, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk with its artifact and symbols, as results need them."""

    number: int
    chunk: Chunk
    artifact: Artifact
    symbols: tuple[Symbol, ...] = ()

    @property
    def sequence(self) -> int:
        return self.chunk.sequence

    @property
    def title(self) -> str:
        return self.chunk.title


class NamedNode(NamedTuple):
    """A node found by its name, and which part of the name the search term is."""

    node: Node
    match: Literal["whole", "start", "part"]


class NumberedEdges(NamedTuple):
    """Edges as seen from one of their ends: near node, type and far node, as numbers of the store."""

    outgoing: Sequence[tuple[int, int, int]]
    incoming: Sequence[tuple[int, int, int]]
    types: Mapping[int, str]
    """The names of the types by number."""


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """An artifact with counts for reports."""

    artifact: Artifact
    chunk_count: int
    symbol_count: int
    last_seen: float


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk without a vector of the current model."""

    number: int
    digest: str
    title: str
    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class VectorModel:
    """The model that computed a vector. Vectors of different models are never compared."""

    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Run:
    """One ingest run."""

    run_id: str
    profile: str
    started_at: float
    duration_seconds: float
    success: bool
    artifact_counts: Mapping[str, int] = field(default_factory=dict)
    """All files of the index after the run, by type."""
    artifact_count: int = 0
    chunk_count: int = 0
    repo_head: str | None = None
    removed: tuple[Mapping[str, Any], ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    """The number of skipped files by reason."""
    error: str | None = None
    created_at: float = 0.0
    changed_counts: Mapping[str, int] = field(default_factory=dict)
    """The files that this run wrote, by type."""
    changed_chunk_count: int = 0


ReportKind = Literal["coverage", "lifecycle"]


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was generated after a run."""

    kind: ReportKind
    generated_at: float
    run_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """One row of search telemetry: a chunk that was returned at a rank."""

    request_id: str
    timestamp: float
    rank: int
    query: str
    chunk_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Vote:
    """A caller's judgement of a search result. A later vote by the same caller on the same result replaces it."""

    request_id: str
    chunk_id: str
    caller: str
    vote: float | None
    note: str | None
    context: Mapping[str, Any]
    timestamp: float


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A call that changed something."""

    timestamp: float
    caller: str
    tool: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BackupEnded:
    """The outcome of a backup."""

    success: bool
    at: float
    pruned: int = 0
    """The number of older archives that were deleted."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """An inconsistency in the index. `what` is a message for the user."""

    subject: str
    what: str


ConditionCode = Literal[
    "ok",
    "absent",
    "project_missing",
    "empty",
    "not_a_file",
    "unknown_schema",
    "newer_schema",
    "damaged",
    "repaired",
    "read_only",
    "full",
    "busy",
    "unreachable",
]
"""`repaired`: the index was rebuilt after damage, and kept rows may be lost. `absent`: it does not exist yet."""


@dataclass(frozen=True, slots=True)
class StoreCondition:
    """Whether the index of a project can be used, and what to do if it cannot."""

    ok: bool
    reason_code: ConditionCode
    message: str = ""
    hint: str = ""

    @property
    def is_searchable(self) -> bool:
        """Whether the index can be searched. This includes one that was repaired or cannot be written."""
        return self.ok or self.reason_code in ("repaired", "read_only", "full", "busy")


@dataclass(frozen=True, slots=True)
class Repair:
    """The rebuild of an index: the reason, and how many kept rows were saved and lost."""

    at: float
    reason: str
    saved: int
    lost: int | None
    """The number of kept rows that could not be read; None if unknown."""
    renamed_to: str | None

    @property
    def message(self) -> str:
        """The repair as a message for the user."""
        renamed = f" The old file is {self.renamed_to} in the state directory." if self.renamed_to else ""
        lost = "an unknown number" if self.lost is None else self.lost or "none"
        return (
            f"{self.reason} It was rebuilt: {self.saved} rows of votes, runs, reports, searches and the audit log were "
            f"saved, {lost} were lost.{renamed}"
        )
