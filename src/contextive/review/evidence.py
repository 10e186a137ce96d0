"""How well a requirement is shown to work: by a comment, a quote, a test, a test that passed, or one that ran the code.

A record holds for the content that it was made for. When the test, the code or the requirement changes, what was passed
or exercised counts as tested only, until newer results are added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import PurePosixPath
from typing import TypeAlias

from contextive.review.code_units import CodeUnit
from contextive.review.evidence_readers import Outcome, ReadEvidence, TestResult
from contextive.review.findings import Finding, Kind, content_digest, listed
from contextive.review.versions import ProjectVersion
from contextive.trace.catalog import MIN_PREFIX
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement

UnitOf: TypeAlias = Callable[[Citation], CodeUnit | None]
_SEPARATOR = re.compile(r"::|[./\\:$]")
_PARAMETERS = re.compile(r"[\[(].*", re.DOTALL)


class EvidenceLevel(IntEnum):
    """How strong the evidence is. Each level includes those before it."""

    NONE = 0
    NAMED = 1
    QUOTED = 2
    TESTED = 3
    PASSED = 4
    EXERCISED = 5

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, order=True)
class CodePlace:
    """A piece of cited code at the time of a record."""

    path: str
    symbol: str
    digest: str


@dataclass(frozen=True, slots=True, order=True)
class EvidenceRecord:
    """The result of one test of one requirement, and the cited code that it ran."""

    requirement: str
    test: CodePlace
    outcome: str
    code: tuple[CodePlace, ...] = ()
    """All code that cited the requirement …"""
    ran: tuple[CodePlace, ...] = ()
    """… and the part of it that the test ran."""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceState:
    """The evidence of a requirement now."""

    level: EvidenceLevel
    is_current: bool = True
    """False if there is a record of a test, and the test, the code or the requirement changed since."""
    commit: str = ""
    """The commit of the newest record that counts."""

    @property
    def words(self) -> str:
        """The level and the age."""
        return self.level.word if self.is_current else f"{self.level.word}, changed since"


##= docs/spec/review.md#evidence
##% A result MUST count for a test only if its name and its file or class are those of that test, and of no other cited test
##% unless a property of the result names the requirement.
def match_results(
    evidence: Sequence[ReadEvidence], requirements: Iterable[Requirement], unit_of: UnitOf, commit: str
) -> list[EvidenceRecord]:
    """What the results of tests say about requirements: one record for each test of a requirement."""
    results = [result for one in evidence for result in one.results]
    by_name: dict[str, list[TestResult]] = {}
    for result in results:
        by_name.setdefault(_test_name(result), []).append(result)
    pairs = [(r, c, unit) for r in requirements for c in r.citations_of(CitationType.TEST) if (unit := unit_of(c))]
    places = {(citation.source, unit.symbol) for _, citation, unit in pairs}
    records = []
    for requirement, citation, unit in pairs:
        name = unit.symbol.rpartition(".")[2]
        fitting = [one for one in by_name.get(name, ()) if _is_of(one, citation.source, unit.symbol)]
        found = [
            one
            for one in fitting
            if _names(one, requirement) or not _is_ambiguous(one, citation.source, unit.symbol, places)
        ]
        if found:
            ran = tuple(sorted(_code_that_ran(requirement, unit_of, evidence, citation.source, unit.symbol)))
            test = CodePlace(citation.source, unit.symbol, unit.digest)
            code = tuple(sorted(_cited_code(requirement, unit_of)))
            records.append(EvidenceRecord(requirement.identifier, test, _outcome(found).value, code, ran, commit))
    return records


def _cited_code(requirement: Requirement, unit_of: UnitOf) -> set[CodePlace]:
    citations = requirement.citations_of(CitationType.CITATION, CitationType.IMPLICATION)
    return {CodePlace(c.source, unit.symbol, unit.digest) for c in citations if (unit := unit_of(c))}


def _outcome(results: Sequence[TestResult]) -> Outcome:
    outcomes = {result.outcome for result in results}
    if Outcome.FAILED in outcomes:
        return Outcome.FAILED
    return Outcome.PASSED if Outcome.PASSED in outcomes else Outcome.SKIPPED


def _test_name(result: TestResult) -> str:
    return _SEPARATOR.split(_PARAMETERS.sub("", result.name).partition("/")[0])[-1]


def _is_of(result: TestResult, path: str, symbol: str) -> bool:
    """Whether a result is of a test in this file, by the file of the result or else by its class or module."""
    if result.file:
        return _is_same_file(result.file, path)
    *around, _ = _SEPARATOR.split(_PARAMETERS.sub("", result.name).partition("/")[0])
    parts = [part for part in (*_SEPARATOR.split(result.classname), *around) if part]
    file = PurePosixPath(path)
    known = {*file.parts[:-1], file.stem, *symbol.split(".")}
    return bool(parts) and parts[-1] in known and (file.stem in parts or parts[-1] != file.stem)


def _names(result: TestResult, requirement: Requirement) -> bool:
    """Whether the runner says, in a property, that the result is about a requirement."""
    identifier, handle = requirement.identifier, requirement.handle
    return any(
        (handle and name == handle) or (len(name) >= MIN_PREFIX and identifier.startswith(name))
        for name in result.requirements
    )


def _is_same_file(named: str, path: str) -> bool:
    """Whether a path in a report is this file, perhaps with the directory of another machine before it."""
    named = named.replace("\\", "/").removeprefix("./")
    return named == path or named.endswith(f"/{path}")


def _is_ambiguous(result: TestResult, path: str, symbol: str, places: Iterable[tuple[str, str]]) -> bool:
    """Whether the result may also be of another test that is cited."""
    name = symbol.rpartition(".")[2]
    others = (place for place in places if place != (path, symbol) and place[1].rpartition(".")[2] == name)
    return any(_is_of(result, *other) for other in others)


def _code_that_ran(
    requirement: Requirement, unit_of: UnitOf, evidence: Sequence[ReadEvidence], path: str, symbol: str
) -> Iterator[CodePlace]:
    """The code that cites the requirement and that this test ran, which only coverage by test can say."""
    ran: dict[str, set[int]] = {}
    for one in evidence:
        for test, lines in one.by_test.items():
            named, _, inner = test.partition("::")
            is_this = inner and _is_same_file(named, path) and _PARAMETERS.sub("", inner).replace("::", ".") == symbol
            for file, numbers in lines.items() if is_this else ():
                ran.setdefault(file, set()).update(numbers)
    for citation in requirement.citations_of(CitationType.CITATION, CitationType.IMPLICATION):
        unit = unit_of(citation)
        if unit is None:
            continue
        if any(
            _is_same_file(file, citation.source) and not numbers.isdisjoint(unit.body) for file, numbers in ran.items()
        ):
            yield CodePlace(citation.source, unit.symbol, unit.digest)


##= docs/spec/review.md#evidence
##% A newer result of a test MUST replace the older ones of that test.
def merge_records(old: Iterable[EvidenceRecord], new: Sequence[EvidenceRecord]) -> list[EvidenceRecord]:
    replaced = {(one.requirement, one.test.path, one.test.symbol) for one in new}
    kept = [one for one in old if (one.requirement, one.test.path, one.test.symbol) not in replaced]
    return sorted({*kept, *new})


##= docs/spec/review.md#evidence
##% A level MUST NOT be higher than its evidence: `passed` and `exercised` hold only while the test, the code and the
##% requirement are the same as in the record.
def evidence_of(
    requirement: Requirement, records: Mapping[str, Sequence[EvidenceRecord]], unit_of: UnitOf
) -> EvidenceState:
    """The level of a requirement now. `records` are by the path of the test."""
    tests = requirement.citations_of(CitationType.TEST)
    code = requirement.citations_of(CitationType.CITATION, CitationType.IMPLICATION)
    if not tests:
        quoted = any(citation.quote for citation in code)
        return EvidenceState(EvidenceLevel.QUOTED if quoted else EvidenceLevel.NAMED if code else EvidenceLevel.NONE)
    places = {(c.source, unit.symbol): unit.digest for c in tests if (unit := unit_of(c))}
    related = [
        one
        for path in {path for path, _ in places}
        for one in records.get(path, ())
        if (path, one.test.symbol) in places
    ]
    now = _cited_code(requirement, unit_of)
    valid = [
        one
        for one in related
        if one.requirement == requirement.identifier
        and places[one.test.path, one.test.symbol] == one.test.digest
        and set(one.code) == now
    ]
    passed = [one for one in valid if one.outcome == Outcome.PASSED.value]
    if not passed or any(one.outcome == Outcome.FAILED.value for one in valid):
        return EvidenceState(EvidenceLevel.TESTED, is_current=bool(valid) or not related)
    ran = {place for one in passed for place in one.ran}
    level = EvidenceLevel.EXERCISED if now and now <= ran else EvidenceLevel.PASSED
    return EvidenceState(level, commit=passed[-1].commit)


##= docs/spec/review.md#findings
##% Evidence that holds for the version before a change and not for the one after it MUST be reported.
def outdated_evidence(
    records: Sequence[EvidenceRecord], old: ProjectVersion, new: ProjectVersion, changed: Collection[str]
) -> list[Finding]:
    """One finding about all requirements whose newest results are older than the change."""
    before, after = _digests(old, changed), _digests(new, changed)
    outdated: dict[str, EvidenceRecord] = {}
    for record in records:
        if record.outcome != Outcome.PASSED.value:
            continue
        for place in (record.test, *record.code):
            key = (place.path, place.symbol)
            if place.digest in before.get(key, ()) and place.digest not in after.get(key, ()):
                outdated.setdefault(record.requirement, record)
    if not outdated:
        return []
    first = min(outdated.values())
    tests = sorted({record.test.symbol for record in outdated.values()})
    return [
        Finding(
            Kind.EVIDENCE_OUTDATED, first.test.path, 1, first.requirement[:12],
            f"The results of {len(tests)} tests for {len(outdated)} requirements are older than this change: {listed(tests)}.",
            "Run these tests, and add the results: contextive-mcp evidence add FILE", content_digest(*sorted(outdated)),
        )
    ]  # fmt: skip


def _digests(version: ProjectVersion, changed: Collection[str]) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for citation in version.citations_in(changed):
        if (unit := version.unit(citation)) is not None:
            found.setdefault((citation.source, unit.symbol), set()).add(unit.digest)
    return found
