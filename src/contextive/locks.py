"""File locks for Unix and Windows. The system releases them when the process dies."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import Any

try:
    fcntl: Any = import_module("fcntl")
except ImportError:  # Windows
    fcntl = None

_WINDOWS_OFFSET = 1 << 30
"""Windows locks bytes, not files, and locked bytes cannot be read. So we lock a byte far beyond the content."""


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Try to take the lock, exclusive or shared; True on success. OSError if the file system has no locks."""
    if fcntl is None:
        return _try_lock_byte(descriptor)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    """Release the lock. Closing the handle is not enough: a process forked in the meantime has a copy of it."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _try_lock_byte(descriptor: int) -> bool:
    msvcrt: Any = import_module("msvcrt")
    os.lseek(descriptor, _WINDOWS_OFFSET, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True
