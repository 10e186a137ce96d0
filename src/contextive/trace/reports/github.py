"""The GitHub report: workflow commands that GitHub Actions shows as annotations next to the lines of a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Location, Problem
from contextive.trace.level import Level
from contextive.trace.reports.findings import ReportFinding, collect_findings
from contextive.trace.reports.safe_text import escape_invisible

Severity = Literal["error", "warning", "notice"]


def write_github(
    problems: Iterable[Problem] = (),
    warnings: Iterable[Problem] = (),
    reports: Iterable[TargetReport] = (),
    *,
    download_dir: str = ".duvet/specifications",
    min_level: Level = Level.MUST,
) -> str:
    """One line a finding: problems as errors, warnings and open requirements from `min_level` up as warnings."""
    findings = collect_findings(problems, warnings, reports, download_dir=download_dir, min_level=min_level)
    return "".join(f"{line}\n" for line in _lines(findings))


def _lines(findings: Iterable[ReportFinding]) -> Iterator[str]:
    for finding in findings:
        severity: Severity = "notice" if finding.severity == "note" else finding.severity
        yield annotation(severity, finding.text, finding.location, finding.code.replace("_", " "))


def annotation(severity: Severity, message: str, location: Location | None = None, title: str = "") -> str:
    """One workflow command, escaped so that no text can end it or start another."""
    properties = []
    if location is not None and location.path:
        properties.append(f"file={_property(location.path)}")
        if location.line > 0:
            properties.append(f"line={location.line}")
            if location.column > 0:
                properties.append(f"col={location.column}")
    if title:
        properties.append(f"title={_property(title)}")
    return f"::{severity}{' ' if properties else ''}{','.join(properties)}::{_data(message)}"


def _data(text: str) -> str:
    # Line ends first: `escape_invisible` would spell out a carriage return.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return escape_invisible(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
