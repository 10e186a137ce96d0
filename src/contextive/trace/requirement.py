"""Requirements with what the project has done about them: cited, tested, excused, left open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from functools import cache, partial
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from blake3 import blake3

from contextive.trace.analysis import Claim, Share, Span, TargetReport
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType, Level
from contextive.trace.specification import Section
from contextive.trace.target import Target
from contextive.trace.text import SourceText

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
    """One requirement in its section, and every citation that touches its text. A tuple: there are thousands of them."""

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
    """The text that each kind of citation claims, as far as it touches the requirement."""

    def __hash__(self) -> int:
        return hash((self.identifier, self.section.id))  # what is covered has no hash, and the rest is told by these

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


_requirement = partial(tuple.__new__, Requirement)
"""A requirement from a tuple, which costs half of what `Requirement` itself does."""


class Summary(NamedTuple):
    """How many requirements there are of each status."""

    by_status: dict[Status, int]

    @staticmethod
    def of(requirements: Iterable[Requirement]) -> Summary:
        by_status = dict.fromkeys(_STATUSES, 0)
        for requirement in requirements:
            by_status[requirement.status] += 1
        return Summary(by_status)

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
    return blake3(text.encode("utf-8", "surrogatepass")).digest().hex()  # Python writes the digits much faster


def requirements_of(report: TargetReport) -> tuple[Requirement, ...]:
    """The requirements of one specification, in the order of its text, each text once a section. Several reports ask for them."""
    known = report._memory.get("requirements")
    if not isinstance(known, tuple):
        known = report._memory["requirements"] = _requirements_of(report)
    return known


def _requirements_of(report: TargetReport) -> tuple[Requirement, ...]:
    source, target = report.specification.source, report.target
    own, others = _by_kind(report)
    sections: dict[str, Section] = {}
    found: dict[tuple[str, str], Requirement] = {}
    for citation, spans in own:
        section = sections.get(citation.target)
        if section is None:
            section = sections[citation.target] = _section_of(report, citation)
        text, level = citation.quote, citation.level
        known = found.get((section.id, text))
        if known is None:
            status, related, covered = _state(spans, others, source)
            found[section.id, text] = _requirement(
                (identify(text), target, section, text, level, status, spans, citation, related, covered)
            )
        elif level > known.level:
            found[section.id, text] = known._replace(level=level)
    return tuple(sorted(found.values(), key=attrgetter("spans")))


def _section_of(report: TargetReport, citation: Citation) -> Section:
    section = report.specification.section(citation.section_id or "")
    assert section is not None
    return section


def renewed_requirements(
    report: TargetReport, known: Sequence[Requirement], changed: Iterable[Share]
) -> tuple[Requirement, ...]:
    """The same as `requirements_of`, from those before `changed` came or went: only what these touch is worked out again."""
    claims = [claim for share in changed for claim in share.claims]
    if any(citation.type is CitationType.SPEC for _, citation, _ in claims):
        return requirements_of(report)
    line_of = report.specification.source.line_of
    lines = {line_of(start) for _, _, spans in claims for start, _ in spans}
    touched = {
        index: requirement
        for index, requirement in enumerate(known)
        if any(line_of(start) in lines for start, _ in requirement.spans)
    }
    _, others = _by_kind(report)
    requirements = list(known)
    for index, requirement in touched.items():
        status, related, covered = _state(requirement.spans, others, report.specification.source)
        requirements[index] = requirement._replace(status=status, related=related, covered=covered)
    return tuple(requirements)


def _by_kind(report: TargetReport) -> tuple[list[tuple[Citation, tuple[Span, ...]]], dict[int, list[Claim]]]:
    """What quotes the specification: its requirements, and everything else by the lines on which it claims something."""
    line_of, spec = report.specification.source.line_of, CitationType.SPEC
    own: list[tuple[Citation, tuple[Span, ...]]] = []
    others: dict[int, list[Claim]] = {}
    for claim in report.claims:
        _, citation, spans = claim
        if not citation.quote:
            continue
        if citation.type is spec:
            own.append((citation, spans))
        else:
            for start, _ in spans:
                others.setdefault(line_of(start), []).append(claim)
    return own, others


_State: TypeAlias = tuple[Status, tuple[Citation, ...], dict[CitationType, tuple[Span, ...]]]
"""What citations make of a requirement: its status, they themselves, and what each kind of them covers."""


def _state(spans: tuple[Span, ...], others: dict[int, list[Claim]], source: SourceText) -> _State:
    line_of = source.line_of
    near: dict[int, Claim] = {}
    whole = True
    for start, end in spans:
        for claim in others.get(line_of(start), ()):
            near[claim[0]] = claim
            whole = whole and claim[2] == spans
        whole = whole and start < end
    if not whole:
        return _state_by_pieces(spans, [near[number] for number in sorted(near)], source.text)
    if not near:
        return Status.NOT_STARTED, (), {}
    # Whole requirements were quoted, as most are: all of them claim the first line and were met there, in order.
    covered = {citation.type: spans for _, citation, _ in near.values()}
    return _status_by_kinds(frozenset(covered)), tuple([citation for _, citation, _ in near.values()]), covered


def _state_by_pieces(spans: tuple[Span, ...], near: Sequence[Claim], text: str) -> _State:
    """The same where citations claim something else than the whole requirement and nothing but it."""
    touching: dict[CitationType, set[Span]] = {}
    related: dict[int, Citation] = {}
    for start, end in spans:
        for number, citation, claimed in near:
            for first, last in claimed:
                if first < end and start < last:
                    touching.setdefault(citation.type, set()).add((first, last))
                    related[number] = citation
    if not touching and any(start < end for start, end in spans):
        return Status.NOT_STARTED, (), {}
    covered = {kind: merge_spans(found) for kind, found in touching.items()}
    return _status(spans, covered, text), tuple([related[number] for number in sorted(related)]), covered


##= docs/spec/trace.md#coverage
##% A requirement MUST be complete when its whole text is covered by implementations and by tests.
##= docs/spec/trace.md#coverage
##% An implication and an exception MUST count as implementation and as test.
##= docs/spec/trace.md#coverage
##% A todo MUST NOT cover anything.
def _status(spans: tuple[Span, ...], covered: dict[CitationType, tuple[Span, ...]], text: str) -> Status:
    if set(covered.values()) == {spans}:
        return _status_by_kinds(frozenset(covered))

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
