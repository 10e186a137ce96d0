"""The end of the output of `duvet report`: the summary, and the lines that fail the CI check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Location
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement, Status, StatusSummary
from contextive.trace.target import cached_path

MAX_LINES = 10
"""At most this many lines are listed for one failure; `duvet query` shows all."""
_STATUS_TEXTS: Mapping[Status, tuple[str, str]] = {
    Status.NOT_STARTED: ("is not started", "are not started"),
    Status.TODO: ("is a todo", "are todos"),
    Status.PARTIAL: ("is cited in part", "are cited in part"),
    Status.MISSING_CITATION: ("lacks code", "lack code"),
    Status.MISSING_TEST: ("lacks a test", "lack a test"),
}


def summary_line(requirements: Iterable[Requirement]) -> str:
    """How many requirements are done, and what the others lack."""
    summary = StatusSummary.of(requirements)
    if not summary.total:
        return "no requirements found"
    done = f"{summary.done} of {summary.total} {_plural(summary.total, 'requirement')} done ({int(summary.percent)} %)"
    not_done = [
        f"{count} {texts[count > 1]}" for status, texts in _STATUS_TEXTS.items() if (count := summary.by_status[status])
    ]
    return ": ".join((done, ", ".join(not_done))) if not_done else done


##= docs/spec/trace.md#ci-rules
##% With `--ci` and no snapshot, a report MUST fail on a referenced line that is not cited, and on a cited line that
##% is not tested.
##= docs/spec/trace.md#ci-rules
##% A report that fails because of uncited or untested lines MUST name them.
def gate_failures(
    reports: Iterable[TargetReport], require_citations: bool, require_tests: bool, download_dir: str
) -> Iterator[str]:
    """The failures of the CI check by duvet's rule, which works on whole lines: a message, then the lines it is about."""
    uncited: list[tuple[Location, str]] = []
    untested: list[tuple[Location, str]] = []
    for report in reports:
        significant, cited, tested = _lines_by_kind(report)
        uncited += _located_lines(report, significant - cited, download_dir)
        untested += _located_lines(report, cited - tested, download_dir)
    if require_citations and uncited:
        yield "  × Specification requirements missing citation."
        yield from _format_lines(uncited, "implementation")
    if require_tests and untested:
        yield "  × Citation missing test."
        yield from _format_lines(untested, "test")


def _lines_by_kind(report: TargetReport) -> tuple[set[int], set[int], set[int]]:
    """The numbers of the lines that are referenced, cited and tested."""
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


def _located_lines(report: TargetReport, numbers: Iterable[int], download_dir: str) -> list[tuple[Location, str]]:
    ordered = sorted(numbers)
    if not ordered:
        return []
    target = report.target
    path = cached_path(target.path, download_dir) if target.is_url else target.display_name
    lines = report.specification.source.text.split("\n")
    return [(Location(path, number), lines[number - 1].strip()) for number in ordered]


def _format_lines(found: Sequence[tuple[Location, str]], check: str) -> Iterator[str]:
    for location, text in found[:MAX_LINES]:
        yield f"    {location.path}:{location.line}  {text[:100]}{'…' if len(text) > 100 else ''}"
    left = len(found) - MAX_LINES
    if left > 0:
        yield f"    and {left} more {_plural(left, 'line')}: duvet query -c {check} shows all"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
