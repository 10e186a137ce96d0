"""The chunks that may answer a query: the best by words and the best by meaning."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from contextive.errors import Unavailable, UpstreamError
from contextive.knowledge.tokens import identifiers, query_terms, tokenise, unstemmed
from contextive.search.answer import Mode
from contextive.search.balance import SHARED, share_of_meaning
from contextive.search.embedding.protocol import Embedder
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter, Found, LexicalQuery

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

DEPTH: Final = 100
"""Hits that each half gives; the order is made of their union."""
REMEMBERED_QUERIES: Final = 256
_NOTHING: Final = Found((), 0)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What both halves found, by chunk number."""

    lexical: Mapping[int, float]
    cosines: Mapping[int, float]
    model: str | None = None
    """Name of the model that the query was embedded with."""
    missing: str | None = None
    """A sentence that says why there are no vectors."""
    meaning: float = 0.5
    """How much meaning should count beside words, between 0 and 1."""
    behind: int | None = None
    """The generation that was searched, where the index has come further; None where this is the present."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A query as a model understands it, or a sentence that says why none does."""

    vector: tuple[Embedder, Matrix] | None = None
    missing: str | None = None


class CandidateFinder:
    """Asks a store and a model for candidates. The filter narrows both halves before they are cut."""

    def __init__(self, store: Store, embedder: Callable[[], Embedder] | None) -> None:
        self._store = store
        self._embedder = embedder
        self._vectors: OrderedDict[tuple[str, str], Matrix] = OrderedDict()
        self._lock = threading.Lock()

    ##= docs/spec/knowledge.md#ranking
    ##% Without vectors a search MUST go on by words, with a warning where there should be some.
    def understand(self, query: str, mode: Mode) -> Meaning:
        """What a query means. The model may be far away: this may take a while."""
        if mode == "lexical" or self._embedder is None:
            return Meaning()
        try:
            embedder = self._embedder()
            return Meaning((embedder, self._vector(embedder, query)))
        except (Unavailable, UpstreamError) as error:
            return Meaning(missing=error.message)

    ##= docs/spec/knowledge.md#requests-of-km-search
    ##% Filters MUST narrow what is searched and not what was found.
    def find(self, query: str, meaning: Meaning, where: ChunkFilter, mode: Mode) -> Candidates:
        """The candidates for a query. A model that cannot be used leaves the words."""
        words = self._by_words(query, where) if mode != "dense" else _NOTHING
        lexical = _scores(words)
        if meaning.vector is None:
            return Candidates(lexical, {}, missing=meaning.missing, behind=_behind(words))
        embedder, vector = meaning.vector
        near = self._store.search.dense(embedder.model, vector, DEPTH, where)
        cosines = _scores(near)
        beside = [number for number in lexical if number not in cosines]
        if beside:
            cosines |= self._store.search.cosines(embedder.model, vector, beside)
        missing = None if cosines or not lexical else "No vectors have been made yet."
        share, behind = self._share_of_meaning(query, lexical), _behind(words, near)
        return Candidates(lexical, cosines, embedder.model.name, missing, share, behind)

    def _by_words(self, query: str, where: ChunkFilter) -> Found:
        """The lexical half alone."""
        asked = LexicalQuery(query_terms(query), (*identifiers(query), *unstemmed(query)))
        return self._store.search.lexical(asked, DEPTH, where) if asked.terms else _NOTHING

    def _share_of_meaning(self, query: str, lexical: Mapping[int, float]) -> float:
        if not lexical:
            return SHARED
        best = max(lexical, key=lambda number: (lexical[number], -number))
        row = self._store.files.chunks([best]).get(best)
        if row is None:
            return SHARED
        tokens = frozenset(tokenise(f"{row.chunk.title}\n{row.artifact.path}\n{row.chunk.text}"))
        terms = query_terms(query)
        whole = {term for word in unstemmed(query) if word in tokens for term in query_terms(word)}
        return share_of_meaning(terms, tokens.union(whole).intersection(terms))

    ##= docs/spec/knowledge.md#requests-of-km-search
    ##% A filter by time MUST leave out what has no time, and the answer says so.
    def hides_undated(self, query: str, where: ChunkFilter, found: Candidates) -> bool:
        """Whether the filter left out a chunk only because it has no time that could be compared."""
        if where.updated_after is None:
            return False
        at_any_time = _scores(self._by_words(query, replace(where, updated_after=None)))
        left_out = [number for number in at_any_time if number not in found.lexical]
        places = self._store.files.places(left_out, with_symbols=False)
        return any(place.artifact.git is None for place in places.values())

    def _vector(self, embedder: Embedder, query: str) -> Matrix:
        key = (embedder.model.name, query)
        with self._lock:
            known = self._vectors.get(key)
        if known is None:
            known = embedder.embed_query(query)
            with self._lock:
                self._vectors[key] = known
                if len(self._vectors) > REMEMBERED_QUERIES:
                    self._vectors.popitem(last=False)
        return known


def _scores(found: Found) -> dict[int, float]:
    return {hit.number: hit.score for hit in found.hits}


def _behind(*halves: Found) -> int | None:
    """The oldest generation among halves that have not followed the index."""
    return min((half.generation for half in halves if half.is_behind), default=None)
