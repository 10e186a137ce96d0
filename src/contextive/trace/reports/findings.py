"""Problems, warnings and open requirements as findings, for the GitHub and SARIF reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Location, Problem
from contextive.trace.level import Level
from contextive.trace.reports.safe_text import shorten
from contextive.trace.requirement import Requirement, Status
from contextive.trace.target import Target, cached_path

_QUOTED_LENGTH = 300

OPEN_REQUIREMENT_CODES = {
    Status.MISSING_TEST: "requirement_untested",
    Status.MISSING_CITATION: "requirement_uncited",
    Status.PARTIAL: "requirement_partial",
    Status.TODO: "requirement_todo",
    Status.NOT_STARTED: "requirement_not_started",
}
_OPEN_MESSAGES = {
    Status.MISSING_TEST: "has no test",
    Status.MISSING_CITATION: "is tested, but no code cites it",
    Status.PARTIAL: "is only partly covered",
    Status.TODO: "is left as a todo",
    Status.NOT_STARTED: "is not covered",
}


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """One finding and its location."""

    code: str
    severity: Literal["error", "warning", "note"]
    text: str
    location: Location
    end_line: int = 0
    identifier: str = ""
    """The identifier of the requirement, if the finding is about one."""


def collect_findings(
    problems: Iterable[Problem],
    warnings: Iterable[Problem],
    reports: Iterable[TargetReport],
    *,
    download_dir: str,
    min_level: Level,
) -> Iterator[ReportFinding]:
    """Problems as errors, warnings and open requirements as warnings, requirements that only need a test as notes."""
    for problem in problems:
        yield ReportFinding(
            problem.code, "error", _message_with_help(problem), location_in_project(problem.location, download_dir)
        )
    for warning in warnings:
        yield ReportFinding(
            warning.code, "warning", _message_with_help(warning), location_in_project(warning.location, download_dir)
        )
    for report in reports:
        for requirement in report.requirements:
            if requirement.level >= min_level and not requirement.status.is_done:
                yield _open_requirement_finding(report, requirement, download_dir)


def _message_with_help(problem: Problem) -> str:
    return f"{problem.message}\n{problem.help}" if problem.help else problem.message


def location_in_project(location: Location, download_dir: str) -> Location:
    """The location in the project's copy, if a location is in a specification with a URL."""
    path = specification_file(Target(location.path), download_dir)
    return location if path == location.path else Location(path, location.line, location.column)


def _open_requirement_finding(report: TargetReport, requirement: Requirement, download_dir: str) -> ReportFinding:
    level = requirement.level.name if requirement.level is not Level.AUTO else "requirement"
    text = shorten(requirement.text, _QUOTED_LENGTH)
    target = f"{requirement.target.display_name}#{requirement.section.id}"
    location, end_line = requirement_location(report, requirement, download_dir)
    return ReportFinding(
        code=OPEN_REQUIREMENT_CODES[requirement.status],
        severity="note" if requirement.status is Status.MISSING_TEST else "warning",
        text=f"This {level} of {target} {_OPEN_MESSAGES[requirement.status]}: {text}",
        location=location,
        end_line=end_line,
        identifier=requirement.identifier,
    )


def requirement_location(report: TargetReport, requirement: Requirement, download_dir: str) -> tuple[Location, int]:
    """The location of a requirement in the file of its specification, and its last line."""
    source = report.specification.source
    path = specification_file(requirement.target, download_dir)
    if not requirement.spans:
        return Location(path, source.line_of(requirement.section.title_start)), 0
    start, end = requirement.spans[0][0], requirement.spans[-1][1]
    return Location(path, source.line_of(start), source.column_of(start)), source.line_range(start, max(start, end))[-1]


def specification_file(target: Target, download_dir: str) -> str:
    """The file in the project with a specification's text."""
    return cached_path(target.path, download_dir) if target.is_url else target.display_name
