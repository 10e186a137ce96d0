"""Vectors as bytes: half precision in the database, eight bits in the sidecar that is scanned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contextive.errors import InternalError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STEPS = 127
_MAX_ERROR_STEPS = 1.75
"""How many steps a product with a vector of length one may be off: six times the deviation of rounding, which is the root
of a twelfth of a step. Where a vector has few parts, twelve or less, rounding cannot even reach that far."""


def encode_vector(vector: NDArray[np.float32]) -> bytes:
    """A vector of length one in half precision. A vector of zeros stays one, and is near to nothing."""
    import numpy as np

    whole = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(whole))
    if not np.isfinite(length):
        raise InternalError("A vector holds numbers that are not finite.")
    return (whole / length if length > 0 else whole).astype("<f2").tobytes()


def decode_vectors(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """The vectors as the rows of a matrix."""
    import numpy as np

    return np.frombuffer(b"".join(blobs), dtype="<f2").astype(np.float32).reshape(len(blobs), dimensions)


def normalised(vector: Any) -> NDArray[np.float32]:
    """The vector with length one; zeros when it has no direction."""
    import numpy as np

    whole = np.asarray(vector, dtype=np.float32).reshape(-1)
    length = float(np.linalg.norm(whole))
    return whole / length if length > 0 and np.isfinite(length) else np.zeros_like(whole)


def quantise(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
    """Rows in eight bits, what a step is worth in each, and how far at most each is now from where it was."""
    import numpy as np

    scales = np.abs(matrix).max(axis=1, initial=0.0) / _STEPS
    safe = np.where(scales > 0, scales, 1.0).astype(np.float32)
    steps = np.rint(matrix / safe[:, None]).astype(np.int8)
    errors: NDArray[np.float32] = np.linalg.norm(matrix - steps.astype(np.float32) * safe[:, None], axis=1)
    return steps, safe, errors


def error_bound(scales: NDArray[np.float32], errors: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far the product with a vector of length one may be off, for rows of that scale and error."""
    import numpy as np

    least: NDArray[np.float32] = np.minimum(errors, _MAX_ERROR_STEPS * scales)
    return least
