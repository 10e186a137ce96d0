"""Search: merges lexical and semantic hits, applies the ranking rules, then the graph signals."""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Final

from contextive.errors import ContextiveError, InvalidRequest
from contextive.search.answer import SearchMetadata, SearchRequest, SearchResponse
from contextive.search.candidates import CandidateFinder, Candidates, QueryEmbedding
from contextive.search.direct_scan import DirectScan, UnindexedFiles
from contextive.search.editor_links import EditorLinks
from contextive.search.embedding.protocol import Embedder
from contextive.search.embedding_worker import missing_embeddings_text
from contextive.search.events import Observer, SearchCompleted, SearchFailed, ignore_event
from contextive.search.fusion import FusedHit, fuse
from contextive.search.graph_context import GraphContextReader, GraphContexts
from contextive.search.grouping import best_of_each_file, more_in_file
from contextive.search.ranking import RankingRules, RuledScore, apply_rules, query_features
from contextive.search.relevance import NOTHING_RELEVANT, judge, relevance_level
from contextive.search.results import RankedChunk, evidence_of, explanation, nearest_match, to_result
from contextive.search.signals import graph_gain, read_signals
from contextive.search.subsystem_members import SubsystemMembers
from contextive.search.weights import Weights
from contextive.store.protocol import Store
from contextive.store.values import AsOf, ChunkHeader

