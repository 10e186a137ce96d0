"""What goes into a store and what comes out of it, whichever one it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from contextive.knowledge.artifact import Artifact, ArtifactType
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.symbol import Symbol, SymbolKind

STATE_REPO_HEAD = "repo_head"
STATE_PENDING_FILES = "pending_files"
STATE_SKIPPED_FILES = "skipped_files"
STATE_VECTOR_MODEL = "vector_model"
"""Keys of the facts that `AsOf` is made from. The model is written as `<name>/<dimensions>`; counts as decimal numbers."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """The state of the index that an answer was made from."""

    generation: int
    committed_at: float
    repo_head: str | None = None
    pending_files: int = 0
    """Files that are known to have changed and are not indexed yet."""
    pending_vectors: int = 0
    skipped_files: int = 0


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What is remembered of an indexed file to see without reading it whether it changed."""

    path: str
    digest: str
    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    parser: str
    """Version of everything that turned the bytes into rows; another one means that the file is parsed again."""


@dataclass(frozen=True, slots=True)
class ChunkFilter:
    """Which chunks may be found. Conditions are joined by *and*, the values of one by *or*, all without regard to case."""

    subsystems: tuple[str, ...] = ()
    extra_paths: tuple[str, ...] = ()
    """Paths of files that pass `subsystems` as well, because of what they are connected with."""
    artifact_types: tuple[ArtifactType, ...] = ()
    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    """Qualified names; a bare name matches too."""
    symbol_kinds: tuple[SymbolKind, ...] = ()
    symbol_languages: tuple[str, ...] = ()
    updated_after: float | None = None
    """Seconds since the epoch; chunks without a time are left out."""
    paths: tuple[str, ...] = ()
    """Path prefixes, for services that look at one part of the project."""

    @property
    def is_empty(self) -> bool:
        return self == ChunkFilter()


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """Terms as the shared tokeniser gives them, deduplicated. `whole` are identifiers as they were typed, lower-cased."""

    terms: tuple[str, ...]
    whole: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk by the store's own number, and how well it matches."""

    number: int
    score: float


@dataclass(frozen=True, slots=True)
class SearchHits:
    """Hits, best first, and the generation that they were found in."""

    hits: tuple[Hit, ...]
    generation: int
    is_behind: bool = False
    """Whether the index has changed since that generation in what was searched."""


class NamedSymbol(Protocol):
    """A symbol, as far as a query may name it."""

    @property
    def name(self) -> str: ...
    @property
    def qualified_name(self) -> str: ...


class RankableChunk(Protocol):
    """A chunk as ranking sees it: where it stands, and what it declares."""

    @property
    def number(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def artifact(self) -> Artifact: ...
    @property
    def symbols(self) -> Sequence[NamedSymbol]: ...


class SymbolName(NamedTuple):
    """The two names of a symbol."""

    name: str
    qualified_name: str


class ChunkHeader(NamedTuple):
    """A chunk without its text: many are ranked for each that is shown."""

    number: int
    sequence: int
    artifact: Artifact
    symbols: tuple[SymbolName, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk with the facts of its artifact, as answers need them."""

    number: int
    chunk: Chunk
    artifact: Artifact
    symbols: tuple[Symbol, ...] = ()

    @property
    def sequence(self) -> int:
        return self.chunk.sequence


class NumberedEdges(NamedTuple):
    """Edges as they are seen from one of their ends: near node, type and far node by the store's own numbers."""

    outgoing: Sequence[tuple[int, int, int]]
    incoming: Sequence[tuple[int, int, int]]
    types: Mapping[int, str]
    """What the numbers of types stand for."""


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """An artifact with the counts that reports show."""

    artifact: Artifact
    chunk_count: int
    symbol_count: int
    last_seen: float


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk whose vector is missing or made by another model."""

    number: int
    digest: str
    title: str
    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class VectorModel:
    """What made the vectors of an index. Two of them are never compared with each other."""

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
    artifact_count: int = 0
    chunk_count: int = 0
    repo_head: str | None = None
    removed: tuple[Mapping[str, Any], ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many files were left out, by reason."""
    error: str | None = None
    created_at: float = 0.0


ReportKind = Literal["coverage", "lifecycle"]


@dataclass(frozen=True, slots=True)
class Report:
    """A report as it was made after a run."""

    kind: ReportKind
    generated_at: float
    run_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """One row of search telemetry: a chunk that was shown at a rank."""

    request_id: str
    timestamp: float
    rank: int
    query: str
    chunk_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Vote:
    """What somebody said about a result. One for each caller, request and chunk; a later one replaces it."""

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
    """A backup was made, or could not be."""

    success: bool
    at: float
    pruned: int = 0
    """Older archives that had to go."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A place where the index does not hold together. `what` is a sentence."""

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
"""`repaired` means that the index was rebuilt after damage and that kept rows may be lost; `absent` that it is not there yet."""


@dataclass(frozen=True, slots=True)
class StoreCondition:
    """Whether the index of a project is in order, and what to do where it is not."""

    ok: bool
    reason_code: ConditionCode
    message: str = ""
    hint: str = ""

    @property
    def is_searchable(self) -> bool:
        """Whether questions to the index can be answered: also from one that was repaired or cannot be written."""
        return self.ok or self.reason_code in ("repaired", "read_only", "full", "busy")


@dataclass(frozen=True, slots=True)
class Repair:
    """An index that was renamed and built again: why, and what became of the rows that exist nowhere else."""

    at: float
    reason: str
    saved: int
    lost: int | None
    """Kept rows that could not be read; None where nobody can tell how many there were."""
    renamed_to: str | None

    @property
    def message(self) -> str:
        """What happened, as sentences."""
        renamed = f" The old file is {self.renamed_to} in the state directory." if self.renamed_to else ""
        lost = (
            "an unknown number is lost"
            if self.lost is None
            else f"{self.lost} are lost"
            if self.lost
            else "none is lost"
        )
        return (
            f"{self.reason} It was built again: {self.saved} rows of votes, runs, reports, searches and audit were saved, "
            f"{lost}.{renamed}"
        )
