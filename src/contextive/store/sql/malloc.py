"""Returns freed memory to the operating system.

glibc keeps freed memory in several arenas. Each commit of the lexical index frees a lot of memory in threads that
then end, so a server would seem to grow for as long as files change. Two calls prevent that. `malloc_trim` after each
commit releases what is free inside the arenas. It does not release what is free at the end of an arena: there glibc
releases whatever exceeds a threshold, which it raises by itself, up to 64 MB for each arena, unless it is set.
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
"""How much may stay free at the end of an arena: about what a search allocates and frees. Larger blocks have their
own pages, which are released with them."""


def trim_malloc() -> None:
    """Release unused memory to the operating system; does nothing if the C library cannot do so."""
    trim = _function("malloc_trim", ctypes.c_size_t)
    if trim is not None:
        trim(0)


@cache
def lower_trim_threshold() -> None:
    """Make the C library keep little of the memory freed from now on; does nothing if it cannot do so."""
    set_option = _function("mallopt", ctypes.c_int, ctypes.c_int)
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
        set_option(_MMAP_THRESHOLD, _KEPT_BYTES)


@cache
def _function(name: str, *arguments: type[ctypes._SimpleCData[int]]) -> Callable[..., int] | None:
    """A function of the C library; None if there is no such function."""
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
