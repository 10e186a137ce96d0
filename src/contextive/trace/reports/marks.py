"""A specification's text cut where its coverage changes, so that a page can mark each piece with what covers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from contextive.trace.analysis import TargetReport
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement
from contextive.trace.specification import Section

Kinds: TypeAlias = frozenset[CitationType]
Claim: TypeAlias = tuple[int, int, CitationType]
"""Start, end, and what is said about the text between them."""

NOTHING: Kinds = frozenset()


class Piece(NamedTuple):
    """Some text and what covers it. `continues` says that the next marked piece is of the same kinds, white space aside."""

    text: str
    kinds: Kinds
    continues: bool = False

    @property
    def is_marked(self) -> bool:
        """White space alone is never marked: a gap between two citations is no gap in what they say."""
        return bool(self.kinds) and not self.text.isspace()


def section_pieces(report: TargetReport, section: Section) -> list[Piece]:
    """The whole text of a section, line by line."""
    source, references_on = report.specification.source, report.by_line.get
    text, line_of = source.text, source.line_of
    pieces: list[Piece] = []
    plain = ""  # lines that nothing covers become one piece
    for index, (start, words) in enumerate(section.text_lines):
        if index:
            plain += "\n"
        references = references_on(line_of(start))
        if references is None:
            plain += words
            continue
        if plain:
            pieces.append(Piece(plain, NOTHING))
            plain = ""
        claims = [(first, last, cited.type) for _, cited, first, last in references if cited.quote]
        pieces += _cut(text, start, start + len(words), claims)
    if plain:
        pieces.append(Piece(plain, NOTHING))
    return _with_continuations(pieces)


def requirement_pieces(report: TargetReport, requirement: Requirement) -> list[Piece]:
    """The text of a requirement in one line."""
    claims = [(start, end, kind) for kind, spans in requirement.covered.items() for start, end in spans]
    pieces: list[Piece] = []
    for start, end in requirement.spans:
        cut = _cut(report.specification.source.text, start, end, [*claims, (start, end, CitationType.SPEC)])
        if pieces and cut and pieces[-1].kinds == cut[0].kinds:
            cut[0] = Piece(f"{pieces.pop().text} {cut[0].text}", cut[0].kinds)
        elif pieces and cut:
            pieces.append(Piece(" ", NOTHING))
        pieces += cut
    if not any(piece.text.strip() for piece in pieces):
        return [Piece(requirement.text, frozenset({CitationType.SPEC}))]
    return _with_continuations(pieces)


def _cut(text: str, start: int, end: int, claims: Sequence[Claim]) -> list[Piece]:
    if start >= end:
        return []
    kinds = set()
    for first, last, kind in claims:
        if first <= start and end <= last:
            kinds.add(kind)
        elif first < end and start < last:
            return list(_sweep(text, start, end, claims))
    return [Piece(text[start:end], frozenset(kinds))]


def _sweep(text: str, start: int, end: int, claims: Sequence[Claim]) -> Iterator[Piece]:
    """One sweep over the borders: the work grows with the claims, not with their square."""
    borders: dict[int, list[tuple[CitationType, int]]] = {}
    for first, last, kind in claims:
        first, last = max(first, start), min(last, end)
        if first < last:
            borders.setdefault(first, []).append((kind, 1))
            borders.setdefault(last, []).append((kind, -1))
    open_kinds: dict[CitationType, int] = {}
    position, current = start, NOTHING
    for border in sorted(borders):
        for kind, change in borders[border]:
            open_kinds[kind] = open_kinds.get(kind, 0) + change
        kinds = frozenset(kind for kind, count in open_kinds.items() if count)
        if kinds != current:
            if border > position:
                yield Piece(text[position:border], current)
            position, current = border, kinds
    if position < end:
        yield Piece(text[position:end], current)


def _with_continuations(pieces: Sequence[Piece]) -> list[Piece]:
    marked: list[Piece] = []
    following = NOTHING
    for piece in reversed(pieces):
        text, kinds, _ = piece
        if kinds and not text.isspace():
            if kinds == following:
                piece = Piece(text, kinds, continues=True)
            following = kinds
        elif text.strip():
            following = NOTHING
        marked.append(piece)
    return marked[::-1]
