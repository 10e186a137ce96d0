"""Lexical and vector search over chunks, with the two sidecars."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from contextive.knowledge.query_words import TermCounts
from contextive.store.sql import rows
from contextive.store.sql.database import SqlDatabase, handles_errors
from contextive.store.sql.filters import Filters
from contextive.store.sql.lexical import LexicalSidecar
from contextive.store.sql.progress import ProgressRow, read_progress
from contextive.store.sql.quantisation import normalised
from contextive.store.sql.vectors import VectorSidecar, read_vectors, score_exactly
from contextive.store.values import ChunkFilter, Discrepancy, LexicalQuery, PendingChunk, SearchHits, VectorModel

if TYPE_CHECKING:
    from contextive.store.protocol import Vector

_CATCH_UP_SECONDS = 600.0
_PENDING: Final = (
    "SELECT c.number, c.digest, c.title, c.text, a.path FROM chunk c JOIN artifact a ON a.number = c.artifact JOIN ("
    "  SELECT c.number, CASE WHEN a.type = 'doc' OR c.kind = 'requirement' THEN 0 WHEN a.type = 'test' THEN 4"
    "    WHEN a.type NOT IN ('code', 'proto') THEN 3 WHEN EXISTS (SELECT 1 FROM chunk_symbol h JOIN symbol s"
    "      ON s.number = h.symbol WHERE h.chunk = c.number AND substr(s.name, 1, 1) <> '_') THEN 1 ELSE 2 END AS importance"
    "  FROM chunk c JOIN artifact a ON a.number = c.artifact WHERE c.number NOT IN (SELECT chunk FROM vector WHERE model ="
    "    (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?))"
    "  ORDER BY importance, c.size, c.number LIMIT ?) p ON p.number = c.number ORDER BY p.importance, c.size, c.number"
)
"""Chunks without an embedding, in this order: documents, requirements and notes; code with a symbol that is not private;
other code; data and configuration; tests."""
HAS_VECTOR_PACKAGES: Final = find_spec("numpy") is not None and find_spec("simsimd") is not None
"""Whether the extra `vectors` is installed. Without it, stored embeddings are kept and not used."""


class SqlSearch:
    """Searches chunks. The sidecars are created when they are first needed."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._filters = Filters(database)
        self._lexical = LexicalSidecar(database, self._filters)
        self._vectors: dict[VectorModel, VectorSidecar] = {}
        self._guard = threading.Lock()

    @handles_errors
    def lexical(self, query: LexicalQuery, k: int, where: ChunkFilter) -> SearchHits:
        return self._lexical.search(query, k, where)

    @handles_errors
    def chunk_counts(self, terms: Collection[str]) -> TermCounts:
        return self._lexical.chunks_with(terms)

    ##= docs/spec/knowledge.md#ranking
    ##% Embeddings of different models MUST NOT be compared with each other.
    @handles_errors
    def dense(self, model: VectorModel, vector: Vector, k: int, where: ChunkFilter) -> SearchHits:
        known = self._database.read_one(
            "SELECT 1 FROM vector WHERE model = (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?) LIMIT 1",
            (model.name, model.dimensions),
        )
        if known is None:
            return SearchHits((), read_progress(self._database).generation)
        return self._sidecar(model).search(vector, k, where)

    def _sidecar(self, model: VectorModel) -> VectorSidecar:
        with self._guard:
            sidecar = self._vectors.get(model)
            if sidecar is None:
                sidecar = self._vectors[model] = VectorSidecar(self._database, self._filters, model)
        return sidecar

    @handles_errors
    def cosines(self, model: VectorModel, vector: Vector, numbers: Sequence[int]) -> Mapping[int, float]:
        found = read_vectors(self._database, model, [int(number) for number in numbers])
        return dict(zip(*score_exactly(found, normalised(vector)), strict=True))

    @handles_errors
    def pending_vectors(self, model: VectorModel, limit: int) -> tuple[PendingChunk, ...]:
        found = self._database.read(_PENDING, (model.name, model.dimensions, limit))
        return tuple(PendingChunk(number, rows.decode_digest(digest), *rest) for number, digest, *rest in found)

    @handles_errors
    def vector_counts(self) -> dict[VectorModel, int]:
        found = self._database.read(
            "SELECT m.name, m.dimensions, (SELECT count(*) FROM vector WHERE model = m.number) FROM vector_model m"
            " ORDER BY m.number"
        )
        return {VectorModel(name, dimensions): count for name, dimensions, count in found if count}

    # Sidecars

    def catch_up(self) -> None:
        """Update the sidecars to the last commit, however large the backlog is."""
        self._lexical.try_catch_up(_CATCH_UP_SECONDS)
        if HAS_VECTOR_PACKAGES:
            for model in self.vector_counts():
                self._sidecar(model).catch_up()

    def health(self, progress: ProgressRow) -> dict[str, Any]:
        """The state of the sidecars and warnings about them, as keys of the health report."""
        return {
            "lexical": self._lexical.health(progress),
            "vectors": {
                f"{model.name}/{model.dimensions}": {
                    "stored": count,
                    **(self._sidecar(model).health() if HAS_VECTOR_PACKAGES else {}),
                }
                for model, count in self.vector_counts().items()
            },
            "warnings": self._lexical.warnings(),
        }

    def verify(self) -> Iterator[Discrepancy]:
        """Sidecars that disagree with the database."""
        yield from self._lexical.verify()
        if HAS_VECTOR_PACKAGES:
            for model in self.vector_counts():
                yield from self._sidecar(model).verify()

    def close(self) -> None:
        self._lexical.close()
        with self._guard:
            for sidecar in self._vectors.values():
                sidecar.close()
            self._vectors.clear()
