"""Find a quote in a section: exactly, ignoring white space, or with a difference of one byte."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from contextive.trace.citation import Citation
from contextive.trace.specification import Section
from contextive.trace.text import NormalisedText, normalise, normalise_mapped, trim, trim_end

Span: TypeAlias = tuple[int, int]
"""Start and end offset of a piece of a specification's text."""


class MatchKind(StrEnum):
    """How closely a quote matches."""

    EXACT = "exact"
    NORMALISED = "normalised"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quote was found: the spans of the specification's text that it covers, one for each line."""

    kind: MatchKind
    spans: tuple[Span, ...]
    repeated: bool = False
    """Whether the quote occurs in the section again; only the first occurrence counts."""


@dataclass(frozen=True, slots=True)
class CitedText:
    """A citation and the text of a specification that it covers, with one span for each line."""

    index: int
    """The position of the citation among those of its file."""
    citation: Citation
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Haystack:
    """A section's text on one line: trimmed lines joined with one space, with a mapping back to the file."""

    text: str
    starts: tuple[int, ...]
    """Where each line begins in `text` …"""
    offsets: tuple[int, ...]
    """… and in the file."""
    lengths: tuple[int, ...]

    @staticmethod
    def of(section: Section) -> Haystack:
        found = [(line, piece) for line in section.text_lines if (piece := trim(line.text))]
        offsets = tuple(line.start + line.text.index(piece[0]) for line, piece in found)
        lengths = tuple(len(piece) for _, piece in found)
        starts = tuple(accumulate([length + 1 for length in lengths[:-1]], initial=0)) if found else ()
        return Haystack(" ".join(piece for _, piece in found), starts, offsets, lengths)

    @cached_property
    def normalised(self) -> NormalisedText:
        return normalise_mapped(self.text)

    def spans(self, start: int, end: int) -> tuple[Span, ...]:
        """The ranges in the file for a range of this text, one for each line that it touches.

        A range of a single byte becomes empty: committed snapshots of real projects depend on it.
        """
        found = []
        for index in range(bisect_right(self.starts, start) - 1, bisect_left(self.starts, end)):
            line, offset = self.starts[index], self.offsets[index]
            first, last = max(start - line, 0), min(end - line, self.lengths[index])
            if last > first:
                is_byte = last - first == 1 and self.text[line + first].isascii()
                found.append((offset + first, offset + first if is_byte else offset + last))
        return tuple(found)


##= docs/spec/trace.md#matching
##% A quote MUST be matched exactly, then ignoring white space, then with a difference of one byte; the first rule
##% that matches counts.
##= docs/spec/trace.md#matching
##% If a quote occurs more than once in a section, the first occurrence MUST count.
def match_quote(quote: str, haystack: Haystack) -> Match | None:
    """The first occurrence of the quote, by the strictest rule that finds one."""
    if not quote or not haystack.text:
        return None
    start = haystack.text.find(quote)
    if start >= 0:
        end = start + len(quote)
        repeated = haystack.text.find(quote, end) >= 0
        return Match(MatchKind.EXACT, haystack.spans(start, end), repeated)
    needle = normalise(quote)
    if not needle:
        return None
    start = haystack.normalised.text.find(needle)
    if start >= 0:
        return Match(MatchKind.NORMALISED, _original_spans(haystack, start, start + len(needle)))
    found = find_within_one_edit(
        needle.encode("utf-8", "surrogatepass"), haystack.normalised.text.encode("utf-8", "surrogatepass")
    )
    if found is None:
        return None
    first, last = _to_character_span(haystack.normalised.text, found)
    return Match(MatchKind.FUZZY, _original_spans(haystack, first, last))


def _original_spans(haystack: Haystack, start: int, end: int) -> tuple[Span, ...]:
    first = haystack.normalised.original_offset(start)
    last = haystack.normalised.original_offset(end)
    last = first + len(trim_end(haystack.text[first:last]))
    return haystack.spans(first, last)


def _to_character_span(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A byte range as a character range; a boundary inside a character moves before it."""
    if text.isascii():
        return span
    data = text.encode("utf-8", "surrogatepass")
    return len(data[: span[0]].decode("utf-8", "ignore")), len(data[: span[1]].decode("utf-8", "ignore"))


def find_within_one_edit(needle: bytes, haystack: bytes) -> tuple[int, int] | None:
    """The first range of the haystack that differs from the needle in one changed, missing or extra byte.

    The needle must not occur unchanged. Of the alignments with the same end, the longest counts. The first end wins,
    unless the next one starts at least as early.
    """
    if len(needle) == 1:
        return (0, 1)
    starts: dict[int, int] = {}
    for start, end in _alignments(needle, haystack):
        starts[end] = min(start, starts.get(end, start))
    best: tuple[int, int] | None = None
    for end, start in sorted(starts.items()):
        if best is not None and start > best[0]:
            break
        best = (start, end)
    return best


def _alignments(needle: bytes, haystack: bytes) -> Iterator[tuple[int, int]]:
    """Every range of the haystack that matches the needle with one error.

    With one error, one half of the needle is unchanged. `bytes.find` finds it, and only its surroundings are compared.
    """
    middle = len(needle) // 2
    head, tail = needle[:middle], needle[middle:]
    position = haystack.find(head)
    while position >= 0:
        for length in _aligned_prefixes(tail, haystack[position + middle : position + len(needle) + 1]):
            yield position, position + middle + length
        position = haystack.find(head, position + 1)
    position = haystack.find(tail)
    while position >= 0:
        before = haystack[max(0, position - middle - 1) : position]
        for length in _aligned_prefixes(head[::-1], before[::-1]):
            yield position - length, position + len(tail)
        position = haystack.find(tail, position + 1)


def _aligned_prefixes(pattern: bytes, text: bytes) -> Iterator[int]:
    """The lengths of the prefixes of `text` that are one edit away from `pattern`."""
    same, size = _common_prefix(pattern, text), len(pattern)
    if size < len(text) and (pattern[same:] == text[same + 1 : size + 1]):
        yield size + 1
    if same < size and len(text) >= size and pattern[same + 1 :] == text[same + 1 : size]:
        yield size
    if same < size and pattern[same + 1 :] == text[same : size - 1] and len(text) >= size - 1:
        yield size - 1


def _common_prefix(one: bytes, other: bytes) -> int:
    """The length of the common prefix, found by bisection: comparing slices is faster than comparing bytes."""
    same, limit = 0, min(len(one), len(other))
    while same < limit:
        middle = (same + limit + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            limit = middle - 1
    return same
