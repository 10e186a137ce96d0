"""The lock of an open file that the system takes away from a process that dies, on Unix and on Windows."""

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
"""Windows locks bytes and not files, and locked bytes cannot be read: so one far behind the content is locked."""


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Whether the lock is ours now, alone or with others. OSError where the file system knows no locks."""
    if fcntl is None:
        return _try_lock_byte(descriptor)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    """Give a lock back. To close the handle is not enough: a process that was forked meanwhile holds a copy."""
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
