"""Freed memory is returned to the operating system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_BUSY_THREADS = """
import ctypes, sys, threading
from pathlib import Path
from contextive.store.sql.malloc import trim_malloc
from contextive.store.sql.tantivy_engine import TantivyEngine

MEGABYTE = 1024 * 1024
library = ctypes.CDLL(None)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
library.free.argtypes = (ctypes.c_void_p,)


def use(size):
    block = library.malloc(size)
    ctypes.memset(block, 1, size)
    return block


def own_memory():
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) * 1024


TantivyEngine(Path(sys.argv[1]), create=True)
# After a large block is freed, the C library keeps as much in each arena, unless its threshold is set.
library.free(use(24 * MEGABYTE))
together = threading.Barrier(8)


def work():
    together.wait()
    blocks = [use(MEGABYTE // 2) for _ in range(16)]
    together.wait()
    for block in blocks:
        library.free(block)
    together.wait()


before = own_memory()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
trim_malloc()
print((own_memory() - before) // MEGABYTE)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses functions of glibc")
def test_memory_freed_by_threads_is_returned_to_the_system(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", _BUSY_THREADS, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(finished.stdout) < 16, "MB are kept of the 64 that were freed"
