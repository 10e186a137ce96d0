"""Raises the threshold of the garbage collector during ingest.

A run creates tens of thousands of rows without reference cycles. With the default threshold of 700 objects, the
search for cycles takes a tenth of a run.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

GC_THRESHOLD: Final = 50_000
"""Objects created between two collections; at most a few megabytes of garbage accumulate in between."""
_lock = threading.Lock()
_saved_thresholds: list[tuple[int, int, int]] = []
"""One entry per active block; the first is the original threshold."""


@contextmanager
def less_frequent_gc() -> Iterator[None]:
    """Collect garbage less often inside the block. The last of several blocks restores the original threshold."""
    with _lock:
        _saved_thresholds.append(gc.get_threshold())
        gc.set_threshold(GC_THRESHOLD)
    try:
        yield
    finally:
        with _lock:
            original = _saved_thresholds[0]
            _saved_thresholds.pop()
            if not _saved_thresholds:
                gc.set_threshold(*original)
