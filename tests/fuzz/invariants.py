"""The invariants of every parser for every input: declared errors only, bounded time, bounded output."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from tests.conventions.time_growth import TimeUp, processor_time_limit

from .targets import Target

SMALL_BYTES = 4096
SMALL_SECONDS = 1.0
"""Processor time, because the machine may be busy with something else."""
LARGE_SECONDS = 2.0
_SPARE = 20_000


class InvariantBroken(AssertionError):
    """An input breaks an invariant."""


def check(target: Target, data: bytes, seconds: float = SMALL_SECONDS) -> None:
    """Run a parser on one input and raise `InvariantBroken` if it breaks an invariant."""
    started = time.process_time()
    try:
        with processor_time_limit(seconds * 2):
            found = target.run(data)
            weight = weigh(found, bound := target.growth * len(data) + _SPARE)
    except target.errors as refusal:
        if len(str(refusal)) > 20_000:
            raise InvariantBroken(f"{target.name} refuses with {len(str(refusal))} characters") from None
    except TimeUp:
        raise InvariantBroken(f"{target.name} is still busy after {seconds * 2} s with {data[:200]!r}") from None
    except Exception as fault:
        raise InvariantBroken(f"{target.name} raises {type(fault).__name__}: {fault} for {data[:2000]!r}") from fault
    else:
        if weight > bound:
            raise InvariantBroken(
                f"{target.name} returns more than {bound} characters for {len(data)} bytes: {data[:200]!r}"
            )
    took = time.process_time() - started
    if took > seconds:
        raise InvariantBroken(f"{target.name} takes {took:.1f} s for {len(data)} bytes: {data[:200]!r}")


def weigh(value: Any, bound: int) -> int:
    """Return how many characters a value has if it is written out; stop counting beyond the bound."""
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
