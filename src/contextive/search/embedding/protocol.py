"""What search and the embedding worker ask of a model that turns text into vectors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from contextive.store.values import VectorModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

_TELEMETRY_OFF: Final = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime
    "HF_HUB_DISABLE_TELEMETRY": "1",  # what sentence-transformers and fastembed download with
    "DO_NOT_TRACK": "1",
}


class Embedder(Protocol):
    """A loaded model. Its vectors have length one, so that their product is the cosine."""

    @property
    def model(self) -> VectorModel:
        """Name and dimensions, as they are kept with the vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row for each text."""
        ...

    def embed_query(self, text: str) -> Matrix:
        """The vector of a question, of one dimension."""
        ...


def normalise_rows(rows: Matrix) -> Matrix:
    """Rows of length one. A row of zeros stays as it is."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def disable_telemetry() -> None:
    """Switch off the reports that some libraries send to their makers. Call it before the first of them is imported."""
    os.environ.update(_TELEMETRY_OFF)
