"""Search: words and meaning together, then the rules for code, then what the graph knows."""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final

from contextive.errors import ContextiveError, InvalidRequest
from contextive.knowledge.tokens import query_terms
from contextive.search.answer import (
    FoundChunk,
    FoundSymbol,
    Scoring,
    SearchMetadata,
    SearchRequest,
    SearchResponse,
    SearchResult,
)
from contextive.search.candidates import CandidateFinder, Meaning
from contextive.search.editor_links import EditorLinks
from contextive.search.embedding.protocol import Embedder
from contextive.search.fusion import Fused, fuse
from contextive.search.graph_context import ContextReader, Contexts, GraphContext
from contextive.search.happenings import Observer, Searched, SearchRefused, nobody
from contextive.search.ranking import Ruled, Rules, apply_rules, read_question
from contextive.search.signals import Signals, graph_gain, read_signals
from contextive.search.snippets import TEXT_BUDGET, best_lines, trim_text
from contextive.search.subsystem_members import SubsystemMembers
from contextive.search.weights import Weights
from contextive.store.protocol import Store
from contextive.store.values import AsOf, ChunkPlace, ChunkRow

MAX_LIMIT: Final = 25
MAX_QUERY_CHARACTERS: Final = 4000
RANKED: Final = 60
"""Candidates that the rules look at."""
SHOWN_SYMBOLS: Final = 5
AT_ONCE: Final = max(4, os.cpu_count() or 1)
"""Searches of one process that work at the same time; the others wait. Threads take turns at the interpreter, and with dozens of
them each step of each search, and of everything else that the process does, would wait for all the others."""
_BEHIND: Final = (
    "The newest changes are not searched yet: these results are of generation {}, the index is at {}. Ask again."
)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What the configuration says about search."""

    weights: Weights = field(default_factory=Weights)
    rules: Rules = field(default_factory=Rules)
    sort_by_vector: bool = False
    graph_max_results: int = 20
    graph_time_budget_ms: int = 750
    text_budget: int = TEXT_BUDGET


@dataclass(frozen=True, slots=True)
class _Ranked:
    """One result in the making."""

    place: ChunkPlace
    fused: Fused
    ruled: Ruled
    context: GraphContext | None
    criticality: str | float | None
    signals: Signals
    gain: float

    @property
    def adjusted(self) -> float:
        return self.ruled.score + self.gain


class SearchService:
    """Answers search requests over one store. It may be used by several threads at once."""

    def __init__(
        self,
        store: Store,
        embedder: Callable[[], Embedder] | None = None,
        settings: SearchSettings | None = None,
        links: EditorLinks | None = None,
        clock: Callable[[], float] = time.time,
        observer: Observer = nobody,
    ) -> None:
        """`embedder` gives the loaded model or says by Unavailable why there is none; None means by words alone."""
        self._store = store
        self._finder = CandidateFinder(store, embedder)
        self._context_reader = ContextReader(store)
        self._members = SubsystemMembers(store)
        self._settings = settings or SearchSettings()
        self._links = links or EditorLinks(None)
        self._clock = clock
        self._observer = observer
        self._turns = threading.Semaphore(AT_ONCE)

    def with_vector_weight(self, weight: float) -> SearchService:
        """The same search with another share of vectors; words get what is left of 1."""
        other = copy(self)
        weights = replace(self._settings.weights, vector=weight, lexical=1.0 - weight)
        other._settings = replace(self._settings, weights=weights)
        return other

    ##= docs/spec/knowledge.md#answers-of-km-search
    ##% An empty index MUST be answered with no results.
    ##= docs/spec/knowledge.md#keeping-in-step
    ##% A search that does not see the newest changes yet MUST say so, and which state it saw.
    def search(self, request: SearchRequest) -> SearchResponse:
        """The best results for a request."""
        try:
            return self._search(request)
        except ContextiveError:
            self._observer(SearchRefused())
            raise

    def _search(self, request: SearchRequest) -> SearchResponse:
        query = request.query.strip()
        if not query:
            raise InvalidRequest("query must not be blank.")
        if len(query) > MAX_QUERY_CHARACTERS:
            raise InvalidRequest(f"query may hold at most {MAX_QUERY_CHARACTERS} characters.")
        meaning = self._finder.understand(query, request.mode)
        with self._turns:
            return self._answer(request, query, meaning)

    def _answer(self, request: SearchRequest, query: str, meaning: Meaning) -> SearchResponse:
        ##= docs/spec/knowledge.md#requests-of-km-search
        ##% The limit MUST be 10 unless said, and a number outside of 1 to 25 is brought inside.
        limit = min(MAX_LIMIT, max(1, request.limit))
        as_of = self._store.as_of()
        where = request.filters.where
        if where.subsystems:
            where = replace(where, beside=self._members.beside(where.subsystems, as_of))
        by_vector = self._settings.sort_by_vector if request.sort_by_vector is None else request.sort_by_vector
        weights = self._settings.weights
        found = self._finder.find(query, meaning, where, request.mode)
        balanced = weights.balanced(found.meaning)
        fused = fuse(
            found.lexical,
            found.cosines,
            lexical_weight=balanced.lexical,
            vector_weight=balanced.vector,
            first=None if by_vector else RANKED,
        )
        if by_vector:
            fused.sort(key=_nearness)
        question = read_question(query)
        places = self._store.files.places([one.number for one in fused[:RANKED]], with_symbols=bool(question.names))
        by_number = {one.number: one for one in fused[:RANKED] if one.number in places}
        ruled = apply_rules(
            question,
            [(places[number], one.score) for number, one in by_number.items()],
            self._settings.rules,
            trials_are_wanted="test" in where.artifact_types,
        )
        if by_vector:
            ruled.sort(key=lambda one: _nearness(by_number[one.number]))
        # What stands further behind gets no graph context, and so nothing that could bring it forward.
        ruled = ruled[: max(limit, self._settings.graph_max_results)]

        contexts = self._contexts(request, [places[one.number] for one in ruled], as_of)
        ranked = self._weigh(query, ruled, places, by_number, contexts, as_of)
        if not by_vector:
            ranked.sort(key=lambda one: (-one.adjusted, one.place.artifact.path, one.place.sequence))
        # Only what is shown is read in full. What went meanwhile is not shown.
        rows = self._store.files.chunks([one.place.number for one in ranked[:limit]])
        ranked = [one for one in ranked[:limit] if one.place.number in rows]

        warnings = [f"Results are by words alone. {found.missing}"] if found.missing else []
        if found.behind is not None:
            warnings.append(_BEHIND.format(found.behind, as_of.generation))
            as_of = replace(as_of, generation=min(as_of.generation, found.behind))
        warnings += self._graph_warnings(request, ranked, contexts)
        if self._finder.hides_undated(query, where, found):
            warnings.append("The recency filter skipped results that have no timestamp.")
        terms = query_terms(query)
        results = tuple(self._show(one, rows[one.place.number], terms, request) for one in ranked)
        metadata = SearchMetadata(
            result_count=len(results),
            graph_context_included=any(result.graph_context for result in results),
            warnings=tuple(warnings),
            weight_profile=weights.profile,
            weights=weights.as_dict(),
            hybrid_weights={"vector": balanced.vector, "lexical": balanced.lexical},
            filters_applied=request.filters.applied,
            request_id=request.request_id or uuid.uuid4().hex,
            embedding_model=found.model,
            truncated_results=sum(1 for result in results if result.chunk.truncated),
        )
        self._observer(_happened(request, ranked, contexts))
        return SearchResponse(request.query, results, metadata, as_of)

    ##= docs/spec/knowledge.md#answers-of-km-search
    ##% Graph context MUST be left out where `include_graph` is false.
    def _contexts(self, request: SearchRequest, places: Sequence[ChunkPlace], as_of: AsOf) -> Contexts:
        if not request.include_graph:
            return Contexts({})
        first = places[: self._settings.graph_max_results]
        return self._context_reader.read(first, as_of, budget_ms=self._settings.graph_time_budget_ms)

    def _graph_warnings(self, request: SearchRequest, ranked: Sequence[_Ranked], contexts: Contexts) -> list[str]:
        if not request.include_graph or not ranked:
            return []
        if contexts.ran_out_of_time:
            budget = self._settings.graph_time_budget_ms
            return [f"Graph context was skipped for some results after the time budget of {budget} ms."]
        if len(ranked) > self._settings.graph_max_results:
            return [f"Graph context is limited to the first {self._settings.graph_max_results} results."]
        if not contexts.by_number:
            return ["Graph context is unavailable."]
        return []

    def _weigh(
        self,
        query: str,
        ruled: Sequence[Ruled],
        places: Mapping[int, ChunkPlace],
        fused: Mapping[int, Fused],
        contexts: Contexts,
        as_of: AsOf,
    ) -> list[_Ranked]:
        """Add what the graph knows."""
        weights = self._settings.weights.graph
        words = frozenset(re.findall(r"\w+", query.lower()))
        names = {name for one in ruled if (name := places[one.number].artifact.subsystem)}
        subsystems = self._context_reader.nodes((f"Subsystem:{name}" for name in names), as_of)
        now = self._clock()
        ranked = []
        for one in ruled:
            place, context = places[one.number], contexts.by_number.get(one.number)
            subsystem = subsystems.get(f"Subsystem:{place.artifact.subsystem}")
            criticality = subsystem.properties.get("criticality") if subsystem else None
            signals = read_signals(
                place, context, subsystem_criticality=criticality, words=words, weights=weights, now=now
            )
            gain = graph_gain(signals, weights)
            ranked.append(_Ranked(place, fused[one.number], one, context, criticality, signals, gain))
        return ranked

    def _show(self, ranked: _Ranked, row: ChunkRow, terms: Collection[str], request: SearchRequest) -> SearchResult:
        chunk, artifact = row.chunk, row.artifact
        text, truncated = chunk.text, 0
        if request.detail == "concise":
            text, truncated = trim_text(text, self._settings.text_budget)
        found = FoundChunk(
            chunk_id=chunk.chunk_id,
            artifact_path=artifact.path,
            artifact_type=artifact.artifact_type,
            subsystem=artifact.subsystem,
            namespace=artifact.namespace,
            tags=chunk.tags or artifact.tags,
            title=chunk.title,
            text=text,
            truncated=truncated,
            line_start=chunk.line_start,
            line_end=chunk.line_end,
            snippet=best_lines(chunk, terms),
            score=ranked.adjusted,
            coverage_missing=bool(ranked.signals.coverage_missing),
            coverage_ratio=ranked.signals.coverage_ratio,
            subsystem_criticality=ranked.criticality,
            git_timestamp=artifact.git.timestamp if artifact.git else None,
            language=artifact.language,
            symbols=tuple(
                FoundSymbol(one, self._links.link(artifact.path, one.line_start, one.line_end))
                for one in row.symbols[:SHOWN_SYMBOLS]
            ),
            symbol_count=len(row.symbols),
            symbol_ids=tuple(one.id for one in row.symbols),
            editor_uri=self._links.link(artifact.path, chunk.line_start, chunk.line_end),
        )
        scoring = Scoring(
            vector_score=ranked.fused.cosine,
            lexical_score=ranked.fused.lexical,
            weighted_vector_score=ranked.fused.vector_share,
            weighted_lexical_score=ranked.fused.lexical_share,
            adjusted_score=ranked.adjusted,
            signals=ranked.signals,
        )
        return SearchResult(found, ranked.context, scoring, _explain(ranked, terms) if request.explain else None)


def _happened(request: SearchRequest, ranked: Sequence[_Ranked], contexts: Contexts) -> Searched:
    where = request.filters.where
    without = sum(1 for one in ranked if one.context is None) if request.include_graph else 0
    return Searched(
        by_symbol=bool(where.symbols or where.symbol_kinds or where.symbol_languages),
        graph_seconds=contexts.seconds if request.include_graph else None,
        contexts_remembered=contexts.remembered,
        contexts_read=contexts.read,
        skipped_by_limit=0 if contexts.ran_out_of_time else without,
        skipped_by_time=without if contexts.ran_out_of_time else 0,
        lifts=tuple(one.adjusted - one.fused.cosine for one in ranked if one.fused.cosine is not None),
    )


##= docs/spec/knowledge.md#requests-of-km-search
##% With `sort_by_vector` results MUST be ordered by meaning alone.
def _nearness(one: Fused) -> tuple[float, float, int]:
    """The order by meaning alone; what has no vector comes last, by its words."""
    return (-one.cosine if one.cosine is not None else 2.0, -one.score, one.number)


##= docs/spec/knowledge.md#answers-of-km-search
##% With `explain` the parts of a score MUST add up to it.
def _explain(ranked: _Ranked, terms: Collection[str]) -> dict[str, Any]:
    """Every part of a score: together they are the adjusted score."""
    return {
        "terms": list(terms),
        "lexical": ranked.fused.lexical_share,
        "vector": ranked.fused.vector_share,
        "rules": dict(ranked.ruled.gains),
        "graph": ranked.gain,
        "adjusted_score": ranked.adjusted,
    }
