"""What `duvet report` says at its end: how far the project is, which lines a gate wants, and what a broken citation meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextive.ingest.traced_project import TraceState
from contextive.trace.advice import STYLES, judge_citation
from contextive.trace.analysis import TargetReport
from contextive.trace.catalog import TraceCatalog
from contextive.trace.citation import Citation, Place, Problem
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement, Status, Summary
from contextive.trace.target import cached_path

MOST_MEANINGS = 20
"""For so many broken citations the nearest text is looked for; that takes longer than all the rest."""
MOST_LINES = 10
"""So many lines of one complaint are shown. Who has more of them wants another view."""
_JUDGED = frozenset({"specification_not_found", "section_missing", "section_not_found", "quote_not_found"})
_WORDS: Mapping[Status, tuple[str, str]] = {
    Status.NOT_STARTED: ("is not started", "are not started"),
    Status.TODO: ("is a todo", "are todos"),
    Status.PARTIAL: ("is cited in part", "are cited in part"),
    Status.MISSING_CITATION: ("lacks code", "lack code"),
    Status.MISSING_TEST: ("lacks a test", "lack a test"),
}


def outcome(requirements: Iterable[Requirement]) -> str:
    """How many requirements are done, and what the others lack."""
    summary = Summary.of(requirements)
    if not summary.total:
        return "no requirement was found"
    done = f"{summary.done} of {summary.total} {_plural(summary.total, 'requirement')} done ({int(summary.percent)} %)"
    open_ones = [
        f"{count} {words[count > 1]}" for status, words in _WORDS.items() if (count := summary.by_status[status])
    ]
    return ": ".join((done, ", ".join(open_ones))) if open_ones else done


##= docs/spec/trace.md#ci-rules
##% With `--ci` and no snapshot, a report MUST fail on a referenced line that is not cited, and on a cited line that
##% is not tested.
##= docs/spec/trace.md#ci-rules
##% A report that fails for lines that are not cited or not tested MUST name them.
def complaints(
    reports: Iterable[TargetReport], require_citations: bool, require_tests: bool, download_dir: str
) -> Iterator[str]:
    """What the specifications lack under duvet's own rule, which looks at whole lines: each complaint, then its places."""
    uncited: list[tuple[Place, str]] = []
    untested: list[tuple[Place, str]] = []
    for report in reports:
        significant, cited, tested = _lines_by_kind(report)
        uncited += _shown(report, significant - cited, download_dir)
        untested += _shown(report, cited - tested, download_dir)
    if require_citations and uncited:
        yield "  × Specification requirements missing citation."
        yield from _listed(uncited, "implementation")
    if require_tests and untested:
        yield "  × Citation missing test."
        yield from _listed(untested, "test")


class Meanings:
    """What broken citations probably meant, found out when it is asked for."""

    def __init__(self, state: TraceState) -> None:
        self._state = state
        self._asked: tuple[TraceCatalog, dict[Problem, Citation]] | None = None

    def of(self, problem: Problem) -> str:
        """The nearest specification, section or sentence; nothing where none is near."""
        if problem.code not in _JUDGED:
            return ""
        if self._asked is None:
            catalog = TraceCatalog(self._state.analysis, self._state.specifications)
            self._asked = catalog, {problem: citation for citation, problem in catalog.invalid}
        catalog, broken = self._asked
        citation = broken.get(problem)
        nearest = judge_citation(citation, catalog, STYLES[0]).nearest if citation is not None else ""
        return f"nearest: {nearest}" if nearest else ""


def _lines_by_kind(report: TargetReport) -> tuple[set[int], set[int], set[int]]:
    """The lines that are referenced at all, those that are cited, and those that are tested."""
    significant: set[int] = set()
    cited: set[int] = set()
    tested: set[int] = set()
    for reference in report.references:
        line = report.specification.source.line_of(reference.start)
        significant.add(line)
        match reference.citation.type:
            case CitationType.TEST:
                tested.add(line)
            case CitationType.CITATION:
                cited.add(line)
            case CitationType.EXCEPTION | CitationType.IMPLICATION:
                cited.add(line)
                tested.add(line)
            case CitationType.SPEC | CitationType.TODO:
                pass
    return significant, cited, tested


def _shown(report: TargetReport, numbers: Iterable[int], download_dir: str) -> list[tuple[Place, str]]:
    wanted = sorted(numbers)
    if not wanted:
        return []
    target = report.target
    path = cached_path(target.path, download_dir) if target.is_url else target.shown
    lines = report.specification.source.text.split("\n")
    return [(Place(path, number), lines[number - 1].strip()) for number in wanted]


def _listed(found: Sequence[tuple[Place, str]], check: str) -> Iterator[str]:
    for place, text in found[:MOST_LINES]:
        yield f"    {place.path}:{place.line}  {text[:100]}{'…' if len(text) > 100 else ''}"
    left = len(found) - MOST_LINES
    if left > 0:
        yield f"    and {left} more {_plural(left, 'line')}: duvet query -c {check} shows all"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
