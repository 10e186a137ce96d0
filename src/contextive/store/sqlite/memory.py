"""Memory that was freed, given back to the system.

The C library of Linux keeps what threads have freed, in many arenas apart. Each commit of the index of words frees much in
threads that end with it, so that a server would seem to grow for as long as files change.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Have the C library hand over what nobody uses; nothing happens where it knows no way."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    trim.argtypes, trim.restype = (ctypes.c_size_t,), ctypes.c_int

    def hand_over(kept: int) -> int:
        return int(trim(kept))

    return hand_over
