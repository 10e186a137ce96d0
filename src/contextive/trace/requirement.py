"""Requirements with what the project has done about them: cited, tested, excused, left open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from blake3 import blake3

from contextive.trace.analysis import Reference, Share, TargetReport
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType, Level
from contextive.trace.specification import Section
from contextive.trace.target import Target
from contextive.trace.text import SourceText

Span: TypeAlias = tuple[int, int]


_CITING = frozenset({CitationType.CITATION, CitationType.IMPLICATION, CitationType.EXCEPTION})
_TESTING = frozenset({CitationType.TEST, CitationType.IMPLICATION, CitationType.EXCEPTION})


class Status(StrEnum):
    """How far a requirement is. A todo is a promise and covers nothing."""

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


class Requirement(NamedTuple):
    """One requirement in its section, and every citation that touches its text."""

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
    """It follows from the others, so it does not tell requirements apart."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirement) and self[:-1] == other[:-1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.target, self.section.id, self.identifier))

    def citations_of(self, *types: CitationType) -> list[Citation]:
        return [citation for citation in self.related if citation.type in types]

    ##= docs/spec/trace.md#list-uncited-requirements
    ##% A requirement MUST be uncited while no implementation, implication or exception touches it, whatever tests
    ##% and todos do.
    @property
    def is_cited(self) -> bool:
        """Whether the code says anything that counts: a test or a todo alone does not."""
        return not _CITING.isdisjoint(self.covered)

    @property
    def todo_count(self) -> int:
        return len(self.citations_of(CitationType.TODO))


replace = Requirement._replace


class Summary(NamedTuple):
    """How many requirements there are of each status."""

    by_status: dict[Status, int]

    @staticmethod
    def of(requirements: Iterable[Requirement]) -> Summary:
        counted = Counter([requirement.status for requirement in requirements])
        return Summary({status: counted.get(status, 0) for status in _STATUSES})

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
##% The identifier of a requirement MUST be the BLAKE3 hash, in 64 hexadecimal digits, of its lines trimmed and
##% joined with one space.
@cache
def identify(text: str) -> str:
    """A requirement's identifier: the hex BLAKE3 hash of its normalised text."""
    return blake3(text.encode("utf-8", "surrogatepass")).hexdigest()


def requirements_of(report: TargetReport) -> tuple[Requirement, ...]:
    """The requirements of one specification, in the order of its text, each text once a section. Several reports ask for them."""
    known = report._memory.get("requirements")
    if not isinstance(known, tuple):
        known = report._memory["requirements"] = _requirements_of(report)
    return known


def _requirements_of(report: TargetReport) -> tuple[Requirement, ...]:
    source, section_of = report.specification.source, report.specification.section
    line_of = source.line_of
    own: dict[int, tuple[Citation, list[Span]]] = {}
    others: dict[int, list[Reference]] = {}
    for reference in report.references:
        number, citation, start, end = reference
        if not citation.quote:
            continue
        if citation.type is not CitationType.SPEC:
            others.setdefault(line_of(start), []).append(reference)
        elif number in own:
            own[number][1].append((start, end))
        else:
            own[number] = (citation, [(start, end)])
    found: dict[tuple[str, str], Requirement] = {}
    for citation, pieces in own.values():
        section = section_of(citation.section_id or "")
        assert section is not None
        identifier = identify(citation.quote)
        key = (section.id, identifier)
        if key in found:
            if citation.level > found[key].level:
                found[key] = replace(found[key], level=citation.level)
            continue
        spans = tuple(pieces)
        status, related, covered = _state(spans, others, source)
        found[key] = Requirement(
            identifier,
            report.target,
            section,
            citation.quote,
            citation.level,
            status,
            spans,
            citation,
            related,
            covered,
        )
    return tuple(sorted(found.values(), key=attrgetter("spans")))


