"""The JUnit XML report: requirements as test cases, so any CI system can show which of them fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType, Level
from contextive.trace.reports.findings import requirement_location
from contextive.trace.reports.safe_text import escape_invisible, one_line, shorten
from contextive.trace.requirement import Requirement, Status

_NAME_LENGTH = 160


def write_junit(
    reports: Iterable[TargetReport],
    *,
    project: str = "requirements",
    require_citations: bool = True,
    require_tests: bool = True,
    download_dir: str = ".duvet/specifications",
) -> str:
    """One suite for each specification, one case for each requirement. Exceptions and todos count as skipped."""
    suites = [_Suite(report, require_citations, require_tests, download_dir) for report in reports]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="{_attribute(project)}" {_totals(suites)}>',
            *(line for suite in suites for line in suite.lines()),
            "</testsuites>\n",
        ]
    )


class _Suite:
    def __init__(self, report: TargetReport, require_citations: bool, require_tests: bool, download_dir: str) -> None:
        self._report = report
        self._download_dir = download_dir
        self.cases = [
            (requirement, _outcome(requirement, require_citations, require_tests))
            for requirement in report.requirements
        ]

    def count(self, outcome: str) -> int:
        return sum(1 for _, (kind, _) in self.cases if kind == outcome)

    def lines(self) -> Iterator[str]:
        path = self._report.target.display_name
        yield f'<testsuite name="{_attribute(self._report.specification.title or path)}" {_totals([self])}>'
        yield f'<properties><property name="specification" value="{_attribute(path)}"/></properties>'
        for requirement, (kind, message) in self.cases:
            yield from self._case(requirement, kind, message)
        yield "</testsuite>"

    def _case(self, requirement: Requirement, kind: str, message: str) -> Iterator[str]:
        location, _ = requirement_location(self._report, requirement, self._download_dir)
        level = f"{requirement.level.name}: " if requirement.level is not Level.AUTO else ""
        name = f"{level}{shorten(one_line(requirement.text), _NAME_LENGTH)} [{requirement.identifier[:8]}]"
        opening = (
            f'<testcase classname="{_attribute(f"{requirement.target.display_name}#{requirement.section.id}")}" '
            f'name="{_attribute(name)}" file="{_attribute(location.path)}" line="{location.line}" time="0"'
        )
        if kind == "passed":
            yield f"{opening}/>"
        elif kind == "skipped":
            yield f'{opening}><skipped message="{_attribute(message)}"/></testcase>'
        else:
            details = "\n".join([requirement.text, *(_citation_line(citation) for citation in requirement.related)])
            yield (
                f'{opening}><failure type="{requirement.status.value}" message="{_attribute(message)}">'
                f"{_text(details)}</failure></testcase>"
            )


def _totals(suites: Iterable[_Suite]) -> str:
    suite_list = list(suites)
    tests = sum(len(suite.cases) for suite in suite_list)
    failures = sum(suite.count("failed") for suite in suite_list)
    skipped = sum(suite.count("skipped") for suite in suite_list)
    return f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}" time="0"'


def _outcome(requirement: Requirement, require_citations: bool, require_tests: bool) -> tuple[str, str]:
    match requirement.status:
        case Status.EXCEPTION:
            reasons = [c.comment for c in requirement.citations_of(CitationType.EXCEPTION) if c.comment]
            return "skipped", "Exception: " + ("; ".join(dict.fromkeys(reasons)) or "no reason given")
        case Status.TODO:
            issues = [c.tracking_issue or c.feature for c in requirement.citations_of(CitationType.TODO)]
            return "skipped", "Todo" + (f": {'; '.join(named)}" if (named := list(filter(None, issues))) else "")
        case Status.COMPLETE:
            return "passed", ""
    missing = []
    if require_citations and not _covers(requirement, CitationType.CITATION):
        missing.append("code")
    if require_tests and not _covers(requirement, CitationType.TEST):
        missing.append("a test")
    return ("failed", f"Not fully covered by {' or '.join(missing)}.") if missing else ("passed", "")


def _covers(requirement: Requirement, kind: CitationType) -> bool:
    return requirement.covers_words(kind, CitationType.IMPLICATION, CitationType.EXCEPTION)


def _citation_line(citation: Citation) -> str:
    return f"{citation.type.value}: {citation.id}"


def _attribute(text: str) -> str:
    return escape(one_line(text))


def _text(text: str) -> str:
    """Text escaped for XML 1.0, which cannot represent most control characters, so they are spelled out."""
    return escape(escape_invisible(text))
