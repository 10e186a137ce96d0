"""Requirements and their status: which citations cover them, and whether they are implemented and tested."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Literal, TypeAlias

from blake3 import blake3

from contextive.trace.citation import Citation
from contextive.trace.level import CitationType, Level
from contextive.trace.matching import CitedText, Span
from contextive.trace.specification import Section, Specification
from contextive.trace.target import Target
from contextive.trace.text import SourceText

Implementation: TypeAlias = Literal["whole", "part", "none"]
##= docs/spec/trace.md#coverage
##% An implication or an exception MUST count as both implementation and test.
_CITING = frozenset({CitationType.CITATION, CitationType.IMPLICATION, CitationType.EXCEPTION})
_TESTING = frozenset({CitationType.TEST, CitationType.IMPLICATION, CitationType.EXCEPTION})
_BULLET = re.compile(r"\s*(?:o|\(?(?:[0-9]{1,3}|[a-zA-Z])[.)])\s*")
_AROUND_WORDS = " ,;:.*-\u2022"


class Status(StrEnum):
    """The status of a requirement. A todo covers nothing."""

    COMPLETE = "complete"
    EXCEPTION = "exception"
    MISSING_TEST = "missing_test"
    MISSING_CITATION = "missing_citation"
    PARTIAL = "partial"
    TODO = "todo"
    NOT_STARTED = "not_started"

    @property
    def is_done(self) -> bool:
        return self in (Status.COMPLETE, Status.EXCEPTION)


_STATUSES = tuple(Status)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement in its section, and every citation that quotes a part of it."""

    identifier: str
    target: Target
    section: Section
    text: str
    level: Level
    status: Status
    spans: tuple[Span, ...]
    citation: Citation
    related: tuple[Citation, ...]
    covered: dict[CitationType, tuple[Span, ...]]
    """The text that the citations of each type quote, where it overlaps with the requirement."""
    source: SourceText = field(default=SourceText(""), compare=False, repr=False)
    """The text of the specification, which `spans` refer to."""
    handle: str = ""
    """What people type, such as `kiro:user-auth/3.2`, if its specification is in a spec-driven format."""

    def __hash__(self) -> int:
        return hash((self.identifier, self.section.id))  # `covered` cannot be hashed, and these identify the rest

    def citations_of(self, *types: CitationType) -> list[Citation]:
        return [citation for citation in self.related if citation.type in types]

    ##= docs/spec/trace.md#list-uncited-requirements
    ##% A requirement MUST count as uncited only if no citation of any type covers part of it.
    @property
    def is_cited(self) -> bool:
        """Whether any citation quotes it."""
        return bool(self.related)

    ##= docs/spec/trace.md#get-prioritized-requirements
    ##% The status words of prioritized requirements MUST describe the implementation alone, regardless of tests.
    @property
    def implementation(self) -> Implementation:
        """How much of it is implemented, regardless of tests."""
        if self.status in (Status.COMPLETE, Status.EXCEPTION, Status.MISSING_TEST):
            return "whole"
        return "none" if _CITING.isdisjoint(self.covered) else "part"

    def covers_words(self, *types: CitationType) -> bool:
        """Whether the citations of these types together quote every word of it."""
        return not open_pieces(self.spans, self._covered_by(types), self.source.text)

    def words_not_implemented(self) -> tuple[str, ...]:
        """The words that no implementation quotes, in the pieces in which they follow each other."""
        return self._open_words(_CITING)

    def words_not_tested(self) -> tuple[str, ...]:
        return self._open_words(_TESTING)

    def _open_words(self, types: AbstractSet[CitationType]) -> tuple[str, ...]:
        text = self.source.text
        pieces = merge_spans(open_pieces(self.spans, self._covered_by(types), text), text)
        return tuple(" ".join(text[start:end].split()).strip(_AROUND_WORDS) for start, end in pieces)

    def _covered_by(self, types: Iterable[CitationType]) -> tuple[Span, ...]:
        return merge_spans((span for kind in types for span in self.covered.get(kind, ())), self.source.text)

    @property
    def todo_count(self) -> int:
        return len(self.citations_of(CitationType.TODO))


@dataclass(frozen=True, slots=True)
class StatusSummary:
    """The number of requirements with each status."""

    by_status: dict[Status, int]

    @staticmethod
    def of(requirements: Iterable[Requirement]) -> StatusSummary:
        by_status = dict.fromkeys(_STATUSES, 0)
        for requirement in requirements:
            by_status[requirement.status] += 1
        return StatusSummary(by_status)

    @property
    def total(self) -> int:
        return sum(self.by_status.values())

    @property
    def done(self) -> int:
        return self.by_status.get(Status.COMPLETE, 0) + self.by_status.get(Status.EXCEPTION, 0)

    @property
    def percent(self) -> float:
        return 100.0 * self.done / self.total if self.total else 100.0


##= docs/spec/trace.md#identifiers
##% The identifier of a requirement MUST be the BLAKE3 hash, in 64 hexadecimal digits, of its trimmed lines joined
##% with one space.
@cache
def identify(text: str) -> str:
    """A requirement's identifier: the hex BLAKE3 hash of its normalised text."""
    return blake3(text.encode("utf-8", "surrogatepass")).digest().hex()  # much faster than `hexdigest`


