"""Vectors as bytes: half precision in the database, eight bits per number in the vector index (a sidecar)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contextive.errors import InternalError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STEPS = 127
_MAX_ERROR_STEPS = 1.75
"""Bound on the error of a dot product with a unit vector, in steps: six standard deviations of the rounding error. One
standard deviation is sqrt(1/12) of a step. With twelve dimensions or fewer, the error is always below this bound."""


def encode_vector(vector: NDArray[np.float32]) -> bytes:
    """The vector scaled to length one, in half precision. A zero vector stays zero, and is similar to nothing."""
    import numpy as np

    values = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(values))
    if not np.isfinite(length):
        raise InternalError("A vector contains numbers that are not finite.")
    return (values / length if length > 0 else values).astype("<f2").tobytes()


def decode_vectors(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """The vectors as the rows of a matrix."""
    import numpy as np

    return np.frombuffer(b"".join(blobs), dtype="<f2").astype(np.float32).reshape(len(blobs), dimensions)


def normalised(vector: Any) -> NDArray[np.float32]:
    """The vector scaled to length one; zeros if its length is zero or not finite."""
    import numpy as np

    values = np.asarray(vector, dtype=np.float32).reshape(-1)
    length = float(np.linalg.norm(values))
    return values / length if length > 0 and np.isfinite(length) else np.zeros_like(values)


def quantise(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
    """The rows in eight bits per number, the step size of each row, and the distance of each row from its original."""
    import numpy as np

    scales = np.abs(matrix).max(axis=1, initial=0.0) / _STEPS
    step_sizes = np.where(scales > 0, scales, 1.0).astype(np.float32)
    steps = np.rint(matrix / step_sizes[:, None]).astype(np.int8)
    errors: NDArray[np.float32] = np.linalg.norm(matrix - steps.astype(np.float32) * step_sizes[:, None], axis=1)
    return steps, step_sizes, errors


def error_bound(scales: NDArray[np.float32], errors: NDArray[np.float32]) -> NDArray[np.float32]:
    """By how much the dot product of each row with a unit vector may be off."""
    import numpy as np

    bounds: NDArray[np.float32] = np.minimum(errors, _MAX_ERROR_STEPS * scales)
    return bounds
