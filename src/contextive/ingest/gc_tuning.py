"""How often Python looks for objects that hold each other while a run makes rows by the ten thousand.

Rows hold no cycles, and looking for some after every seven hundred of them costs a tenth of a run.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

GC_THRESHOLD: Final = 50_000
"""Objects made between two looks. Some megabytes at most can wait that long."""
_lock = threading.Lock()
_saved_thresholds: list[tuple[int, int, int]] = []
"""One entry for each run that goes on; the first is what was set before all of them."""


@contextmanager
def less_frequent_gc() -> Iterator[None]:
    """Inside the block fewer looks are taken. Behind the last of several it is as it was before the first."""
    with _lock:
        _saved_thresholds.append(gc.get_threshold())
        gc.set_threshold(GC_THRESHOLD)
    try:
        yield
    finally:
        with _lock:
            usual = _saved_thresholds[0]
            _saved_thresholds.pop()
            if not _saved_thresholds:
                gc.set_threshold(*usual)
