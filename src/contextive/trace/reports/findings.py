"""What there is to complain about in a project, in one shape for every tool that shows complaints beside code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Place, Problem
from contextive.trace.level import Level
from contextive.trace.reports.visible import shorten
from contextive.trace.requirement import Requirement, Status
from contextive.trace.target import Target, cached_path

_QUOTED_LENGTH = 300

OPEN_CODES = {
    Status.MISSING_TEST: "requirement_untested",
    Status.MISSING_CITATION: "requirement_uncited",
    Status.PARTIAL: "requirement_partial",
    Status.TODO: "requirement_todo",
    Status.NOT_STARTED: "requirement_not_started",
}
_OPEN_WORDS = {
    Status.MISSING_TEST: "has no test",
    Status.MISSING_CITATION: "is tested, and no code is cited for it",
    Status.PARTIAL: "is covered only in part",
    Status.TODO: "is left as a todo",
    Status.NOT_STARTED: "is covered by nothing",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One complaint and where it belongs."""

    code: str
    severity: Literal["error", "warning", "note"]
    text: str
    place: Place
    end_line: int = 0
    identifier: str = ""
    """Of the requirement, where the finding is about one."""


def findings_of(
    problems: Iterable[Problem],
    warnings: Iterable[Problem],
    reports: Iterable[TargetReport],
    *,
    download_dir: str,
    least: Level,
) -> Iterator[Finding]:
    """Problems as errors, warnings as warnings; open requirements as warnings, those that lack only a test as notes."""
    for problem in problems:
        yield Finding(problem.code, "error", _sentences(problem), _in_project(problem.place, download_dir))
    for warning in warnings:
        yield Finding(warning.code, "warning", _sentences(warning), _in_project(warning.place, download_dir))
    for report in reports:
        for requirement in report.requirements:
            if requirement.level >= least and not requirement.status.is_done:
                yield _open_finding(report, requirement, download_dir)


def _sentences(problem: Problem) -> str:
    return f"{problem.message}\n{problem.help}" if problem.help else problem.message


def _in_project(place: Place, download_dir: str) -> Place:
    """A place in a specification that is named by its URL, as a place in the file that holds its text."""
    path = specification_file(Target(place.path), download_dir)
    return place if path == place.path else Place(path, place.line, place.column)


def _open_finding(report: TargetReport, requirement: Requirement, download_dir: str) -> Finding:
    level = requirement.level.name if requirement.level is not Level.AUTO else "requirement"
    text = shorten(requirement.text, _QUOTED_LENGTH)
    place, end_line = place_of(report, requirement, download_dir)
    return Finding(
        code=OPEN_CODES[requirement.status],
        severity="note" if requirement.status is Status.MISSING_TEST else "warning",
        text=f"This {level} of {requirement.target.shown}#{requirement.section.id} {_OPEN_WORDS[requirement.status]}: {text}",
        place=place,
        end_line=end_line,
        identifier=requirement.identifier,
    )


def place_of(report: TargetReport, requirement: Requirement, download_dir: str) -> tuple[Place, int]:
    """Where a requirement stands in the file that holds its specification, and the line on which it ends."""
    source = report.specification.source
    path = specification_file(requirement.target, download_dir)
    if not requirement.spans:
        return Place(path, source.line_of(requirement.section.title_start)), 0
    start, end = requirement.spans[0][0], requirement.spans[-1][1]
    return Place(path, source.line_of(start), source.column_of(start)), source.line_range(start, max(start, end))[-1]


def specification_file(target: Target, download_dir: str) -> str:
    """The file in the project that holds a specification's text."""
    return cached_path(target.path, download_dir) if target.is_url else target.shown
