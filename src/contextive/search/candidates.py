"""The chunks that may answer a query: the best by words and the best by meaning."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from contextive.errors import Unavailable, UpstreamError
from contextive.knowledge.tokeniser import query_identifiers, query_terms, tokenise, unstemmed_words
from contextive.search.answer import Mode
from contextive.search.embedding.protocol import Embedder
from contextive.search.semantic_weight import WEIGHT_ALL_TERMS_FOUND, semantic_weight
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter, LexicalQuery, SearchHits

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

DEPTH: Final = 100
"""Hits that each half gives; the order is made of their union."""
MAX_CACHED_QUERIES: Final = 256
_NO_HITS: Final = SearchHits((), 0)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What both halves found, by chunk number."""

    lexical: Mapping[int, float]
    cosines: Mapping[int, float]
    model: str | None = None
    """Name of the model that the query was embedded with."""
    no_vectors_reason: str | None = None
    """A sentence that says why there are no vectors."""
    semantic_weight: float = 0.5
    """How much meaning should count beside words, between 0 and 1."""
    stale_generation: int | None = None
    """The generation that was searched, where the index has come further; None where this is the present."""


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A query as a model understands it, or a sentence that says why none does."""

    vector: tuple[Embedder, Matrix] | None = None
    no_vectors_reason: str | None = None


class CandidateFinder:
    """Asks a store and a model for candidates. The filter narrows both halves before they are cut."""

    def __init__(self, store: Store, embedder: Callable[[], Embedder] | None) -> None:
        self._store = store
        self._embedder = embedder
        self._vectors: OrderedDict[tuple[str, str], Matrix] = OrderedDict()
        self._lock = threading.Lock()

    ##= docs/spec/knowledge.md#ranking
    ##% Without embeddings, a search MUST fall back to lexical search, with a warning if embeddings were expected.
    def embed_query(self, query: str, mode: Mode) -> QueryEmbedding:
        """What a query means. The model may be far away: this may take a while."""
        if mode == "lexical" or self._embedder is None:
            return QueryEmbedding()
        try:
            embedder = self._embedder()
            return QueryEmbedding((embedder, self._vector(embedder, query)))
        except (Unavailable, UpstreamError) as error:
            return QueryEmbedding(no_vectors_reason=error.message)

    ##= docs/spec/knowledge.md#km-search-requests
    ##% Filters MUST restrict what is searched, not the results of a search.
    def find(self, query: str, embedding: QueryEmbedding, where: ChunkFilter, mode: Mode) -> Candidates:
        """The candidates for a query. A model that cannot be used leaves the words."""
        words = self._lexical_search(query, where) if mode != "dense" else _NO_HITS
        lexical = _scores(words)
        if embedding.vector is None:
            return Candidates(
                lexical, {}, no_vectors_reason=embedding.no_vectors_reason, stale_generation=_stale_generation(words)
            )
        embedder, vector = embedding.vector
        near = self._store.search.dense(embedder.model, vector, DEPTH, where)
        cosines = _scores(near)
        beside = [number for number in lexical if number not in cosines]
        if beside:
            cosines |= self._store.search.cosines(embedder.model, vector, beside)
        no_vectors_reason = None if cosines or not lexical else "No vectors have been made yet."
        share, stale = self._semantic_weight(query, lexical), _stale_generation(words, near)
        return Candidates(lexical, cosines, embedder.model.name, no_vectors_reason, share, stale)

    def _lexical_search(self, query: str, where: ChunkFilter) -> SearchHits:
        """The lexical half alone."""
        asked = LexicalQuery(query_terms(query), (*query_identifiers(query), *unstemmed_words(query)))
        return self._store.search.lexical(asked, DEPTH, where) if asked.terms else _NO_HITS

    def _semantic_weight(self, query: str, lexical: Mapping[int, float]) -> float:
        if not lexical:
            return WEIGHT_ALL_TERMS_FOUND
        best = max(lexical, key=lambda number: (lexical[number], -number))
        row = self._store.files.chunks([best]).get(best)
        if row is None:
            return WEIGHT_ALL_TERMS_FOUND
        tokens = frozenset(tokenise(f"{row.chunk.title}\n{row.artifact.path}\n{row.chunk.text}"))
        terms = query_terms(query)
        whole = {term for word in unstemmed_words(query) if word in tokens for term in query_terms(word)}
        return semantic_weight(terms, tokens.union(whole).intersection(terms))

    ##= docs/spec/knowledge.md#km-search-requests
    ##% A time filter MUST leave out files that have no time, and the answer says so.
    def hides_undated(self, query: str, where: ChunkFilter, found: Candidates) -> bool:
        """Whether the filter left out a chunk only because it has no time that could be compared."""
        if where.updated_after is None:
            return False
        at_any_time = _scores(self._lexical_search(query, replace(where, updated_after=None)))
        left_out = [number for number in at_any_time if number not in found.lexical]
        places = self._store.files.chunk_headers(left_out, with_symbols=False)
        return any(place.artifact.git is None for place in places.values())

    def _vector(self, embedder: Embedder, query: str) -> Matrix:
        key = (embedder.model.name, query)
        with self._lock:
            known = self._vectors.get(key)
        if known is None:
            known = embedder.embed_query(query)
            with self._lock:
                self._vectors[key] = known
                if len(self._vectors) > MAX_CACHED_QUERIES:
                    self._vectors.popitem(last=False)
        return known


def _scores(found: SearchHits) -> dict[int, float]:
    return {hit.number: hit.score for hit in found.hits}


def _stale_generation(*halves: SearchHits) -> int | None:
    """The oldest generation among halves that have not followed the index."""
    return min((half.generation for half in halves if half.is_behind), default=None)
