"""The checks of `duvet query`: what is not implemented, not tested or cited twice, with the citation that fixes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from contextive.trace.analysis import Analysis
from contextive.trace.citation import Citation
from contextive.trace.citation_reading import COMMENT_STYLES
from contextive.trace.citation_writing import write_citation
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement, merge_spans, open_pieces

Check = Literal["implementation", "test", "duplicates"]
CHECKS: tuple[Check, ...] = ("implementation", "test", "duplicates")
_COUNTING = (CitationType.CITATION, CitationType.IMPLICATION, CitationType.EXCEPTION)


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One problem that a check found."""

    check: Check
    kind: str
    where: str
    text: str
    help: str = ""


##= docs/spec/trace.md#other-commands
##% The command `duvet query` MUST check implementations, tests and duplicates, and end with the exit code 1 if it
##% finds a problem.
def run_checks(
    checks: Iterable[Check], analysis: Analysis, requirements: Sequence[Requirement]
) -> dict[Check, list[CheckFinding]]:
    """The findings of each check; a check without findings passes."""
    runners = {
        "implementation": lambda: _implementation(requirements),
        "test": lambda: _tests(requirements),
        "duplicates": lambda: _duplicates(analysis),
    }
    return {check: list(runners[check]()) for check in checks}


def _implementation(requirements: Iterable[Requirement]) -> Iterator[CheckFinding]:
    for requirement in requirements:
        if requirement.covers_words(*_COUNTING):
            continue
        todos = bool(requirement.covered.get(CitationType.TODO))
        begun = any(requirement.covered.get(kind) for kind in _COUNTING)
        kind = ("mixed" if todos else "incomplete") if begun else ("TODO only" if todos else "missing")
        yield _finding("implementation", kind, requirement, None)


def _tests(requirements: Iterable[Requirement]) -> Iterator[CheckFinding]:
    for requirement in requirements:
        implemented = requirement.covered.get(CitationType.CITATION, ())
        tested = merge_spans(
            span
            for kind in (CitationType.TEST, CitationType.IMPLICATION, CitationType.EXCEPTION)
            for span in requirement.covered.get(kind, ())
        )
        if implemented and open_pieces(implemented, tested, requirement.source.text):
            yield _finding("test", "untested", requirement, CitationType.TEST)


def _finding(check: Check, kind: str, requirement: Requirement, type_: CitationType | None) -> CheckFinding:
    target = f"{requirement.target.path}#{requirement.section.id}"
    return CheckFinding(
        check, kind, target, requirement.text, write_citation(COMMENT_STYLES[0], target, requirement.text, type_)
    )


def _duplicates(analysis: Analysis) -> Iterator[CheckFinding]:
    seen: dict[tuple[object, ...], Citation] = {}
    for item in analysis.matched:
        citation = item.citation
        if item.match is None or citation.type is CitationType.SPEC:
            continue
        key = (citation.type, item.target, item.match.spans)
        first = seen.setdefault(key, citation)
        if first is not citation:
            yield CheckFinding(
                "duplicates", citation.type.value, citation.id, citation.quote, f"first cited at {first.id}"
            )
