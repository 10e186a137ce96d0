"""For any input a parser returns a bounded result or raises one of its own errors, in bounded time."""

from __future__ import annotations

import random
import time

import pytest

from .bombs import bombs_of
from .corpus import seeds_of
from .invariants import LARGE_SECONDS, InvariantBroken, check, weigh
from .mutation import mutated
from .targets import TARGETS, Target
from .wrong_types import TARGETS as DOCUMENTS
from .wrong_types import retyped

MUTATING_SECONDS = 8.0
"""For all parsers together, so that CI time does not grow with new parsers."""

EVERY = pytest.mark.parametrize("name", sorted(TARGETS))


@EVERY
def test_every_input_of_the_corpus_keeps_the_invariants(name: str) -> None:
    for seed in seeds_of(name):
        check(TARGETS[name], seed)


@EVERY
def test_mutated_inputs_keep_the_invariants(name: str) -> None:
    seeds, source = seeds_of(name), random.Random(name)  # the same order of inputs in every run
    ends = time.monotonic() + MUTATING_SECONDS / len(TARGETS)
    while time.monotonic() < ends:
        check(TARGETS[name], mutated(source, seeds))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_values_of_wrong_types_keep_the_invariants(name: str) -> None:
    tried = 0
    for data in retyped(name):
        check(TARGETS[name], data)
        tried += 1
    assert tried > 20


@EVERY
def test_large_inputs_keep_the_invariants(name: str) -> None:
    for bomb in bombs_of(name):
        check(TARGETS[name], bomb, LARGE_SECONDS)


def _loops(data: bytes) -> object:
    while data:
        pass
    return None


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Target("raises", lambda data: data.decode("ascii")), "raises UnicodeDecodeError"),
        (Target("grows", lambda data: [data] * 1_000_000), "returns more than"),
        (Target("loops", _loops), "still busy"),
    ],
    ids=lambda value: value.name if isinstance(value, Target) else "",
)
def test_a_parser_that_breaks_an_invariant_is_detected(target: Target, message: str) -> None:
    with pytest.raises(InvariantBroken, match=message):
        check(target, b"\xff" * 10, 0.1)


def test_a_value_that_contains_itself_exceeds_any_weight() -> None:
    value: list[object] = []
    value.append(value)
    assert weigh(value, 1000) > 1000
