"""Takes away from every Python process what Windows does not have, before anything of the product is imported.

The lock of a byte, which Windows has in place of `flock`, is a real lock of the system here as well (`lockf`).
"""

import asyncio  # noqa: F401 - these ask for parts of their own system when they are imported
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
        raise OSError("the functions of the system, such as inotify, cannot be called")
    return _load_library(name, *arguments, **options)  # type: ignore[arg-type]


ctypes.CDLL = _load  # type: ignore[assignment,misc]
_msvcrt = types.ModuleType("msvcrt")
_msvcrt.LK_NBLCK = 2  # type: ignore[attr-defined]
_msvcrt.locking = lambda descriptor, _mode, count: os.lockf(descriptor, os.F_TLOCK, count)  # type: ignore[attr-defined]
sys.modules["msvcrt"] = _msvcrt
