"""The hook that makes writes fail. It is compiled here, loaded with LD_PRELOAD, and armed from inside the process."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

_SOURCES = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
CAN_BUILD = COMPILER is not None and sys.platform.startswith("linux")


def build(folder: Path, name: str = "fault") -> Path:
    """Compile the library."""
    assert COMPILER is not None
    library = folder / f"{name}.so"
    command = [
        COMPILER,
        "-O1",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        f"{name}.c",
        "-ldl",
        "-pthread",
    ]
    subprocess.run(command, cwd=_SOURCES, check=True, timeout=60)
    return library


def is_loaded() -> bool:
    return hasattr(ctypes.CDLL(None), "fault_arm")


def arm(root: Path, at: int, error: int = 0) -> None:
    """Kill the process at the `at`-th change below a directory, or let it and all later ones fail with an errno. 0
    only counts."""
    _library().fault_arm(os.fsencode(root), ctypes.c_long(at), error)


def disarm() -> None:
    _library().fault_disarm()


def count() -> int:
    """The number of changes since it was armed."""
    return int(_library().fault_count())


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.fault_count.restype = ctypes.c_long
    return library
