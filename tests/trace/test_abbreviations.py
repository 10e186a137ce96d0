"""Abbreviations that a specification introduces."""

from __future__ import annotations

import pytest

from contextive.trace.abbreviations import abbreviations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the round-trip time (RTT) of a path", {"RTT": ("round", "trip", "time")}),
        ("A Probe Timeout (PTO) triggers", {"PTO": ("probe", "timeout")}),
        ("several connection\nIDs (CIDs)", {}),
        ("path maximum transmission units (PMTUs)", {"PMTU": ("path", "maximum", "transmission", "units")}),
        ("see the section about errors (RFC 9000)", {}),
        ("a value (HIGH) and a name (x)", {}),
        ("maximum segment size (MSS), a maximum stack size (MSS)", {"MSS": ("maximum", "segment", "size")}),
    ],
)
def test_the_words_before_the_parenthesis_must_spell_the_abbreviation(
    text: str, expected: dict[str, tuple[str, ...]]
) -> None:
    assert abbreviations([text]) == expected
