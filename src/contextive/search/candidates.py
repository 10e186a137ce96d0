"""Candidates for a query: the best chunks of lexical search and of semantic search."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from contextive.errors import Unavailable, UpstreamError
from contextive.knowledge.tokeniser import query_terms, tokenise, unstemmed_words
from contextive.search.answer import Mode
from contextive.search.embedding.protocol import Embedder
from contextive.search.embedding_worker import text_to_embed
from contextive.search.query_reading import ReadQuery, read_query
from contextive.search.semantic_weight import WEIGHT_ALL_TERMS_FOUND, semantic_weight
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter, LexicalQuery, SearchHits

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

DEPTH: Final = 100
"""Hits taken from each of the two searches; their union is ranked."""
MAX_CACHED_QUERIES: Final = 256
MAX_CACHED_CHUNKS: Final = 2_000
MAX_EMBEDDED: Final = 24
"""Candidates without an embedding that a search computes it for."""
EMBEDDING_SECONDS: Final = 0.15
"""How long a search computes embeddings."""
_NO_HITS: Final = SearchHits((), 0)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The hits of both searches, by chunk number."""

    lexical: Mapping[int, float]
    cosines: Mapping[int, float]
    asked: ReadQuery
    model: str | None = None
    """Name of the model that embedded the query."""
    no_vectors_reason: str | None = None
    """Message that explains why there was no semantic search."""
    semantic_weight: float = 0.5
    """Weight of the semantic score relative to the lexical one, between 0 and 1."""
    stale_generation: int | None = None
    """The generation that was searched if the index is already newer; None if the search was current."""


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """The embedding of a query, or the reason why there is none."""

    vector: tuple[Embedder, Matrix] | None = None
    no_vectors_reason: str | None = None


class _VectorCache:
    """The last vectors, by model and text or digest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._vectors: OrderedDict[tuple[str, str], Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, model: str, key: str, compute: Callable[[], Matrix]) -> Matrix:
        with self._lock:
            vector = self._vectors.get((model, key))
        if vector is None:
            vector = compute()
            with self._lock:
                self._vectors[model, key] = vector
                if len(self._vectors) > self._most:
                    self._vectors.popitem(last=False)
        return vector


class CandidateFinder:
    """Finds candidates. The filter is applied inside both searches, before their hits are limited."""

    def __init__(
        self, store: Store, embedder: Callable[[], Embedder] | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._queries = _VectorCache(MAX_CACHED_QUERIES)
        self._chunks = _VectorCache(MAX_CACHED_CHUNKS)

    ##= docs/spec/knowledge.md#ranking
    ##% Without embeddings, a search MUST fall back to lexical search, with a warning if embeddings were expected.
    def embed_query(self, query: str, mode: Mode) -> QueryEmbedding:
        """The embedding of a query. This can be slow: the model may be a remote service."""
        if mode == "lexical" or self._embedder is None:
            return QueryEmbedding()
        try:
            embedder = self._embedder()
            return QueryEmbedding(
                (embedder, self._queries.get(embedder.model.name, query, partial(embedder.embed_query, query)))
            )
        except (Unavailable, UpstreamError) as error:
            return QueryEmbedding(no_vectors_reason=error.message)

    ##= docs/spec/knowledge.md#km-search-requests
    ##% Filters MUST restrict what is searched, not the results of a search.
    def find(self, query: str, embedding: QueryEmbedding, where: ChunkFilter, mode: Mode) -> Candidates:
        """The candidates for a query; without an embedding, those of lexical search alone."""
        asked = read_query(query, self._store.search.chunk_counts)
        lexical_hits = self._lexical_search(asked.lexical, where) if mode != "dense" else _NO_HITS
        lexical = _scores(lexical_hits)
        if embedding.vector is None:
            stale = _stale_generation(lexical_hits)
            return Candidates(lexical, {}, asked, no_vectors_reason=embedding.no_vectors_reason, stale_generation=stale)
        embedder, vector = embedding.vector
        dense_hits = self._store.search.dense(embedder.model, vector, DEPTH, where)
        cosines = _scores(dense_hits)
        only_lexical = [number for number in lexical if number not in cosines]
        if only_lexical:
            cosines |= self._store.search.cosines(embedder.model, vector, only_lexical)
        cosines |= self._embed_missing(embedder, vector, [number for number in lexical if number not in cosines])
        weight, stale = self._semantic_weight(query, lexical), _stale_generation(lexical_hits, dense_hits)
        return Candidates(lexical, cosines, asked, embedder.model.name, None, weight, stale)

    ##= docs/spec/knowledge.md#ranking
    ##% While embeddings are missing, a search with the default model MUST compute those of its best candidates, for at most
    ##% 150 ms.
    def _embed_missing(self, embedder: Embedder, vector: Matrix, missing: Sequence[int]) -> dict[int, float]:
        """The cosines of the first chunks that have no stored embedding. Their embeddings are kept in memory."""
        if not missing or not embedder.is_fast:
            return {}
        end = self._clock() + EMBEDDING_SECONDS
        rows = self._store.files.chunks(missing[:MAX_EMBEDDED])
        cosines = {}
        for number in missing[:MAX_EMBEDDED]:
            if number in rows and self._clock() < end:
                chunk = rows[number].chunk
                text = text_to_embed(chunk.title, chunk.text)
                row = self._chunks.get(embedder.model.name, chunk.digest, partial(_embed_one, embedder, text))
                cosines[number] = float(row @ vector)
        return cosines

    def _lexical_search(self, query: LexicalQuery, where: ChunkFilter) -> SearchHits:
        return self._store.search.lexical(query, DEPTH, where) if query.terms else _NO_HITS

    def _semantic_weight(self, query: str, lexical: Mapping[int, float]) -> float:
        if not lexical:
            return WEIGHT_ALL_TERMS_FOUND
        best = max(lexical, key=lambda number: (lexical[number], -number))
        row = self._store.files.chunks([best]).get(best)
        if row is None:
            return WEIGHT_ALL_TERMS_FOUND
        tokens = frozenset(tokenise(f"{row.chunk.title}\n{row.artifact.path}\n{row.chunk.text}"))
        terms = query_terms(query)
        unstemmed = {term for word in unstemmed_words(query) if word in tokens for term in query_terms(word)}
        return semantic_weight(terms, tokens.union(unstemmed).intersection(terms))

    ##= docs/spec/knowledge.md#km-search-requests
    ##% A time filter MUST leave out files that have no time, and the answer says so.
    def hides_undated(self, where: ChunkFilter, found: Candidates) -> bool:
        """Whether the time filter left out a chunk because its file has no timestamp."""
        if where.updated_after is None:
            return False
        without_time_filter = _scores(self._lexical_search(found.asked.lexical, replace(where, updated_after=None)))
        left_out = [number for number in without_time_filter if number not in found.lexical]
        headers = self._store.files.chunk_headers(left_out, with_symbols=False)
        return any(header.artifact.git is None for header in headers.values())


def _embed_one(embedder: Embedder, text: str) -> Matrix:
    row: Matrix = embedder.embed([text])[0]
    return row


def _scores(found: SearchHits) -> dict[int, float]:
    return {hit.number: hit.score for hit in found.hits}


def _stale_generation(*searches: SearchHits) -> int | None:
    """The oldest generation among the searches that are behind the index."""
    return min((hits.generation for hits in searches if hits.is_behind), default=None)
