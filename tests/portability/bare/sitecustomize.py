"""Remove from every Python process what Windows does not have, before Contextive is imported.

Windows locks bytes of a file instead of using `flock`. Here `msvcrt.locking` is a real lock, too (`lockf`).
"""

import asyncio  # noqa: F401 - these modules use the removed parts when they are imported
import ctypes
import multiprocessing.popen_fork  # noqa: F401
import os
import random  # noqa: F401
import subprocess  # noqa: F401
import sys
import types

import mcp.server.stdio  # noqa: F401

_MISSING = (
    "O_NONBLOCK", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "fork", "forkpty", "register_at_fork", "fchmod", "fchown",
    "memfd_create", "pread", "sched_getaffinity", "getuid", "geteuid", "getgid", "getegid",
)  # fmt: skip
for _name in _MISSING:
    delattr(os, _name)
os.supports_dir_fd = set()
os.supports_fd = set()
sys.modules["fcntl"] = None  # type: ignore[assignment]
_load_library = ctypes.CDLL


def _load(name: str | None, *arguments: object, **options: object) -> object:
    if name is None:
        raise OSError("system functions such as inotify are not available")
    return _load_library(name, *arguments, **options)  # type: ignore[arg-type]


ctypes.CDLL = _load  # type: ignore[assignment,misc]
_msvcrt = types.ModuleType("msvcrt")
_msvcrt.LK_NBLCK = 2  # type: ignore[attr-defined]
_msvcrt.locking = lambda descriptor, _mode, count: os.lockf(descriptor, os.F_TLOCK, count)  # type: ignore[attr-defined]
sys.modules["msvcrt"] = _msvcrt
