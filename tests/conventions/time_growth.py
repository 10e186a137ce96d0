"""Whether the time for a text grows with the text, or faster."""

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
"""Twice the text may take this many times as long: 2 is linear, 4 is quadratic, and a busy machine is never exact."""
JUDGED_SECONDS = 0.002
"""Below that a clock says nothing."""
_PROBES = ((256, 0.0), (1024, 0.0), (4096, 0.000_03), (16_384, 0.000_5))
"""A quadratic run that is judged at the end cannot be quicker than this before."""
_CLEAR_SECONDS = 0.02
"""So long for one of the first sizes is judged at once: nobody has to wait for the larger ones."""
_CLEAR_RATIO = 10.0
_STEADY_RATIO = 4.4
"""Four times the text in less than that: what grows by more than 2.6 at a later doubling grows by 4.6 here."""
_LONG_SECONDS = 0.3
_FIRST_SECONDS = 0.000_02
_MOST_SECONDS = 5.0


class _Late(BaseException):
    """Raised by the clock: not an Exception, so that nothing catches it."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Ends what takes more than so many seconds of the processor. Even a regular expression is interrupted."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def why_not_linear(run: Callable[[str], object], text_of: Callable[[int], str], times: int = 3) -> str | None:
    """None where twice the text takes about twice the time; else what was measured."""
    try:
        with _limited(_MOST_SECONDS):
            return _measured(run, text_of, times)
    except _Late:
        return f"still busy after {_MOST_SECONDS} s"


def _measured(run: Callable[[str], object], text_of: Callable[[int], str], times: int) -> str | None:
    before = 0.0
    for size, seconds in _PROBES:
        text = text_of(size)
        took = best(run, text, 1)
        if took < seconds or (took > _FIRST_SECONDS and (took := best(run, text, 2)) < seconds):
            return None
        if (
            before
            and took > (_CLEAR_SECONDS if size > 1024 else 50 * _CLEAR_SECONDS)
            and (took := best(run, text, times)) > before * _CLEAR_RATIO
        ):
            return f"{before:.4f} s for {size // 4} characters, {took:.4f} s for {size}"
        if size == SIZES[0] and took < before * _STEADY_RATIO:
            return None
        before = took
    said: str | None = None
    for _ in range(3):  # the machine may have been busy: only what is too slow three times is too slow
        said = _judge(run, text_of, times)
        if said is None:
            break
    return said


def _judge(run: Callable[[str], object], text_of: Callable[[int], str], times: int) -> str | None:
    before = best(run, text_of(SIZES[0]), times)
    for smaller, size in pairwise(SIZES):
        took = best(run, text_of(size), times)
        if before >= JUDGED_SECONDS and took > before * LARGEST_RATIO:
            return f"{before:.4f} s for {smaller} characters, {took:.4f} s for {size}"
        before = took
    return None


def best(run: Callable[[str], object], text: str, times: int) -> float:
    """The shortest of some runs, in seconds of this thread. One that takes long is not repeated as often."""
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
    """How a pattern is applied to a text by one of its methods."""
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