def find_requirements(
    target: Target, specification: Specification, cited: Sequence[CitedText]
) -> tuple[Requirement, ...]:
    """The requirements of one specification, in text order. Each text counts once in a section."""
    quoting = [item for item in cited if item.citation.quote and item.citation.type is not CitationType.SPEC]
    others = index_by_line(specification, quoting)
    found: dict[tuple[str, str], Requirement] = {}
    for item in cited:
        citation = item.citation
        if citation.type is not CitationType.SPEC or not citation.quote:
            continue
        section = specification.section(citation.section_id or "")
        assert section is not None
        known = found.get((section.id, citation.quote))
        if known is None:
            coverage = coverage_of(item.spans, others, specification.source)
            found[section.id, citation.quote] = Requirement(
                identifier=identify(citation.quote),
                target=target,
                section=section,
                text=citation.quote,
                level=citation.level,
                status=coverage.status,
                spans=item.spans,
                citation=citation,
                related=coverage.related,
                covered=coverage.covered,
                source=specification.source,
            )
        elif citation.level > known.level:
            found[section.id, citation.quote] = replace(known, level=citation.level)
    return tuple(sorted(found.values(), key=attrgetter("spans")))


NumberedText: TypeAlias = tuple[int, CitedText]
"""The index of a cited text among all cited texts of its specification, and the cited text."""


def index_by_line(
    specification: Specification, cited: Iterable[CitedText], first_number: int = 0
) -> dict[int, list[NumberedText]]:
    """The citations of a specification by each line that they cover. They are numbered from `first_number` on."""
    line_of = specification.source.line_of
    lines: dict[int, list[NumberedText]] = {}
    for number, item in enumerate(cited, first_number):
        for start, _ in item.spans:
            lines.setdefault(line_of(start), []).append((number, item))
    return lines


@dataclass(frozen=True, slots=True)
class Coverage:
    """The status of a requirement and the citations that it depends on."""

    status: Status
    related: tuple[Citation, ...] = ()
    covered: dict[CitationType, tuple[Span, ...]] = field(default_factory=dict)


def coverage_of(spans: tuple[Span, ...], others: Mapping[int, Sequence[NumberedText]], source: SourceText) -> Coverage:
    near = dict(chain.from_iterable(others.get(source.line_of(start), ()) for start, _ in spans))
    touching: dict[CitationType, set[Span]] = {}
    related: list[Citation] = []
    for _, item in sorted(near.items()):
        touched = [
            (first, last) for first, last in item.spans if any(first < end and start < last for start, end in spans)
        ]
        if touched:
            touching.setdefault(item.citation.type, set()).update(touched)
            related.append(item.citation)
    if not touching and any(start < end for start, end in spans):
        return Coverage(Status.NOT_STARTED)
    covered = {kind: merge_spans(found) for kind, found in touching.items()}
    return Coverage(_status(spans, covered, source.text), tuple(related), covered)


##= docs/spec/trace.md#coverage
##% A requirement MUST be complete when implementations cover every word of it and tests do, too.
def _status(spans: tuple[Span, ...], covered: dict[CitationType, tuple[Span, ...]], text: str) -> Status:
    def covers(types: AbstractSet[CitationType]) -> bool:
        found = {span for kind in types if kind in covered for span in covered[kind]}
        return found.issuperset(spans) or not open_pieces(spans, merge_spans(found, text), text)

    cited, tested = covers(_CITING), covers(_TESTING)
    if cited and tested and covers({CitationType.EXCEPTION}):
        return Status.EXCEPTION
    return _status_of(cited, tested, covered.keys())


##= docs/spec/trace.md#coverage
##% A todo MUST NOT cover anything.
def _status_of(cited: bool, tested: bool, kinds: AbstractSet[CitationType]) -> Status:
    if cited:
        return Status.COMPLETE if tested else Status.MISSING_TEST
    if tested:
        return Status.MISSING_CITATION
    if kinds - {CitationType.TODO}:
        return Status.PARTIAL
    return Status.TODO if kinds else Status.NOT_STARTED


def merge_spans(spans: Iterable[Span], text: str = "") -> tuple[Span, ...]:
    """The spans sorted and without overlaps. With `text`, spans with only white space between them are joined."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and (start <= merged[-1][1] or text[merged[-1][1] : start].isspace()):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > start:
            merged.append((start, end))
    return tuple(merged)


##= docs/spec/trace.md#coverage
##% A bullet, a full stop or other text without a letter or digit MUST NOT count as missing.
def open_pieces(spans: Sequence[Span], by: Sequence[Span], text: str) -> list[Span]:
    """The pieces of `spans` outside the merged spans `by` that have words: a letter or a digit that is not a bullet."""
    pieces: list[Span] = []
    for start, end in spans:
        for low, high in by:
            if low < end and high > start:
                pieces.append((start, low))
                start = max(start, high)
        pieces.append((start, end))
    words = [(start, end) for start, end in pieces if any(map(str.isalnum, text[start:end]))]
    if words and words[0][0] == spans[0][0] and _BULLET.fullmatch(text[slice(*words[0])]):
        del words[0]
    return words