MAX_LIMIT: Final = 25
MAX_QUERY_CHARACTERS: Final = 4_000
"""A longer query is cut: nothing beyond this would change its results."""
LARGEST_QUERY_CHARACTERS: Final = 20_000
"""A longer query is refused."""
MAX_RANKED: Final = 60
"""Candidates that the ranking rules are applied to."""
JUDGED_RESULTS: Final = 10
"""If none of the first results is relevant, nothing is."""
MAX_CONCURRENT_SEARCHES: Final = max(4, os.cpu_count() or 1)
"""Further searches of the process wait. With dozens of threads competing for the interpreter lock, every step of
every search, and everything else in the process, would wait for all the others."""
_CUT_WARNING: Final = f"The query was cut after {MAX_QUERY_CHARACTERS:,} characters."
_STALE_WARNING: Final = (
    "The newest changes are not searched yet: these results are from generation {}, the index is at {}. Try again."
)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The configuration of search."""

    weights: Weights = field(default_factory=Weights)
    rules: RankingRules = field(default_factory=RankingRules)
    sort_by_vector: bool = False
    graph_max_results: int = 20
    graph_time_budget_ms: int = 750


class SearchService:
    """Searches one store. Thread-safe."""

    def __init__(
        self,
        store: Store,
        embedder: Callable[[], Embedder] | None = None,
        settings: SearchSettings | None = None,
        links: EditorLinks | None = None,
        clock: Callable[[], float] = time.time,
        observer: Observer = ignore_event,
        missing_embeddings: Callable[[AsOf], int] = lambda as_of: as_of.pending_vectors,
        unindexed: UnindexedFiles | None = None,
    ) -> None:
        """`embedder` returns the loaded model or raises Unavailable; None means lexical search only."""
        self._missing_embeddings = missing_embeddings
        self._unindexed = unindexed
        self._has_embedder = embedder is not None
        self._store = store
        self._finder = CandidateFinder(store, embedder)
        self._context_reader = GraphContextReader(store)
        self._members = SubsystemMembers(store)
        self._settings = settings or SearchSettings()
        self._links = links or EditorLinks(None)
        self._clock = clock
        self._observer = observer
        self._slots = threading.Semaphore(MAX_CONCURRENT_SEARCHES)

    def with_vector_weight(self, weight: float) -> SearchService:
        """The same service with another vector weight; the lexical weight is the rest up to 1."""
        other = copy(self)
        weights = replace(self._settings.weights, vector=weight, lexical=1.0 - weight)
        other._settings = replace(self._settings, weights=weights)
        return other

    ##= docs/spec/knowledge.md#km-search-answers
    ##% A search of an empty index MUST succeed with no results.
    ##= docs/spec/knowledge.md#index-updates
    ##% A search that does not yet include the newest changes MUST say so, and say which state it used.
    def search(self, request: SearchRequest) -> SearchResponse:
        """The best results for a request."""
        try:
            return self._search(request)
        except ContextiveError:
            self._observer(SearchFailed())
            raise

    ##= docs/spec/knowledge.md#km-search-requests
    ##% A query of more than 4,000 characters MUST be cut, with a warning, and one of more than 20,000 refused.
    def _search(self, request: SearchRequest) -> SearchResponse:
        query = request.query.strip()
        if not query:
            raise InvalidRequest("query must not be blank.")
        if len(query) > LARGEST_QUERY_CHARACTERS:
            raise InvalidRequest(
                f"query can have at most {LARGEST_QUERY_CHARACTERS:,} characters.", hint="Search for its main sentence."
            )
        if len(query) > MAX_QUERY_CHARACTERS:
            query = _first_words(query, MAX_QUERY_CHARACTERS)
            request = replace(request, query=query, is_cut=True)
        embedding = self._finder.embed_query(query, request.mode)
        with self._slots:
            return self._execute(request, query, embedding)

    def _execute(self, request: SearchRequest, query: str, embedding: QueryEmbedding) -> SearchResponse:
        ##= docs/spec/knowledge.md#km-search-requests
        ##% The limit MUST default to 10, and a number outside 1 to 25 is clamped to that range.
        limit = min(MAX_LIMIT, max(1, request.limit))
        as_of = self._store.as_of()
        where = request.filters.where
        if where.subsystems:
            where = replace(where, extra_paths=self._members.unassigned_files(where.subsystems, as_of))
        by_vector = self._settings.sort_by_vector if request.sort_by_vector is None else request.sort_by_vector
        weights = self._settings.weights
        found = self._finder.find(query, embedding, where, request.mode)
        query_weights = weights.for_query(found.semantic_weight)
        scan = self._scan_unindexed(request, query, found, as_of)
        fused = fuse(
            found.lexical,
            found.cosines,
            lexical_weight=query_weights.lexical,
            vector_weight=query_weights.vector,
            first=None if by_vector else MAX_RANKED,
        )
        if by_vector:
            fused.sort(key=_by_cosine)
        features = query_features(query)
        headers = self._store.files.chunk_headers(
            [hit.number for hit in fused[:MAX_RANKED]], with_symbols=bool(features.names)
        )
        if scan is not None:
            fused = self._with_scanned(fused, scan)
            headers = {**headers, **scan.headers()}
        by_number = {hit.number: hit for hit in fused[:MAX_RANKED] if hit.number in headers}
        ruled = apply_rules(
            features,
            [(headers[number], hit.score) for number, hit in by_number.items()],
            self._settings.rules,
            wants_tests="test" in where.artifact_types,
        )
        if by_vector:
            ruled.sort(key=lambda score: _by_cosine(by_number[score.number]))
        # Lower ranks get no graph context, so nothing could move them up.
        most = max(limit, self._settings.graph_max_results)
        found_paths = [headers[score.number].artifact.path for score in ruled]
        further: set[int] = set()
        if request.group == "file":
            best, others = best_of_each_file(list(zip(found_paths, ruled, strict=True)))
            ruled, further = [*best, *others], {score.number for score in others}
        ruled = ruled[:most]

        contexts = self._contexts(request, [headers[score.number] for score in ruled], as_of)
        ranked = self._apply_graph_signals(query, ruled, headers, by_number, contexts, as_of)
        if not by_vector:
            ranked.sort(
                key=lambda chunk: (
                    chunk.header.number in further,
                    -chunk.adjusted,
                    chunk.header.artifact.path,
                    chunk.header.sequence,
                )
            )
        # Only the first chunks are read in full. Chunks that were deleted meanwhile are left out.
        first = [n for chunk in ranked[: max(limit, JUDGED_RESULTS)] if (n := chunk.header.number) > 0]
        rows = dict(self._store.files.chunks(first))
        rows |= scan.rows if scan is not None else {}
        ranked = [chunk for chunk in ranked if chunk.header.number in rows]
        evidence = evidence_of(ranked, rows, found)
        judgement = judge(evidence)
        level = relevance_level(judgement.best)
        # While files are searched without the index, the rarity of words is not known well enough to say "none".
        if level == "none" and ranked and (scan is not None or _must_return(request, found)):
            level = "weak"

        warnings = [] if limit == request.limit else [f"The limit was set to {limit}: 1 to {MAX_LIMIT} are allowed."]
        if request.is_cut:
            warnings.append(_CUT_WARNING)
        warnings += self._embedding_warnings(request, found, as_of)
        if scan is not None:
            warnings.append(scan.warning())
            as_of = replace(as_of, pending_files=as_of.pending_files or scan.files_scanned + scan.files_left)
        if found.stale_generation is not None:
            if scan is None:
                warnings.append(_STALE_WARNING.format(found.stale_generation, self._store.generation()))
            as_of = replace(as_of, generation=min(as_of.generation, found.stale_generation))
        nearest = None
        ##= docs/spec/knowledge.md#relevance
        ##% A search for something that the index does not contain MUST return no results, the message `Nothing relevant
        ##% was found`, and the best weak match in `nearest`.
        if level == "none" and request.only_relevant:
            nearest, ranked = nearest_match(ranked, rows, judgement), []
        ranked = ranked[:limit]
        warnings += self._graph_warnings(request, ranked, contexts)
        if self._finder.hides_undated(where, found):
            warnings.append("The recency filter skipped results that have no timestamp.")
        more = more_in_file(found_paths, [chunk.header.artifact.path for chunk in ranked])
        results = tuple(
            to_result(chunk, rows[chunk.header.number], evidence[chunk.header.number], judgement, self._links, count)
            for chunk, count in zip(ranked, more, strict=True)
        )
        if request.explain:
            results = tuple(
                replace(result, explain=explanation(query, chunk, result.evidence, judgement.best))
                for result, chunk in zip(results, ranked, strict=True)
            )
        metadata = SearchMetadata(
            result_count=len(results),
            graph_context_included=any(result.graph_context for result in results),
            warnings=tuple(warnings),
            weight_profile=weights.profile,
            weights=weights.as_dict(),
            hybrid_weights={"vector": query_weights.vector, "lexical": query_weights.lexical},
            filters_applied=request.filters.applied,
            request_id=request.request_id or uuid.uuid4().hex,
            embedding_model=found.model,
            direct_scan=scan.counts() if scan is not None else None,
            relevance=level,
            message=None if results else NOTHING_RELEVANT,
            nearest=nearest,
            corrected=found.asked.corrected,
        )
        self._observer(_completed_event(request, ranked, contexts))
        return SearchResponse(request.query, results, metadata, as_of)

    ##= docs/spec/knowledge.md#km-search-answers
    ##% Graph context MUST be omitted if `include_graph` is false.
    def _contexts(self, request: SearchRequest, headers: Sequence[ChunkHeader], as_of: AsOf) -> GraphContexts:
        if not request.include_graph:
            return GraphContexts({})
        first = headers[: self._settings.graph_max_results]
        return self._context_reader.read(first, as_of, budget_ms=self._settings.graph_time_budget_ms)

    ##= docs/spec/knowledge.md#index-updates
    ##% A search MUST NOT return an empty list only because indexing is behind.
    def _scan_unindexed(self, request: SearchRequest, query: str, found: Candidates, as_of: AsOf) -> DirectScan | None:
        """The passages of files that the index does not cover yet; None if it covers them all."""
        if self._unindexed is None or request.mode == "dense":
            return None
        is_behind = found.stale_generation is not None
        is_empty = not (found.lexical or found.cosines)
        if self._unindexed.index_is_complete and not (is_empty and (is_behind or as_of.pending_files)):
            return None
        return self._unindexed.scan(query, request.filters.where, all_files=is_behind)

    def _with_scanned(self, fused: Sequence[FusedHit], scan: DirectScan) -> list[FusedHit]:
        """Indexed and scanned passages, best first, all scored by the words that they contain."""
        rows = self._store.files.chunks([hit.number for hit in fused[:MAX_RANKED]])
        hits = [
            FusedHit(hit.number, score, hit.cosine, score, 0.0)
            for hit in fused[:MAX_RANKED]
            if (row := rows.get(hit.number)) is not None and (score := scan.score(row)) is not None
        ]
        hits += [FusedHit(number, score, None, score, 0.0) for number, score in scan.scores.items()]
        return sorted(hits, key=lambda hit: (-hit.score, hit.number))

    ##= docs/spec/knowledge.md#ranking
    ##% While embeddings are missing, every hybrid search MUST warn and give their number.
    def _embedding_warnings(self, request: SearchRequest, found: Candidates, as_of: AsOf) -> list[str]:
        warnings = (
            [f"Results are from lexical search only. {found.no_vectors_reason}"] if found.no_vectors_reason else []
        )
        if self._has_embedder and request.mode != "lexical" and (missing := self._missing_embeddings(as_of)):
            warnings.append(missing_embeddings_text(missing, as_of.chunk_count))
        return warnings

    def _graph_warnings(
        self, request: SearchRequest, ranked: Sequence[RankedChunk], contexts: GraphContexts
    ) -> list[str]:
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

    def _apply_graph_signals(
        self,
        query: str,
        ruled: Sequence[RuledScore],
        headers: Mapping[int, ChunkHeader],
        fused: Mapping[int, FusedHit],
        contexts: GraphContexts,
        as_of: AsOf,
    ) -> list[RankedChunk]:
        """The chunks with their graph signals and the gain from them."""
        weights = self._settings.weights.graph
        words = frozenset(re.findall(r"\w+", query.lower()))
        names = {name for score in ruled if (name := headers[score.number].artifact.subsystem)}
        subsystems = self._context_reader.nodes((f"Subsystem:{name}" for name in names), as_of)
        now = self._clock()
        ranked = []
        for score in ruled:
            header, context = headers[score.number], contexts.by_number.get(score.number)
            subsystem = subsystems.get(f"Subsystem:{header.artifact.subsystem}")
            criticality = subsystem.properties.get("criticality") if subsystem else None
            signals = read_signals(
                header, context, subsystem_criticality=criticality, words=words, weights=weights, now=now
            )
            gain = graph_gain(signals, weights)
            ranked.append(RankedChunk(header, fused[score.number], score, context, criticality, signals, gain))
        return ranked


##= docs/spec/knowledge.md#relevance
##% A search with a filter, or for an identifier that occurs in the index, MUST return its results even if none seems relevant.
def _must_return(request: SearchRequest, found: Candidates) -> bool:
    """Whether results must be returned although none seems relevant."""
    # Words that are not indexed yet cannot be judged.
    return bool(request.filters.applied) or found.asked.topic.names_identifier or found.stale_generation is not None


def _completed_event(request: SearchRequest, ranked: Sequence[RankedChunk], contexts: GraphContexts) -> SearchCompleted:
    where = request.filters.where
    skipped = sum(1 for chunk in ranked if chunk.context is None) if request.include_graph else 0
    return SearchCompleted(
        by_symbol=bool(where.symbols or where.symbol_kinds or where.symbol_languages),
        graph_seconds=contexts.seconds if request.include_graph else None,
        contexts_cached=contexts.cached,
        contexts_read=contexts.read,
        skipped_by_limit=0 if contexts.ran_out_of_time else skipped,
        skipped_by_time=skipped if contexts.ran_out_of_time else 0,
        score_changes=tuple(chunk.adjusted - chunk.fused.cosine for chunk in ranked if chunk.fused.cosine is not None),
    )


##= docs/spec/knowledge.md#km-search-requests
##% With `sort_by_vector`, results MUST be ordered by semantic similarity alone.
def _by_cosine(hit: FusedHit) -> tuple[float, float, int]:
    """Sort key for semantic order; chunks without an embedding come last, by their lexical score."""
    return (-hit.cosine if hit.cosine is not None else 2.0, -hit.score, hit.number)


def _first_words(text: str, most: int) -> str:
    """The beginning of a text, without a part of a word at its end if it has spaces."""
    return text[:most].rpartition(" ")[0].rstrip() or text[:most]
