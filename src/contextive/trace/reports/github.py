"""Workflow commands that GitHub Actions turns into annotations beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Place, Problem
from contextive.trace.level import Level
from contextive.trace.reports.findings import Finding, findings_of
from contextive.trace.reports.visible import spell_hidden

Severity = Literal["error", "warning", "notice"]


def write_github(
    problems: Iterable[Problem] = (),
    warnings: Iterable[Problem] = (),
    reports: Iterable[TargetReport] = (),
    *,
    download_dir: str = ".duvet/specifications",
    least: Level = Level.MUST,
) -> str:
    """One line a finding: problems as errors, warnings as warnings, open requirements from `least` on as warnings too."""
    findings = findings_of(problems, warnings, reports, download_dir=download_dir, least=least)
    return "".join(f"{line}\n" for line in _lines(findings))


def _lines(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        severity: Severity = "notice" if finding.severity == "note" else finding.severity
        yield annotation(severity, finding.text, finding.place, finding.code.replace("_", " "))


def annotation(severity: Severity, message: str, place: Place | None = None, title: str = "") -> str:
    """One workflow command, escaped so that no text can end it or start another."""
    properties = []
    if place is not None and place.path:
        properties.append(f"file={_property(place.path)}")
        if place.line > 0:
            properties.append(f"line={place.line}")
            if place.column > 0:
                properties.append(f"col={place.column}")
    if title:
        properties.append(f"title={_property(title)}")
    return f"::{severity}{' ' if properties else ''}{','.join(properties)}::{_data(message)}"


def _data(text: str) -> str:
    # Line ends first: a carriage return is one of the characters that would be spelled out.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return spell_hidden(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
