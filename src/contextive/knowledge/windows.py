"""Split text without structure into overlapping windows, so a passage cut by one window is whole in another."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from contextive.knowledge.chunk import ChunkDraft
from contextive.knowledge.lines import TextLines

_SPACE_SEARCH = 100
"""The number of characters at the end of a window that are searched for a space."""


class Window(NamedTuple):
    """The length of a window, and how much of it the next one repeats, in characters."""

    size: int = 1_000
    overlap: int = 200


DEFAULT_WINDOW = Window()


def cut_windows(lines: TextLines, title: str, window: Window = DEFAULT_WINDOW) -> Iterator[ChunkDraft]:
    """Windows of whole lines over a text. A line longer than a window is split into several."""
    first, stop = lines.trim(0, len(lines.items))
    starts = lines.starts
    while first < stop:
        window_end = min(bisect_right(starts, starts[first] + window.size + 1) - 1, stop)
        if window_end <= first:
            yield from cut_line(lines, first, title, window)
            first += 1
            continue
        begin, end = lines.trim(first, window_end)
        if begin < end:
            yield ChunkDraft("window", title, begin, end, lines.text(begin, end))
        if window_end >= stop:
            return
        # The next window starts with the last lines of this one, but always at a later line.
        first = max(first + 1, min(bisect_left(starts, starts[window_end] - window.overlap), window_end))
        if lines.size(window_end, window_end + 1) > window.size:
            first = window_end


def cut_line(lines: TextLines, line: int, title: str, window: Window = DEFAULT_WINDOW) -> Iterator[ChunkDraft]:
    """Windows over one long line, cut at spaces if there are any."""
    text = lines.items[line].strip()
    start = 0
    while start < len(text):
        end = min(start + window.size, len(text))
        if end < len(text):
            space = text.rfind(" ", max(start + 1, end - _SPACE_SEARCH), end)
            end = space if space != -1 else end
        if piece := text[start:end].strip():
            yield ChunkDraft("window", title, line, line + 1, piece)
        if end >= len(text):
            return
        start = max(start + 1, end - window.overlap)
