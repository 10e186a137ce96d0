"""Every regular expression and every parser of untrusted text takes linear time."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache

import pytest

from tests.fuzz.targets import TARGETS

from .regexes import GENERIC, Hostile, RegexUse, hostile_to, uses
from .source_tree import source_modules
from .time_growth import runner, why_not_linear

QUADRATIC = (
    (re.compile(r"\s*\{#[^{}]*\}\s*$"), "sub", Hostile("a", " ", "b")),
    (re.compile(r"[A-Za-z_$][\w$]*$"), "search", Hostile("", "a", "!")),
    (re.compile(r"# +(.*?) *#* *\Z"), "match", Hostile("# a", " ", "b")),
)
EVERYWHERE = tuple(
    Hostile(begin, unit, end)
    for unit in (
        " ",
        "\t",
        "`",
        "[",
        "]",
        "[[",
        "(",
        "{",
        '"',
        "'",
        "|",
        "\n",
        "\r\n",
        "#",
        "*",
        "a",
        "a ",
        "<",
        "\\",
        "- ",
        "> ",
    )
    for begin, end in (("", "x"), ("# a", "b"))
)
"""Texts for every parser: runs of syntax characters, each with an end that does not match."""


@pytest.mark.parametrize(("pattern", "method", "hostile"), QUADRATIC, ids=["spaces", "letters", "a heading"])
def test_a_pattern_that_takes_quadratic_time_is_detected(
    pattern: re.Pattern[str], method: str, hostile: Hostile
) -> None:
    assert why_not_linear(runner(pattern, method), hostile.text) is not None
    assert hostile in {*GENERIC, *hostile_to(pattern), hostile}


def test_generated_texts_alone_reveal_quadratic_time() -> None:
    pattern = re.compile(r"\[\[[^\]]*`")
    texts = (*GENERIC, *hostile_to(pattern))
    assert any(why_not_linear(runner(pattern, "search"), hostile.text) for hostile in texts)


@cache
def _uses() -> tuple[RegexUse, ...]:
    return tuple(uses())


def _part(place: str) -> str:
    """The package of a place in the source, or the module that is in none."""
    return place.removeprefix("src/contextive/").partition(":")[0].partition("/")[0]


@pytest.mark.parametrize("part", sorted({_part(str(module)) for module in source_modules()}))
def test_the_patterns_of_a_package_take_linear_time(part: str) -> None:
    slow = [
        f"{use.place} {method} {use.pattern.pattern!r} on {hostile}: {measured}"
        for use in _uses()
        if _part(use.place) == part
        for method in use.slowest_methods
        for hostile in dict.fromkeys((*GENERIC, *hostile_to(use.pattern)))
        if (measured := why_not_linear(runner(use.pattern, method), hostile.text))
    ]
    assert slow == []


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_parser_takes_linear_time(name: str) -> None:
    target = TARGETS[name]

    def run(text: str) -> None:
        with suppress(*target.errors):
            target.run(text.encode())

    slow = [f"{hostile}: {measured}" for hostile in EVERYWHERE if (measured := why_not_linear(run, hostile.text))]
    assert slow == []
