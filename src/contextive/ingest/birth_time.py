"""When a file was made, where the system can tell; else when it was last changed."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from functools import cache
from typing import Any

_AT_CURRENT_FOLDER = -100
_BIRTH_WANTED = 0x800
_MASK = struct.Struct("I")
_BIRTH = struct.Struct("qI")
_BIRTH_OFFSET = 80
_BUFFER_SIZE = 256


def birth_time(path: str) -> float | None:
    """Seconds since the epoch; None where there is no such file."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    born: float | None = getattr(found, "st_birthtime", None) or _from_kernel(path)
    return born or found.st_mtime


def _from_kernel(path: str) -> float | None:
    """The birth time that Linux knows and Python does not ask for (statx)."""
    statx = _statx()
    if statx is None:
        return None
    buffer = ctypes.create_string_buffer(_BUFFER_SIZE)
    if statx(_AT_CURRENT_FOLDER, os.fsencode(path), 0, _BIRTH_WANTED, buffer) != 0:
        return None
    if not _MASK.unpack_from(buffer.raw)[0] & _BIRTH_WANTED:
        return None
    seconds, nanoseconds = _BIRTH.unpack_from(buffer.raw, _BIRTH_OFFSET)
    return float(seconds + nanoseconds / 1e9)


@cache
def _statx() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):
        return None
