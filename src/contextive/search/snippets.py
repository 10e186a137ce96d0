"""Snippets of chunks, and shortened texts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from contextive.knowledge.chunk import Chunk
from contextive.knowledge.tokeniser import terms_by_line

SNIPPET_LINES: Final = 5
SNIPPET_CHARACTERS: Final = 320
TEXT_BUDGET: Final = 600


@dataclass(frozen=True, slots=True)
class Snippet:
    """A few lines of a file, with their numbers."""

    text: str
    line_start: int
    line_end: int


def best_lines(chunk: Chunk, terms: Collection[str]) -> Snippet:
    """The few lines of a chunk with the most terms of the query; its first lines if it has none of them."""
    lines = chunk.text.split("\n")
    width = min(SNIPPET_LINES, len(lines))
    # A chunk that fits whole needs no choice.
    is_longer = len(lines) > SNIPPET_LINES or (len(lines) > 1 and len(chunk.text) >= SNIPPET_CHARACTERS)
    found = terms_by_line(lines, terms) if is_longer else []

    def score(start: int) -> tuple[int, int, int]:
        window = found[start : start + width]
        return len(frozenset().union(*window)), sum(map(len, window)), -start

    start = max(range(len(lines) - width + 1), key=score) if any(found) else 0
    end = start + width
    while start < end - 1 and not lines[start].strip():
        start += 1
    while end - 1 > start and not lines[end - 1].strip():
        end -= 1
    # If the snippet is too long, drop the outer line with fewer terms.
    while end - start > 1 and sum(len(line) + 1 for line in lines[start:end]) > SNIPPET_CHARACTERS:
        if len(found[start]) < len(found[end - 1]):
            start += 1
        else:
            end -= 1
    return Snippet(
        "\n".join(lines[start:end])[:SNIPPET_CHARACTERS],
        chunk.line_start + start,
        min(chunk.line_start + end - 1, max(chunk.line_end, chunk.line_start)),
    )


def trim_text(text: str, budget: int = TEXT_BUDGET) -> tuple[str, int]:
    """The start of a text, cut at the end of a line or word, and the number of characters left out."""
    if len(text) <= budget:
        return text, 0
    cut = max(text.rfind("\n", budget // 2, budget), text.rfind(" ", budget - 40, budget))
    kept = text[: cut if cut > 0 else budget].rstrip()
    return kept, len(text) - len(kept)