def renewed_requirements(
    report: TargetReport, known: Sequence[Requirement], changed: Iterable[Share]
) -> tuple[Requirement, ...]:
    """The same as `requirements_of`, from those before `changed` came or went: only what these touch is worked out again."""
    pieces = [piece for share in changed for piece in share.pieces]
    if any(citation.type is CitationType.SPEC for _, citation, _, _ in pieces):
        return requirements_of(report)
    line_of = report.specification.source.line_of
    lines = {line_of(start) for _, _, start, _ in pieces}
    touched = {
        index: requirement
        for index, requirement in enumerate(known)
        if any(line_of(start) in lines for start, _ in requirement.spans)
    }
    others = _by_line(report, {line_of(start) for requirement in touched.values() for start, _ in requirement.spans})
    requirements = list(known)
    for index, requirement in touched.items():
        state = _state(requirement.spans, others, report.specification.source)
        requirements[index] = replace(requirement, status=state.status, related=state.related, covered=state.covered)
    return tuple(requirements)


def _by_line(report: TargetReport, lines: Container[int]) -> dict[int, list[Reference]]:
    """What quotes some lines of the specification and is no requirement itself, by line."""
    line_of = report.specification.source.line_of
    others: dict[int, list[Reference]] = {}
    for reference in report.references:
        _, citation, start, _ = reference
        if citation.type is not CitationType.SPEC and citation.quote and (line := line_of(start)) in lines:
            others.setdefault(line, []).append(reference)
    return others


class _State(NamedTuple):
    """What citations make of a requirement."""

    status: Status
    related: tuple[Citation, ...]
    covered: dict[CitationType, tuple[Span, ...]]


def _state(spans: tuple[Span, ...], others: dict[int, list[Reference]], source: SourceText) -> _State:
    line_of = source.line_of
    touching: dict[CitationType, set[Span]] = {}
    related: dict[int, Citation] = {}
    for start, end in spans:
        for number, citation, first, last in others.get(line_of(start), ()):
            if first < end and start < last:
                touching.setdefault(citation.type, set()).add((first, last))
                related[number] = citation
    if not touching and any(start < end for start, end in spans):
        return _State(Status.NOT_STARTED, (), {})
    covered = {kind: merge_spans(found) for kind, found in touching.items()}
    cited = tuple(related.values()) if len(related) == 1 else tuple([related[number] for number in sorted(related)])
    return _State(_status(spans, covered, source.text), cited, covered)


##= docs/spec/trace.md#coverage
##% A requirement MUST be complete when its whole text is covered by implementations and by tests.
##= docs/spec/trace.md#coverage
##% An implication and an exception MUST count as implementation and as test.
##= docs/spec/trace.md#coverage
##% A todo MUST NOT cover anything.
def _status(spans: tuple[Span, ...], covered: dict[CitationType, tuple[Span, ...]], text: str) -> Status:
    if set(covered.values()) == {spans}:
        return _status_by_kinds(frozenset(covered))  # whole requirements were quoted, as most are

    def covers(types: AbstractSet[CitationType]) -> bool:
        found = {span for kind in types if kind in covered for span in covered[kind]}
        return found.issuperset(spans) or is_covered(spans, merge_spans(found, text))

    cited, tested = covers(_CITING), covers(_TESTING)
    if cited and tested and covers({CitationType.EXCEPTION}):
        return Status.EXCEPTION
    return _status_of(cited, tested, covered.keys())


@cache
def _status_by_kinds(kinds: frozenset[CitationType]) -> Status:
    """The status of a requirement whose whole text each of these kinds covers."""
    if CitationType.EXCEPTION in kinds:
        return Status.EXCEPTION
    return _status_of(not _CITING.isdisjoint(kinds), not _TESTING.isdisjoint(kinds), kinds)


def _status_of(cited: bool, tested: bool, kinds: AbstractSet[CitationType]) -> Status:
    if cited:
        return Status.COMPLETE if tested else Status.MISSING_TEST
    if tested:
        return Status.MISSING_CITATION
    if kinds - {CitationType.TODO}:
        return Status.PARTIAL
    return Status.TODO if kinds else Status.NOT_STARTED


def merge_spans(spans: Iterable[Span], text: str = "") -> tuple[Span, ...]:
    """The same ground without overlaps, in order. With the text at hand, a gap of white space is no gap."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and (start <= merged[-1][1] or text[merged[-1][1] : start].isspace()):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > start:
            merged.append((start, end))
    return tuple(merged)


def is_covered(spans: Iterable[Span], by: Sequence[Span]) -> bool:
    """Whether every piece of `spans` lies in one of the merged spans `by`."""
    return all(start >= end or any(low <= start and end <= high for low, high in by) for start, end in spans)
