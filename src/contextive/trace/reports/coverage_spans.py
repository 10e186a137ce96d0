"""Split a specification's text where its coverage changes, so the HTML report can mark each piece."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from contextive.trace.level import CitationType
from contextive.trace.matching import CitedText, Span
from contextive.trace.requirement import Requirement
from contextive.trace.specification import Section

Kinds: TypeAlias = frozenset[CitationType]
CoveredSpan: TypeAlias = tuple[int, int, Kinds]
"""Start, end, and the types of the citations that cover the text between them."""
TextPiece: TypeAlias = tuple[str, Kinds]
"""Some text and what covers it. White space alone is never marked: a gap between two citations does not matter."""

NO_KINDS: Kinds = frozenset()
_SINGLE_KIND: dict[CitationType, Kinds] = {kind: frozenset([kind]) for kind in CitationType}


class CitedSpans:
    """The quoted spans of a specification, each once, with the types of the citations that quote it."""

    def __init__(self, cited: Iterable[CitedText]) -> None:
        kinds: dict[Span, Kinds] = {}
        for item in cited:
            if item.citation.quote:
                for span in item.spans:
                    kinds[span] = kinds.get(span, NO_KINDS) | _SINGLE_KIND[item.citation.type]
        self._spans = [(start, end, kinds[start, end]) for start, end in sorted(kinds) if start < end]

    def between(self, start: int, end: int) -> list[CoveredSpan]:
        """The spans that begin between two offsets, in order. No span crosses the end of its line."""
        first = bisect_left(self._spans, (start,))
        last = bisect_left(self._spans, (end,), first)
        return self._spans[first:last]


def section_pieces(text: str, cited: CitedSpans, section: Section) -> list[TextPiece]:
    """The pieces of a section. `text` is the text of its specification."""
    lines = section.text_lines
    if not lines:
        return []
    start, joined = lines[0].start, "\n".join([line.text for line in lines])
    if text.startswith(joined, start):
        end = start + len(joined)
        return _split_text(text, start, end, cited.between(start, end))
    # There is something between the lines that is not part of them: a CR, the footer of a page.
    pieces: list[TextPiece] = []
    for line in lines:
        if pieces:
            pieces.append(("\n", NO_KINDS))
        pieces += _split_text(text, line.start, line.end, cited.between(line.start, line.end)) or [("", NO_KINDS)]
    return pieces


def requirement_pieces(text: str, requirement: Requirement) -> list[TextPiece]:
    """The pieces of a requirement, on one line. `text` is the text of its specification."""
    spans, covered = requirement.spans, requirement.covered
    if set(covered.values()) == {spans}:
        joined = " ".join([text[start:end] for start, end in spans if start < end])
        if joined and not joined.isspace():
            return [(joined, frozenset([CitationType.SPEC, *covered]))]
    covered_spans = [(start, end, _SINGLE_KIND[kind]) for kind, found in covered.items() for start, end in found]
    pieces: list[TextPiece] = []
    for start, end in spans:
        split = (
            _split_text(text, start, end, [(start, end, _SINGLE_KIND[CitationType.SPEC]), *covered_spans])
            if start < end
            else []
        )
        if pieces and split and pieces[-1][1] == split[0][1]:
            split[0] = (f"{pieces.pop()[0]} {split[0][0]}", split[0][1])
        elif pieces and split:
            pieces.append((" ", NO_KINDS))
        pieces += split
    if not any(piece.strip() for piece, _ in pieces):
        return [(requirement.text, _SINGLE_KIND[CitationType.SPEC])]
    return pieces


def _split_text(text: str, start: int, end: int, covered_spans: Sequence[CoveredSpan]) -> list[TextPiece]:
    """The text from `start` to `end`, split at the boundaries of the spans."""
    pieces: list[TextPiece] = []
    position = start
    for first, last, kinds in covered_spans:
        if first < position or first == position > start or last > end:
            # The spans overlap, touch or are not sorted.
            return list(_split_overlapping(text, start, end, covered_spans))
        if first > position:
            pieces.append((text[position:first], NO_KINDS))
        pieces.append((text[first:last], kinds))
        position = last
    if position < end:
        pieces.append((text[position:end], NO_KINDS))
    return pieces


def _split_overlapping(text: str, start: int, end: int, covered_spans: Sequence[CoveredSpan]) -> Iterator[TextPiece]:
    """Split at the boundaries of spans that may overlap. One sweep over them, so the time is not quadratic."""
    boundaries: dict[int, list[tuple[CitationType, int]]] = {}
    for first, last, kinds in covered_spans:
        first, last = max(first, start), min(last, end)
        if first < last:
            boundaries.setdefault(first, []).extend([(kind, 1) for kind in kinds])
            boundaries.setdefault(last, []).extend([(kind, -1) for kind in kinds])
    open_kinds: dict[CitationType, int] = {}
    position, current = start, NO_KINDS
    for boundary in sorted(boundaries):
        for kind, change in boundaries[boundary]:
            open_kinds[kind] = open_kinds.get(kind, 0) + change
        kinds = frozenset(kind for kind, count in open_kinds.items() if count)
        if kinds != current:
            if boundary > position:
                yield text[position:boundary], current
            position, current = boundary, kinds
    if position < end:
        yield text[position:end], current
