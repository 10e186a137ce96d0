"""A specification's text cut where its coverage changes, so that a page can mark each piece with what covers it."""

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
"""Start, end, and what is said about the text between them."""
TextPiece: TypeAlias = tuple[str, Kinds]
"""Some text and what covers it. White space alone is never marked: a gap between two citations is no gap in what they say."""

NO_KINDS: Kinds = frozenset()
_SINGLE_KIND: dict[CitationType, Kinds] = {kind: frozenset([kind]) for kind in CitationType}


class CitedSpans:
    """The spans of a specification that are quoted, each once, with the kinds of citations that quote it."""

    def __init__(self, cited: Iterable[CitedText]) -> None:
        kinds: dict[Span, Kinds] = {}
        for item in cited:
            if item.citation.quote:
                for span in item.spans:
                    kinds[span] = kinds.get(span, NO_KINDS) | _SINGLE_KIND[item.citation.type]
        self._spans = [(start, end, kinds[start, end]) for start, end in sorted(kinds) if start < end]

    def between(self, start: int, end: int) -> list[CoveredSpan]:
        """The spans that begin there, in order. None of them reaches over the end of its line."""
        first = bisect_left(self._spans, (start,))
        last = bisect_left(self._spans, (end,), first)
        return self._spans[first:last]


def section_pieces(text: str, cited: CitedSpans, section: Section) -> list[TextPiece]:
    """The whole text of a section, given that of its specification."""
    lines = section.text_lines
    if not lines:
        return []
    start, words = lines[0].start, "\n".join([line.text for line in lines])
    if text.startswith(words, start):
        end = start + len(words)
        return _split_text(text, start, end, cited.between(start, end))
    # Something stands between the lines that is no part of them: a CR, the foot of a page.
    pieces: list[TextPiece] = []
    for line in lines:
        if pieces:
            pieces.append(("\n", NO_KINDS))
        pieces += _split_text(text, line.start, line.end, cited.between(line.start, line.end)) or [("", NO_KINDS)]
    return pieces


def requirement_pieces(text: str, requirement: Requirement) -> list[TextPiece]:
    """The text of a requirement in one line, given that of its specification."""
    spans, covered = requirement.spans, requirement.covered
    if set(covered.values()) == {spans}:
        words = " ".join([text[start:end] for start, end in spans if start < end])
        if words and not words.isspace():
            return [(words, frozenset([CitationType.SPEC, *covered]))]
    covered_spans = [(start, end, _SINGLE_KIND[kind]) for kind, found in covered.items() for start, end in found]
    pieces: list[TextPiece] = []
    for start, end in spans:
        cut = (
            _split_text(text, start, end, [(start, end, _SINGLE_KIND[CitationType.SPEC]), *covered_spans])
            if start < end
            else []
        )
        if pieces and cut and pieces[-1][1] == cut[0][1]:
            cut[0] = (f"{pieces.pop()[0]} {cut[0][0]}", cut[0][1])
        elif pieces and cut:
            pieces.append((" ", NO_KINDS))
        pieces += cut
    if not any(words.strip() for words, _ in pieces):
        return [(requirement.text, _SINGLE_KIND[CitationType.SPEC])]
    return pieces


def _split_text(text: str, start: int, end: int, covered_spans: Sequence[CoveredSpan]) -> list[TextPiece]:
    """The text from `start` to `end`, cut at the borders of the spans."""
    pieces: list[TextPiece] = []
    position = start
    for first, last, kinds in covered_spans:
        if first < position or first == position > start or last > end:
            return list(
                _split_overlapping(text, start, end, covered_spans)
            )  # they overlap or touch, or come in any order
        if first > position:
            pieces.append((text[position:first], NO_KINDS))
        pieces.append((text[first:last], kinds))
        position = last
    if position < end:
        pieces.append((text[position:end], NO_KINDS))
    return pieces


def _split_overlapping(text: str, start: int, end: int, covered_spans: Sequence[CoveredSpan]) -> Iterator[TextPiece]:
    """One sweep over the borders: the work grows with the spans, not with their square."""
    borders: dict[int, list[tuple[CitationType, int]]] = {}
    for first, last, kinds in covered_spans:
        first, last = max(first, start), min(last, end)
        if first < last:
            borders.setdefault(first, []).extend([(kind, 1) for kind in kinds])
            borders.setdefault(last, []).extend([(kind, -1) for kind in kinds])
    open_kinds: dict[CitationType, int] = {}
    position, current = start, NO_KINDS
    for border in sorted(borders):
        for kind, change in borders[border]:
            open_kinds[kind] = open_kinds.get(kind, 0) + change
        kinds = frozenset(kind for kind, count in open_kinds.items() if count)
        if kinds != current:
            if border > position:
                yield text[position:border], current
            position, current = border, kinds
    if position < end:
        yield text[position:end], current
