"""The lines of a chunk that match a query best."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from contextive.knowledge.tokeniser import terms_by_line

SNIPPET_LINES: Final = 5
SNIPPET_CHARACTERS: Final = 320
_CHARACTERS_PER_LINE: Final = 35


@dataclass(frozen=True, slots=True)
class Snippet:
    """A few lines of a file, with their numbers."""

    text: str
    line_start: int
    line_end: int


def best_lines(text: str, lines: tuple[int, int], terms: Collection[str]) -> Snippet:
    """The few lines of a text with the most terms of the query; its first lines if it has none of them.

    `lines` are the first and the last line of the text in its file.
    """
    rows = text.split("\n")
    start, end = _best_window(rows, terms, SNIPPET_LINES, SNIPPET_CHARACTERS)
    return _snippet("\n".join(rows[start:end])[:SNIPPET_CHARACTERS], lines, start, end)


def passage(text: str, lines: tuple[int, int], terms: Collection[str], characters: int) -> Snippet:
    """As much of a text as fits, around the lines that match the query best. A short text is returned whole."""
    rows = text.split("\n")
    if len(text) <= characters:
        return _snippet(text, lines, 0, len(rows))
    most = max(SNIPPET_LINES, characters // _CHARACTERS_PER_LINE)
    start, end = _best_window(rows, terms, most, characters)
    room = characters - sum(len(row) + 1 for row in rows[start:end])
    while end < len(rows) and len(rows[end]) < room:
        room -= len(rows[end]) + 1
        end += 1
    while start and len(rows[start - 1]) < room:
        start -= 1
        room -= len(rows[start]) + 1
    if room > characters // 2 and end < len(rows):
        # The next line is long. Its beginning is better than nothing.
        rows[end] = rows[end][:room].rpartition(" ")[0] or rows[end][:room]
        end += 1
    start, end = _without_blank_ends(rows, start, end)
    return _snippet("\n".join(rows[start:end])[:characters].rstrip(), lines, start, end)


def _snippet(text: str, lines: tuple[int, int], start: int, end: int) -> Snippet:
    first, last = lines
    return Snippet(text, first + start, min(first + end - 1, max(first, last)))


def _best_window(rows: Sequence[str], terms: Collection[str], most: int, characters: int) -> tuple[int, int]:
    """The first and the last row plus one of the few rows with the most terms."""
    width = min(most, len(rows))
    # A text that fits whole needs no choice.
    is_longer = len(rows) > most or (len(rows) > 1 and sum(len(row) + 1 for row in rows) > characters)
    found = terms_by_line(rows, terms) if is_longer else []

    def score(start: int) -> tuple[int, int, int]:
        window = found[start : start + width]
        return len(frozenset().union(*window)), sum(map(len, window)), -start

    start = max(range(len(rows) - width + 1), key=score) if any(found) else 0
    end = start + width
    # If the window is too long, drop the outer line with fewer terms.
    while end - start > 1 and sum(len(row) + 1 for row in rows[start:end]) > characters:
        if found and len(found[start]) < len(found[end - 1]):
            start += 1
        else:
            end -= 1
    return _without_blank_ends(rows, start, end)


def _without_blank_ends(rows: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while start < end - 1 and not rows[start].strip():
        start += 1
    while end - 1 > start and not rows[end - 1].strip():
        end -= 1
    return start, end
