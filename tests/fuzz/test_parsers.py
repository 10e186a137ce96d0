"""No input does worse to a parser than one of its own errors, in a bounded time and with a bounded result."""

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
"""For all parsers together, so that CI takes the same time whatever is added."""

EVERY = pytest.mark.parametrize("name", sorted(TARGETS))


@EVERY
def test_every_kept_input_obeys_the_laws(name: str) -> None:
    for seed in seeds_of(name):
        check(TARGETS[name], seed)


@EVERY
def test_mutations_of_kept_inputs_obey_the_laws(name: str) -> None:
    seeds, source = seeds_of(name), random.Random(name)  # the same order of inputs in every run
    ends = time.monotonic() + MUTATING_SECONDS / len(TARGETS)
    while time.monotonic() < ends:
        check(TARGETS[name], mutated(source, seeds))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_value_of_any_other_kind_obeys_the_laws(name: str) -> None:
    tried = 0
    for data in retyped(name):
        check(TARGETS[name], data)
        tried += 1
    assert tried > 20


@EVERY
def test_large_inputs_obey_the_laws(name: str) -> None:
    for bomb in bombs_of(name):
        check(TARGETS[name], bomb, LARGE_SECONDS)


def _loops(data: bytes) -> object:
    while data:
        pass
    return None


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target("raises", lambda data: data.decode("ascii")), "raises UnicodeDecodeError"),
        (Target("grows", lambda data: [data] * 1_000_000), "makes more than"),
        (Target("loops", _loops), "still busy"),
    ],
    ids=lambda value: value.name if isinstance(value, Target) else "",
)
def test_the_laws_notice_a_parser_that_breaks_them(target: Target, words: str) -> None:
    with pytest.raises(InvariantBroken, match=words):
        check(target, b"\xff" * 10, 0.1)


def test_a_value_that_holds_itself_has_more_than_any_weight() -> None:
    value: list[object] = []
    value.append(value)
    assert weigh(value, 1000) > 1000
