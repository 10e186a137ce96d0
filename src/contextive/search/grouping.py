"""Groups ranked chunks by file: first the best chunk of each file, then the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

Group = Literal["file", "chunk"]
Item = TypeVar("Item")


##= docs/spec/knowledge.md#km-search-answers
##% The best chunk of each file MUST come first, with the number of its further chunks in `more_in_file`.
def best_of_each_file(ranked: Sequence[tuple[str, Item]]) -> tuple[list[Item], list[Item]]:
    """The first item of each file, and all other items, both in their order. Each item comes with the path of its file."""
    first: dict[str, Item] = {}
    further = []
    for path, item in ranked:
        if path in first:
            further.append(item)
        else:
            first[path] = item
    return list(first.values()), further


def more_in_file(found: Iterable[str], shown: Sequence[str]) -> list[int]:
    """For each shown path, how many more chunks of that file were found than are shown.

    A file that is shown several times has the number at its first place, and 0 at the others.
    """
    left = Counter(found)
    left.subtract(shown)
    seen: set[str] = set()
    counts = []
    for path in shown:
        counts.append(0 if path in seen else max(0, left[path]))
        seen.add(path)
    return counts
