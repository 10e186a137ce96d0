"""Pieces of text without structure: windows that overlap, so that nothing is only seen torn apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from contextive.knowledge.chunk import ChunkDraft
from contextive.knowledge.lines import TextLines

_SEARCH = 100
"""Characters at the end of a window in which a space is looked for."""


class Window(NamedTuple):
    """How long a window is, and how much of it the next one repeats; in characters."""

    size: int = 1_000
    overlap: int = 200


DEFAULT_WINDOW = Window()


def cut_windows(lines: TextLines, title: str, window: Window = DEFAULT_WINDOW) -> Iterator[ChunkDraft]:
    """Windows of whole lines over a text. A line that is longer than a window has windows of its own."""
    first, stop = lines.trim(0, len(lines.items))
    starts = lines.starts
    while first < stop:
        most = min(bisect_right(starts, starts[first] + window.size + 1) - 1, stop)
        if most <= first:
            yield from cut_line(lines, first, title, window)
            first += 1
            continue
        begin, end = lines.trim(first, most)
        if begin < end:
            yield ChunkDraft("window", title, begin, end, lines.text(begin, end))
        if most >= stop:
            return
        # The next window starts with the last lines of this one, but always further on than it did.
        first = max(first + 1, min(bisect_left(starts, starts[most] - window.overlap), most))
        if lines.size(most, most + 1) > window.size:
            first = most


def cut_line(lines: TextLines, line: int, title: str, window: Window = DEFAULT_WINDOW) -> Iterator[ChunkDraft]:
    """Windows over one long line, cut at spaces where there are any."""
    text = lines.items[line].strip()
    start = 0
    while start < len(text):
        end = min(start + window.size, len(text))
        if end < len(text):
            space = text.rfind(" ", max(start + 1, end - _SEARCH), end)
            end = space if space != -1 else end
        if piece := text[start:end].strip():
            yield ChunkDraft("window", title, line, line + 1, piece)
        if end >= len(text):
            return
        start = max(start + 1, end - window.overlap)
