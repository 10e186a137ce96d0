"""A text as lines, and its division into ranges of lines that are not too long.

Lines end at a line feed and nowhere else, as in the parsers, so that numbers mean the same everywhere. Ranges are half open and
count from 0; what leaves this room counts from 1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

LIMIT = 1_500
"""Characters of a chunk that follows the structure of its file."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text, without their ends."""

    items: list[str]
    starts: list[int]
    """The offset of each line, and of the end."""

    @classmethod
    def of(cls, text: str) -> Lines:
        items = text.split("\n")
        return cls(items, [0, *accumulate(len(line) + 1 for line in items)])

    def size(self, first: int, behind: int) -> int:
        return self.starts[behind] - self.starts[first] - 1

    def text(self, first: int, behind: int) -> str:
        return "\n".join(self.items[first:behind]).rstrip()

    def is_blank(self, line: int) -> bool:
        item = self.items[line]
        return not item or item.isspace()

    def trim(self, first: int, behind: int) -> tuple[int, int]:
        """The range without the blank lines at its ends; an empty one when nothing is left."""
        while first < behind and self.is_blank(first):
            first += 1
        while behind > first and self.is_blank(behind - 1):
            behind -= 1
        return first, behind

    def indent(self, line: int) -> int:
        item = self.items[line]
        return len(item) - len(item.lstrip())


_FIRST_HALF = 200
"""What it costs to cut in the first half of what would fit."""


def divide(lines: Lines, first: int, behind: int, cost: Callable[[int], int]) -> Iterator[tuple[int, int]]:
    """Ranges of at most `LIMIT` characters that follow each other. A line that is longer stands alone.

    `cost` says how bad it is to cut before a line. The cheapest cut is taken, the last one of equals.
    """
    while first < behind:
        if lines.size(first, behind) <= LIMIT:
            yield first, behind
            return
        most = bisect_right(lines.starts, lines.starts[first] + LIMIT + 1, first, behind + 1) - 1
        if most <= first + 1:
            cut = first + 1
        else:
            half = bisect_right(lines.starts, lines.starts[first] + LIMIT // 2, first, most)
            cut = min(range(first + 1, most + 1), key=lambda at: (cost(at) + (_FIRST_HALF if at < half else 0), -at))
        yield first, cut
        first = cut


def paragraph_cost(lines: Lines, inside: Callable[[int], bool] | None = None) -> Callable[[int], int]:
    """Cuts behind blank lines, and only in need where `inside` says that a line belongs to the one before."""

    def cost(at: int) -> int:
        if not lines.is_blank(at - 1):
            return 3 * _FIRST_HALF
        return 2 * _FIRST_HALF if inside is not None and inside(at) else 0

    return cost


def indent_cost(lines: Lines) -> Callable[[int], int]:
    """Cuts behind blank lines and at the outermost level."""

    def cost(at: int) -> int:
        return min(lines.indent(at), 60) + (0 if lines.is_blank(at - 1) else 100)

    return cost
