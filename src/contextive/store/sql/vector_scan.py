"""The arithmetic of a vector scan: dot products of a query with all rows, and which rows could be among the best."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from contextive.store.sql.filters import Numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROUNDING = 5e-4
"""Bound on the rounding error of floating-point sums."""
_SCAN_THREADS = 4
_MANY_ROWS = 20_000
"""A scan of at least this many rows uses several threads."""
_STRIPES = 64
_BATCH = 4_000


def kth_best(scores: NDArray[np.float32], k: int) -> float:
    """The k-th best score. There must be more than k scores."""
    import numpy as np

    width = len(scores) // _STRIPES
    if width > 4 * k:
        # The maxima of the stripes are fast to find. A score below the k-th best of them is below the k-th best of
        # all.
        best = scores[: width * _STRIPES].reshape(_STRIPES, width).max(axis=0)
        scores = scores[scores >= np.partition(best, width - k)[width - k]]
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def possible_top_k(scores: NDArray[np.float32], errors: NDArray[np.float32], k: int, slack: float) -> NDArray[Any]:
    """Positions that could be among the k best, given that each score may be off by its own error, and that the
    difference of two scores may be off by a further `slack`."""
    import numpy as np

    least = kth_best(scores - errors, k) - slack - ROUNDING
    return np.flatnonzero(scores + errors >= max(least, -3.0))


def top_scored(chosen: NDArray[Any], scores: NDArray[np.float32], limit: int) -> NDArray[Any]:
    """The chosen positions with the highest scores, at most `limit`."""
    import numpy as np

    if len(chosen) <= limit:
        return chosen
    return chosen[np.argpartition(scores[chosen], len(chosen) - limit)[-limit:]]


def membership(values: NDArray[Any], allowed: Numbers | NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which values are in `allowed`. Uses a lookup table, because the numbers are small and dense."""
    import numpy as np

    numbers = np.asarray(allowed, dtype=np.int64)
    top = int(max(values.max(initial=0), numbers.max(initial=0)))
    table = np.zeros(top + 1, dtype=bool)
    table[numbers] = True
    inside: NDArray[np.bool_] = table[np.maximum(values, 0)] & (values > 0)
    return inside


def dot_products(query: NDArray[np.int8], matrix: NDArray[np.int8]) -> NDArray[np.float32]:
    """The dot products of the query with all rows."""
    import numpy as np

    if not len(matrix):
        return np.empty(0, dtype=np.float32)
    try:
        import simsimd
    except ImportError:
        return _dot_products_numpy(query, matrix)
    # An int32 result takes half as long as a float one; simsimd's type stubs do not list this option.
    threads = min(_SCAN_THREADS, os.cpu_count() or 1) if len(matrix) >= _MANY_ROWS else 1
    products = simsimd.cdist(query, matrix, metric="dot", out_dtype="int32", threads=threads)  # type: ignore[arg-type]
    return np.asarray(products).reshape(-1).astype(np.float32)


def _dot_products_numpy(query: NDArray[np.int8], matrix: NDArray[np.int8]) -> NDArray[np.float32]:
    """The dot products computed with numpy, in batches to save memory."""
    import numpy as np

    float_query = query[0].astype(np.float32)
    parts = [matrix[start : start + _BATCH].astype(np.float32) @ float_query for start in range(0, len(matrix), _BATCH)]
    return np.concatenate(parts)
