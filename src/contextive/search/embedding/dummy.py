"""Embeddings without a model, for tests and dry runs: fast, deterministic, and close for texts with common words."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from contextive.knowledge.tokeniser import tokenise
from contextive.search.embedding.protocol import normalise_rows
from contextive.store.values import VectorModel

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

DIMENSIONS: Final = 64


class DummyEmbedder:
    """Every token adds 1 to or subtracts 1 from one of 64 dimensions, chosen by its checksum."""

    model: VectorModel = VectorModel("dummy", DIMENSIONS)
    is_fast: bool = False
    """It is only for experiments, in which a missing embedding should stay missing."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token in tokenise(text):
                checksum = zlib.crc32(token.encode("utf-8"))
                row[checksum % DIMENSIONS] += 1 if checksum & 0x8000_0000 else -1
            if not row.any():
                row[0] = 1
        return normalise_rows(rows)

    def embed_query(self, text: str) -> Matrix:
        row: Matrix = self.embed([text])[0]
        return row
