"""Memory that was freed, given back to the system.

The C library of Linux keeps what threads have freed, in many arenas apart. Each commit of the index of words frees much in
threads that end with it, so that a server would seem to grow for as long as files change. Two things keep it from that. What
is free inside an arena is handed over after each commit. At the end of an arena that call leaves everything; there the
library itself lets go of what is more than a threshold. It raises that threshold by itself, up to 64 MB for each arena, unless
somebody sets it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 1024 * 1024
"""What may stay at the end of an arena: as much as a search takes and frees again. A larger block has pages of its own, which
go with it."""


def trim_malloc() -> None:
    """Have the C library hand over what nobody uses; nothing happens where it knows no way."""
    trim = _function("malloc_trim", ctypes.c_size_t)
    if trim is not None:
        trim(0)


@cache
def lower_trim_threshold() -> None:
    """Have the C library keep little of what is freed from now on; nothing happens where it knows no way."""
    set_option = _function("mallopt", ctypes.c_int, ctypes.c_int)
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
        set_option(_MMAP_THRESHOLD, _KEPT_BYTES)


@cache
def _function(name: str, *arguments: type[ctypes._SimpleCData[int]]) -> Callable[..., int] | None:
    """A function of the C library, where there is one of that name."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    function.argtypes, function.restype = arguments, ctypes.c_int

    def call(*values: int) -> int:
        return int(function(*values))

    return call
