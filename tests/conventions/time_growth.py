"""Measure whether processing time grows linearly with the length of a text."""

from __future__ import annotations

import contextlib
import gc
import signal
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import FrameType
from typing import Any

SIZES = (16_384, 32_768, 65_536)
LARGEST_RATIO = 2.6
"""How much longer twice the text may take: 2 is linear, 4 is quadratic, and measurements are noisy."""
SHORTEST_SECONDS = 0.002
"""Shorter measurements mean nothing."""
_PROBES = ((256, 0.0), (1024, 0.0), (4096, 0.000_03), (16_384, 0.000_5))
"""Sizes, and the shortest time that a run can take there if it is quadratic and slow at the end."""
_CLEAR_SECONDS = 0.02
"""If one of the first sizes takes this long, the result is clear without the larger ones."""
_CLEAR_RATIO = 10.0
_STEADY_RATIO = 4.4
"""Four times the text may take this much longer: growth above 2.6 at a later doubling is above 4.6 here."""
_LONG_SECONDS = 0.1
_FIRST_SECONDS = 0.000_02
_MOST_SECONDS = 5.0


class TimeUp(BaseException):
    """Raised by the timer. It is not an Exception, so nothing catches it."""


@contextlib.contextmanager
def processor_time_limit(seconds: float) -> Iterator[None]:
    """Stop the block after this much processor time. This interrupts regular expressions, too."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def why_not_linear(run: Callable[[str], object], text_of: Callable[[int], str], times: int = 2) -> str | None:
    """Return None if twice the text takes about twice the time, else the measurements."""
    try:
        with processor_time_limit(_MOST_SECONDS):
            return _measured(run, text_of, times)
    except TimeUp:
        return f"still busy after {_MOST_SECONDS} s"


def _measured(run: Callable[[str], object], text_of: Callable[[int], str], times: int) -> str | None:
    before = 0.0
    for size, seconds in _PROBES:
        text = text_of(size)
        took = best(run, text, 1)
        if took < seconds or _is_steady(size, before, took):
            return None
        if seconds and took > _FIRST_SECONDS:  # the machine may have been busy
            took = min(took, best(run, text, 2))
            if took < seconds or _is_steady(size, before, took):
                return None
        if (
            before
            and took > (_CLEAR_SECONDS if size > 1024 else 50 * _CLEAR_SECONDS)
            and (took := best(run, text, times)) > before * _CLEAR_RATIO
        ):
            return f"{before:.4f} s for {size // 4} characters, {took:.4f} s for {size}"
        before = took
    message: str | None = None
    for _ in range(3):  # the machine may have been busy: only three slow measurements count
        message = _judge(run, text_of, times)
        if message is None:
            break
    return message


def _is_steady(size: int, before: float, took: float) -> bool:
    """Whether the last probe took at most as much longer than the one before as linear growth allows."""
    return size == SIZES[0] and took < before * _STEADY_RATIO


def _judge(run: Callable[[str], object], text_of: Callable[[int], str], times: int) -> str | None:
    before = best(run, text_of(SIZES[0]), times)
    for smaller, size in pairwise(SIZES):
        took = best(run, text_of(size), times)
        if before >= SHORTEST_SECONDS and took > before * LARGEST_RATIO:
            return f"{before:.4f} s for {smaller} characters, {took:.4f} s for {size}"
        before = took
    return None


def best(run: Callable[[str], object], text: str, times: int) -> float:
    """Return the shortest of several runs in seconds of thread time. A slow one is repeated less often."""
    shortest = 1e9
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(times):
            started = time.thread_time()
            run(text)
            shortest = min(shortest, time.thread_time() - started)
            if shortest > _LONG_SECONDS:
                break
    finally:
        if gc_was_on:
            gc.enable()
    return shortest


def runner(pattern: Any, method: str) -> Callable[[str], object]:
    """Return a function that applies one method of a pattern to a text."""
    is_bytes = isinstance(pattern.pattern, bytes)
    apply: Callable[[Any], object]
    if method == "sub":
        replacement = b"" if is_bytes else ""
        apply = lambda text: pattern.sub(replacement, text)  # noqa: E731
    elif method == "finditer":
        apply = lambda text: sum(1 for _ in pattern.finditer(text))  # noqa: E731
    else:
        apply = getattr(pattern, method)
    return (lambda text: apply(text.encode("utf-8", "replace"))) if is_bytes else apply
