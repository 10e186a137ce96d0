"""A text as lines, and splitting it into ranges of lines of limited size.

Lines end only at a line feed, as in the parsers, so line numbers agree everywhere. Ranges are half open and count
from 0; the line numbers of chunks count from 1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

MAX_CHUNK_CHARACTERS = 1_500
"""The limit of characters of a chunk that follows the structure of its file."""


@dataclass(frozen=True, slots=True)
class TextLines:
    """The lines of a text, without line ends."""

    items: list[str]
    starts: list[int]
    """The offset of each line and of the end."""

    @classmethod
    def of(cls, text: str) -> TextLines:
        items = text.split("\n")
        return cls(items, [0, *accumulate(len(line) + 1 for line in items)])

    def size(self, first: int, stop: int) -> int:
        return self.starts[stop] - self.starts[first] - 1

    def text(self, first: int, stop: int) -> str:
        return "\n".join(self.items[first:stop]).rstrip()

    def is_blank(self, line: int) -> bool:
        item = self.items[line]
        return not item or item.isspace()

    def trim(self, first: int, stop: int) -> tuple[int, int]:
        """The range without blank lines at its ends. It may be empty."""
        while first < stop and self.is_blank(first):
            first += 1
        while stop > first and self.is_blank(stop - 1):
            stop -= 1
        return first, stop

    def indent(self, line: int) -> int:
        item = self.items[line]
        return len(item) - len(item.lstrip())


_FIRST_HALF_COST = 200
"""The extra cost of a cut in the first half of the text that would fit."""


def split_range(lines: TextLines, first: int, stop: int, cost: Callable[[int], int]) -> Iterator[tuple[int, int]]:
    """Consecutive ranges of at most `MAX_CHUNK_CHARACTERS` characters. A longer line is a range by itself.

    `cost` returns the cost of a cut before a line. The cheapest cut wins; of equal ones, the last.
    """
    while first < stop:
        if lines.size(first, stop) <= MAX_CHUNK_CHARACTERS:
            yield first, stop
            return
        most = bisect_right(lines.starts, lines.starts[first] + MAX_CHUNK_CHARACTERS + 1, first, stop + 1) - 1
        if most <= first + 1:
            cut = first + 1
        else:
            half = bisect_right(lines.starts, lines.starts[first] + MAX_CHUNK_CHARACTERS // 2, first, most)
            cut = min(
                range(first + 1, most + 1), key=lambda at: (cost(at) + (_FIRST_HALF_COST if at < half else 0), -at)
            )
        yield first, cut
        first = cut


def paragraph_cost(lines: TextLines, inside: Callable[[int], bool] | None = None) -> Callable[[int], int]:
    """A cost that prefers cuts after blank lines, and avoids them where `inside` says the line continues a block."""

    def cost(at: int) -> int:
        if not lines.is_blank(at - 1):
            return 3 * _FIRST_HALF_COST
        return 2 * _FIRST_HALF_COST if inside is not None and inside(at) else 0

    return cost


def indent_cost(lines: TextLines) -> Callable[[int], int]:
    """A cost that prefers cuts after blank lines and at low indentation."""

    def cost(at: int) -> int:
        return min(lines.indent(at), 60) + (0 if lines.is_blank(at - 1) else 100)

    return cost
