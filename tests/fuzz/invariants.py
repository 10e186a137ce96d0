"""What holds for every parser and every input: its own errors only, a bounded time, a bounded output."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import FrameType
from typing import Any

from pydantic import BaseModel

from .targets import Target

SMALL_BYTES = 4096
SMALL_SECONDS = 1.0
"""Processor time, not time by the clock: the machine may be busy with something else."""
LARGE_SECONDS = 2.0
_SPARE = 20_000


class InvariantBroken(AssertionError):
    """A law does not hold for an input."""


class _Late(BaseException):
    """Not an Exception, so that no parser can catch it."""


def check(target: Target, data: bytes, seconds: float = SMALL_SECONDS) -> None:
    """Give one input to a parser; raises `InvariantBroken` where a law does not hold."""
    started = time.process_time()
    try:
        with _processor_time(seconds * 2):
            found = target.run(data)
            weight = weigh(found, bound := target.growth * len(data) + _SPARE)
    except target.errors as refusal:
        if len(str(refusal)) > 20_000:
            raise InvariantBroken(f"{target.name} refuses with {len(str(refusal))} characters") from None
    except _Late:
        raise InvariantBroken(f"{target.name} is still busy after {seconds * 2} s with {data[:200]!r}") from None
    except Exception as fault:
        raise InvariantBroken(f"{target.name} raises {type(fault).__name__}: {fault} for {data[:2000]!r}") from fault
    else:
        if weight > bound:
            raise InvariantBroken(
                f"{target.name} makes more than {bound} characters of {len(data)} bytes: {data[:200]!r}"
            )
    took = time.process_time() - started
    if took > seconds:
        raise InvariantBroken(f"{target.name} takes {took:.1f} s for {len(data)} bytes: {data[:200]!r}")


@contextlib.contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def weigh(value: Any, bound: int) -> int:
    """How many characters a value would come to if all of it were written out; stops behind the bound."""
    total, waiting = 0, [value]
    while waiting and total <= bound:
        found = waiting.pop()
        total += 1
        match found:
            case str() | bytes():
                total += len(found)
            case Mapping():
                waiting.extend(found.keys())
                waiting.extend(found.values())
            case BaseModel():
                waiting.append(found.model_dump())
            case _ if dataclasses.is_dataclass(found):
                waiting.extend(getattr(found, field.name) for field in dataclasses.fields(found))
            case Iterable():
                waiting.extend(found)
            case _ if type(found).__module__.startswith("contextive.") and not isinstance(found, Enum):
                waiting.extend(getattr(found, name) for name in getattr(found, "__slots__", None) or vars(found))
    return total
