"""How close requirements are in meaning to a query, from the embeddings of an index that already exists.

It never starts an ingest and writes nothing: each requirement is a chunk of the index, and those that are not indexed, or
that changed since, are found by their words alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from contextive.errors import ContextiveError
from contextive.search.embedding.protocol import Embedder
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter
from contextive.trace.catalog import TraceCatalog

logger = logging.getLogger(__name__)

DEPTH: Final = 100
"""The most chunks that are taken from the index."""
MIN_COSINE: Final = 0.35
"""Requirements below this are not about the query. On questions about other topics, the best one had at most 0.2."""


class RequirementMeaning:
    """Compares requirements with queries by their embeddings."""

    def __init__(
        self, open_store: Callable[[], Store | None], embedder: Callable[[], Callable[[], Embedder] | None]
    ) -> None:
        """`open_store` returns None if there is no index, and `embedder` None if embeddings are turned off."""
        self._open_store = open_store
        self._embedder = embedder
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._chunks: tuple[TraceCatalog, Mapping[str, Sequence[int]]] | None = None

    def cosines(self, catalog: TraceCatalog, query: str) -> Mapping[int, float]:
        """The similarity of requirements to a query, by their position in the catalog. Empty if nothing is known."""
        try:
            return self._cosines(catalog, query)
        except ContextiveError as error:
            logger.debug("requirements are searched by words only: %s", error)
            with self._lock:
                self._store = None
            return {}

    def _cosines(self, catalog: TraceCatalog, query: str) -> Mapping[int, float]:
        store = self._opened_store()
        load = self._embedder() if store is not None and store.search.vector_counts() else None
        if store is None or load is None:
            return {}
        chunks, embedder = self._chunks_of(catalog), load()
        paths = tuple({chunk_id.partition("::")[0] for chunk_id in chunks})
        hits = store.search.dense(embedder.model, embedder.embed_query(query), DEPTH, ChunkFilter(paths=paths)).hits
        rows = store.files.chunks([hit.number for hit in hits if hit.score >= MIN_COSINE])
        return {
            number: hit.score
            for hit in hits
            if hit.number in rows
            for number in chunks.get(rows[hit.number].chunk.chunk_id, ())
        }

    def _opened_store(self) -> Store | None:
        with self._lock:
            if self._store is None:
                self._store = self._open_store()
            return self._store

    def _chunks_of(self, catalog: TraceCatalog) -> Mapping[str, Sequence[int]]:
        """The positions of the requirements with each chunk id."""
        known = self._chunks
        if known is None or known[0] is not catalog:
            from contextive.knowledge.trace_layer import requirement_chunk_id

            positions: dict[str, list[int]] = {}
            for number, requirement in enumerate(catalog.requirements):
                positions.setdefault(requirement_chunk_id(catalog, requirement), []).append(number)
            known = self._chunks = catalog, positions
        return known[1]
