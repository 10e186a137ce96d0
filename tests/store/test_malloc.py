"""What was freed goes back to the system, as far as the system has a way for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_BUSY_THREADS = """
import ctypes, sys, threading
from pathlib import Path
from contextive.store.sqlite.malloc import trim_malloc
from contextive.store.sqlite.tantivy_engine import TantivyEngine

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
# A large block that is freed has the C library keep as much in each arena, unless it was told not to.
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the C library is told what to keep")
def test_what_threads_have_freed_does_not_stay_with_the_process(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _BUSY_THREADS, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(ended.stdout) < 16, "of 64"
