"""The comments of a source file, as lines. Neighbouring comments are one block, because people read them as one."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from contextive.trace.matching import Span

_MARKERS = re.compile(
    r"[ \t]*(?:///?!?|#+!?|--+|;+|%+|/\*+!?|<!--|\*(?=[ \t/]|\Z)|\"\"\"|'''|rem\b|\{/\*)", re.IGNORECASE
)
_TRAILING = re.compile(r"(?<=[\s;,{}()])(?://|#|--|/\*)[ \t]")
_TITLE = re.compile(r"\b(?:it|test|describe|context|specify|suite)(?:\.[a-zA-Z]{1,20}){0,3}\([ \t]{0,20}(['\"`])")
_LONGEST_LINE = 2_000
"""Longer lines are generated or data."""


@dataclass(frozen=True, slots=True)
class CommentLine:
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class CommentBlock:
    """Lines of comments without code between them, or the title of a test."""

    lines: tuple[CommentLine, ...]
    is_title: bool = False


def blocks_of_spans(text: str, spans: Iterable[Span]) -> Iterator[CommentBlock]:
    """The blocks of the comments at these offsets, sorted. A comment next to code is a block of its own."""
    starts = list(accumulate([len(line) + 1 for line in text.split("\n")], initial=0))
    current: list[CommentLine] = []
    for start, end in spans:
        first = bisect_right(starts, start)
        is_alone = not text[starts[first - 1] : start].strip()
        lines = [
            CommentLine(first + offset, line)
            for offset, line in enumerate(text[start:end].split("\n"))
            if len(line) <= _LONGEST_LINE
        ]
        if current and not (is_alone and first <= current[-1].number + 1):
            yield CommentBlock(tuple(current))
            current = []
        current += lines
    if current:
        yield CommentBlock(tuple(current))


def blocks_of_lines(text: str) -> Iterator[CommentBlock]:
    """The blocks of a file in a language that is not parsed: lines that begin with the mark of a comment, and what
    follows such a mark at the end of a line of code."""
    current: list[CommentLine] = []
    for number, line in enumerate(text.split("\n"), 1):
        whole = len(line) <= _LONGEST_LINE and _MARKERS.match(line) is not None
        if current and not whole:
            yield CommentBlock(tuple(current))
            current = []
        if whole:
            current.append(CommentLine(number, line))
        elif len(line) <= _LONGEST_LINE and (found := _TRAILING.search(line)) is not None:
            yield CommentBlock((CommentLine(number, line[found.start() :]),))
    if current:
        yield CommentBlock(tuple(current))


def titles_of_tests(text: str) -> Iterator[CommentBlock]:
    """The titles of the tests of a file in the style `it('title', …)`, each as a block."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > _LONGEST_LINE or (found := _TITLE.search(line)) is None:
            continue
        end = line.find(found[1], found.end())
        yield CommentBlock((CommentLine(number, line[found.end() : end if end >= 0 else len(line)]),), is_title=True)


def without_marks(lines: Sequence[CommentLine]) -> list[CommentLine]:
    """The lines without the marks of comments at their start."""
    return [CommentLine(line.number, line.text[_mark_length(line.text) :]) for line in lines]


def _mark_length(text: str) -> int:
    mark = _MARKERS.match(text)
    return mark.end() if mark is not None else 0
