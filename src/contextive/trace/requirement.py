"""Requirements with what the project has done about them: cited, tested, excused, left open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
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


@dataclass(frozen=True, slots=True)
class Requirement:
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
    covered: dict[CitationType, tuple[Span, ...]] = field(compare=False)

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


@dataclass(frozen=True, slots=True)
class Summary:
    """How many requirements there are of each status."""

    by_status: dict[Status, int]

    @staticmethod
    def of(requirements: Iterable[Requirement]) -> Summary:
        counted = Counter(requirement.status for requirement in requirements)
        return Summary({status: counted.get(status, 0) for status in Status})

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
    source = report.specification.source
    pieces: dict[int, list[Reference]] = {}
    for reference in report.references:
        number, citation, _, _ = reference
        if citation.type is CitationType.SPEC and citation.quote:
            pieces.setdefault(number, []).append(reference)
    others = _by_line(report)
    found: dict[tuple[str, str], Requirement] = {}
    for references in pieces.values():
        citation = references[0].citation
        section = report.specification.section(citation.section_id or "")
        assert section is not None
        identifier = identify(citation.quote)
        key = (section.id, identifier)
        if key in found:
            if citation.level > found[key].level:
                found[key] = replace(found[key], level=citation.level)
            continue
        spans = tuple([(start, end) for _, _, start, end in references])
        state = _state(spans, others, source)
        found[key] = Requirement(
            identifier=identifier,
            target=report.target,
            section=section,
            text=citation.quote,
            level=citation.level,
            status=state.status,
            spans=spans,
            citation=citation,
            related=state.related,
            covered=state.covered,
        )
    return tuple(sorted(found.values(), key=lambda requirement: requirement.spans))


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


def _by_line(report: TargetReport, lines: Container[int] | None = None) -> dict[int, list[Reference]]:
    """What quotes the specification and is no requirement itself, by line; on all lines or on some."""
    line_of = report.specification.source.line_of
    others: dict[int, list[Reference]] = {}
    for reference in report.references:
        _, citation, start, _ = reference
        if citation.type is not CitationType.SPEC and citation.quote:
            line = line_of(start)
            if lines is None or line in lines:
                others.setdefault(line, []).append(reference)
    return others


class _State(NamedTuple):
    """What citations make of a requirement."""

    status: Status
    related: tuple[Citation, ...]
    covered: dict[CitationType, tuple[Span, ...]]


def _state(spans: tuple[Span, ...], others: dict[int, list[Reference]], source: SourceText) -> _State:
    line_of = source.line_of
    touching = [
        other
        for start, end in spans
        for other in others.get(line_of(start), ())
        if other.start < end and start < other.end
    ]
    if not touching and any(start < end for start, end in spans):
        return _State(Status.NOT_STARTED, (), {})
    covered: dict[CitationType, tuple[Span, ...]] = {}
    for kind in {reference.citation.type for reference in touching}:
        covered[kind] = merge_spans((r.start, r.end) for r in touching if r.citation.type is kind)
    related = {reference.number: reference.citation for reference in touching}
    return _State(_status(spans, covered, source.text), tuple(related[n] for n in sorted(related)), covered)


##= docs/spec/trace.md#coverage
##% A requirement MUST be complete when its whole text is covered by implementations and by tests.
##= docs/spec/trace.md#coverage
##% An implication and an exception MUST count as implementation and as test.
##= docs/spec/trace.md#coverage
##% A todo MUST NOT cover anything.
def _status(spans: tuple[Span, ...], covered: dict[CitationType, tuple[Span, ...]], text: str) -> Status:
    def covers(*types: CitationType) -> bool:
        found = {span for kind in types if kind in covered for span in covered[kind]}
        return found.issuperset(spans) or is_covered(spans, merge_spans(found, text))

    cited = covers(CitationType.CITATION, CitationType.IMPLICATION, CitationType.EXCEPTION)
    tested = covers(CitationType.TEST, CitationType.IMPLICATION, CitationType.EXCEPTION)
    if cited and tested:
        return Status.EXCEPTION if covers(CitationType.EXCEPTION) else Status.COMPLETE
    if cited:
        return Status.MISSING_TEST
    if tested:
        return Status.MISSING_CITATION
    if any(kind is not CitationType.TODO for kind in covered):
        return Status.PARTIAL
    return Status.TODO if covered else Status.NOT_STARTED


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
