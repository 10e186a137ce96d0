"""Search requests and responses as plain values. Each transport converts them to its own format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from contextive.knowledge.symbol import Symbol
from contextive.search.filters import ParsedFilters
from contextive.search.graph_context import GraphContext
from contextive.search.grouping import Group
from contextive.search.relevance import Evidence, RelevanceLevel
from contextive.search.signals import Signals
from contextive.store.values import AsOf

Mode = Literal["hybrid", "lexical", "dense"]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A query, with its filters and options."""

    query: str
    limit: int = 10
    include_graph: bool = True
    filters: ParsedFilters = field(default_factory=ParsedFilters)
    sort_by_vector: bool | None = None
    """None means: as configured."""
    explain: bool = False
    mode: Mode = "hybrid"
    """The evaluation runs lexical and dense search alone to compare them with hybrid search."""
    request_id: str | None = None
    """The caller's id for this request; one is generated if it is None."""
    ##= docs/spec/knowledge.md#km-search-answers
    ##% With `group` set to `chunk`, an answer MUST contain the best chunks, whatever their files.
    group: Group = "file"
    """`file` returns the best chunk of each file first; `chunk` returns the best chunks, whatever their files."""
    is_cut: bool = False
    """Whether the query is only the beginning of a longer one."""
    only_relevant: bool = True
    """Return nothing if nothing relevant was found. The evaluation turns this off, because it measures the ranking."""


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    """A symbol that a result declares, with an editor link if links are configured."""

    symbol: Symbol
    editor_uri: str | None = None


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """The chunk of a result."""

    chunk_id: str
    artifact_path: str
    artifact_type: str
    subsystem: str | None
    namespace: str
    tags: tuple[str, ...]
    title: str
    text: str
    line_start: int
    line_end: int
    score: float
    """Same as the adjusted score."""
    relevance: float
    """The probability that this chunk is about the query, whatever the other results are."""
    coverage_missing: bool
    coverage_ratio: float
    subsystem_criticality: str | float | None
    git_timestamp: float | None
    language: str | None
    symbols: tuple[FoundSymbol, ...]
    """All symbols that it declares."""
    editor_uri: str | None = None


@dataclass(frozen=True, slots=True)
class Scoring:
    """The scores that decided the rank of a result."""

    vector_score: float | None
    """Cosine similarity; None if the chunk has no embedding."""
    lexical_score: float
    """BM25, scaled to the range 0 to 1."""
    weighted_vector_score: float
    weighted_lexical_score: float
    adjusted_score: float
    """The score that ranks the results of this query, times the relevance of its best result. So it can be compared
    with scores of other queries."""
    signals: Signals
    mode: Literal["heuristic"] = "heuristic"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result of a search."""

    chunk: FoundChunk
    graph_context: GraphContext | None
    scoring: Scoring
    evidence: Evidence
    """What says that the chunk is about the query."""
    more_in_file: int = 0
    """How many more chunks of this file were found than are returned."""
    explain: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NearestMatch:
    """The best match of a query without relevant results."""

    chunk_id: str
    artifact_path: str
    title: str
    line_start: int
    line_end: int
    score: float


@dataclass(frozen=True, slots=True)
class SearchMetadata:
    """Facts about the whole response."""

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
    direct_scan: Mapping[str, int] | None = None
    """How many files were searched without the index, and how many were not read; None if none had to be."""
    relevance: RelevanceLevel = "good"
    message: str | None = None
    """What an answer without relevant results says."""
    nearest: NearestMatch | None = None
    """The best of the results that were left out because none is relevant."""
    corrected: Mapping[str, str] = field(default_factory=dict)
    """Misspelled words of the query, each with the word that was searched for as well."""


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The response to a search request."""

    query: str
    results: tuple[SearchResult, ...]
    metadata: SearchMetadata
    as_of: AsOf
