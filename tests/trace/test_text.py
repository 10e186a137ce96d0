from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.trace.text import (
    SPACE,
    SPACE_IN_LINE,
    WHITESPACE,
    SourceText,
    normalise,
    normalise_mapped,
    quoted,
    split_lines,
    trim,
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", [(0, "a")]),
        ("a\n", [(0, "a")]),
        ("a\n\nb", [(0, "a"), (2, ""), (3, "b")]),
        ("a\r\nb\r\n", [(0, "a"), (3, "b")]),
        ("a\r\r\nb", [(0, "a\r"), (4, "b")]),
        ("a\rb", [(0, "a\rb")]),
        ("a\x0cb\x0bc\x1cd\x85e\u2028f", [(0, "a\x0cb\x0bc\x1cd\x85e\u2028f")]),
    ],
)
def test_only_a_line_feed_ends_a_line(text: str, lines: list[tuple[int, str]]) -> None:
    assert list(zip(*split_lines(text), strict=True)) == lines


@pytest.mark.parametrize("space", [" ", "\t", "\x0b", "\x0c", "\r", "\x85", "\xa0", "\u1680", "\u2003", "\u3000"])
def test_every_unicode_white_space_is_trimmed(space: str) -> None:
    assert trim(f"{space}a{space}") == "a"


@pytest.mark.parametrize("other", ["\x1c", "\x1f", "\u200b", "\ufeff", "\u180e"])
def test_characters_without_the_white_space_property_are_kept(other: str) -> None:
    assert trim(f"{other}a{other}") == f"{other}a{other}"


def test_the_white_space_pattern_matches_what_trim_removes() -> None:
    for character in map(chr, range(0x110000)):
        assert bool(re.match(SPACE, character)) == (character in WHITESPACE)
        assert bool(re.match(SPACE_IN_LINE, character)) == (character in WHITESPACE and character != "\n")


@given(st.text())
def test_the_joined_lines_are_the_text(text: str) -> None:
    lines = list(zip(*split_lines(text), strict=True))
    assert "".join(text[start : start + len(line)] for start, line in lines) == "".join(line for _, line in lines)
    assert len(lines) == text.count("\n") + (0 if text.endswith("\n") or not text else 1)


@given(st.text(alphabet="aé日🦀\n\r"), st.data())
def test_line_column_and_byte_of_an_offset_are_right(text: str, data: st.DataObject) -> None:
    source = SourceText(text)
    offset = data.draw(st.integers(0, len(text)))
    before = text[:offset]
    assert source.byte_of(offset) == len(before.encode())
    if offset < len(text):
        assert source.line_of(offset) == before.count("\n") + 1
        assert source.byte_column_of(offset) == len(before.rpartition("\n")[2].encode()) + 1


def test_a_line_feed_at_the_end_of_the_text_does_not_start_a_line() -> None:
    assert SourceText("a\nb\n").line_of(4) == 2


def test_a_slice_that_ends_after_a_line_feed_includes_the_next_line() -> None:
    assert list(SourceText("ab\ncd\n").line_range(0, 3)) == [1, 2]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a  b", "a b"),
        ("a \t\n b", "a b"),
        ("a\u00a0 b", "a\u00a0b"),
        ("a . b", "a.b"),
        ("  a, b  ", "a,b"),
        ("a -\nb", "a-b"),
        ("( a )", "(a)"),
        ("é ß", "é ß"),
        ("日 本", "日 本"),
        ("की  बात", "की बात"),
        ("ⓐ  ①", "ⓐ ①"),
        ("e\u0301  x", "e\u0301x"),
        ("…  x", "…x"),
        ("   ", ""),
    ],
)
def test_insignificant_white_space_is_removed(text: str, normal: str) -> None:
    assert normalise(text) == normal
    assert normalise_mapped(text).text == normal


@given(st.text(alphabet="ab1 \t\n.,-é日\u00a0"))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
    assert normalise(text) == normalise_mapped(text).text


@given(st.text(alphabet="ab1 \n.,é"))
def test_every_character_of_a_normalised_text_maps_back_to_the_original(text: str) -> None:
    mapped = normalise_mapped(text)
    for position, character in enumerate(mapped.text):
        assert text[mapped.original_offset(position)] == character


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a b", '"a b"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("a\nb\t\0", '"a\\nb\\t\\0"'),
        ("é", '"é"'),
        ("e\u0301", '"e\\u{301}"'),
        ("\u200b", '"\\u{200b}"'),
    ],
)
def test_invisible_characters_are_escaped_in_messages(text: str, escaped: str) -> None:
    assert quoted(text) == escaped
