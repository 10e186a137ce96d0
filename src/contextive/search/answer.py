"""What a search is asked and what it answers: values, which the doors turn into their own forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from contextive.knowledge.symbol import Symbol
from contextive.search.filters import ParsedFilters
from contextive.search.graph_context import GraphContext
from contextive.search.signals import Signals
from contextive.search.snippets import Snippet
from contextive.store.values import AsOf

Mode = Literal["hybrid", "lexical", "dense"]
Detail = Literal["concise", "full"]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question with everything that narrows or shapes its answer."""

    query: str
    limit: int = 10
    include_graph: bool = True
    filters: ParsedFilters = field(default_factory=ParsedFilters)
    sort_by_vector: bool | None = None
    """None leaves it to the configuration."""
    detail: Detail = "concise"
    explain: bool = False
    mode: Mode = "hybrid"
    """One half alone, for measuring what each is worth."""
    request_id: str | None = None
    """The caller's own id of this request; without one it gets a new one."""


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    """A symbol that a result declares, with a link that opens it in an editor where one is configured."""

    symbol: Symbol
    editor_uri: str | None = None


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A result as it is shown."""

    chunk_id: str
    artifact_path: str
    artifact_type: str
    subsystem: str | None
    namespace: str
    tags: tuple[str, ...]
    title: str
    text: str
    truncated: int
    """Characters of the text that are left out here."""
    line_start: int
    line_end: int
    snippet: Snippet
    score: float
    """The same as the adjusted score."""
    coverage_missing: bool
    coverage_ratio: float
    subsystem_criticality: str | float | None
    git_timestamp: float | None
    language: str | None
    symbols: tuple[FoundSymbol, ...]
    """The first five."""
    symbol_count: int
    symbol_ids: tuple[str, ...]
    """Those of all of them, for whoever compares answers."""
    editor_uri: str | None = None


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a result came to its place."""

    vector_score: float | None
    """The cosine; None while there is no vector."""
    lexical_score: float
    """BM25, as a share of the best chunk's."""
    weighted_vector_score: float
    weighted_lexical_score: float
    adjusted_score: float
    signals: Signals
    mode: Literal["heuristic"] = "heuristic"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result."""

    chunk: FoundChunk
    graph_context: GraphContext | None
    scoring: Scoring
    explain: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SearchMetadata:
    """What is true of the whole answer."""

    result_count: int
    graph_context_included: bool
    warnings: tuple[str, ...]
    weight_profile: str
    weights: Mapping[str, float]
    hybrid_weights: Mapping[str, float]
    filters_applied: Mapping[str, Any]
    request_id: str
    embedding_model: str | None
    scoring_mode: Literal["heuristic"] = "heuristic"
    truncated_results: int = 0
    """Results whose text is not whole here."""


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The answer."""

    query: str
    results: tuple[SearchResult, ...]
    metadata: SearchMetadata
    as_of: AsOf
