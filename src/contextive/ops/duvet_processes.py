"""Two pieces of work at once, the second one in a process that is forked for it.

A report on a large project has pieces that need nothing of each other, and Python works on one piece at a time in a process.
A fork is the simplest way to two: the child sees all that was parsed so far without a copy, and gives back one text. Threads
would share the interpreter, and a pool of processes would have to be told everything anew. Where forking is not safe or not
possible, or there is one processor, both pieces are done here, one after the other. A child that fails leaves its piece to be
done here too, so that an error shows where it would show in one process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def at_once(first: Callable[[], T], second: Callable[[], str]) -> tuple[T, str]:
    """What both functions give. The second one may run in another process: all that counts of it is its text and its files."""
    if not _can_fork():
        return first(), second()
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no room for another process
        os.close(reading)
        os.close(writing)
        return first(), second()
    if child == 0:
        os.close(reading)  # else the child could not notice that nobody reads any more
        _give(second, writing)
    os.close(writing)
    try:
        with open(reading, "rb") as pipe:  # noqa: PTH123 - a handle; closing it early ends the child
            result = first()
            text = pipe.read().decode("utf-8", "surrogatepass")
    finally:
        _, status = os.waitpid(child, 0)
    return result, text if status == 0 else second()


def _give(work: Callable[[], str], handle: int) -> None:
    """The life of the child: nothing of the parent is flushed or cleaned up at its end."""
    code = 1
    try:
        data = work().encode("utf-8", "surrogatepass")
        with open(handle, "wb") as pipe:
            pipe.write(data)
        code = 0
    finally:
        os._exit(code)


def _can_fork() -> bool:
    """Whether a fork is safe, which it is not beside other threads or with the system libraries of macOS, and pays."""
    if not hasattr(os, "fork") or sys.platform == "darwin" or _processors() < 2:
        return False
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
