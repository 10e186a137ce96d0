"""SARIF 2.1.0, the format in which code scanning takes results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from contextive import __version__
from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Location, Problem
from contextive.trace.level import Level
from contextive.trace.reports.findings import ReportFinding, collect_findings, specification_file
from contextive.trace.reports.safe_text import escape_invisible, uri_of_path

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    "ambiguous_quote": "The quoted text stands more than once in the section; only the first place counts.",
    "duplicate_citation": "Two citations of one type quote the same text.",
    "duplicate_section": "One section id stands more than once in a specification.",
    "fuzzy_quote": "The quoted text differs a little from the specification.",
    "invalid_field": "A citation has a field that does not exist.",
    "invalid_format": "A citation names a format of specifications that does not exist.",
    "invalid_level": "A citation names a level that does not exist.",
    "invalid_type": "A citation names a type that does not exist.",
    "invalid_value": "A value in a requirement file is of the wrong kind.",
    "misplaced_field": "A citation has a field that its type does not allow.",
    "missing_field": "An entry of a requirement file lacks a field.",
    "missing_target": "A citation does not say which specification it cites.",
    "no_requirements": "A specification holds no requirements.",
    "no_sources": "No source file matches the configured patterns.",
    "nothing_found": "There is no specification and no citation.",
    "quote_not_found": "The quoted text does not stand in the cited section.",
    "repeated_field": "A citation gives one field twice.",
    "requirement_not_started": "Nothing covers this requirement.",
    "requirement_partial": "Citations cover only a part of this requirement.",
    "requirement_todo": "This requirement is left as a todo.",
    "requirement_uncited": "This requirement is tested, and no code is cited for it.",
    "requirement_untested": "This requirement has no test.",
    "section_missing": "A citation does not say which section it cites.",
    "section_not_found": "The cited section does not exist.",
    "specification_not_found": "The cited specification cannot be found.",
    "spec_aliases": "One document is cited under several names.",
    "stale_requirements": "A requirement file belongs to a section that no longer exists.",
    "unknown_key": "A requirement file has a key that does not exist.",
    "unreadable_file": "A file could not be read.",
}


def write_sarif(
    problems: Iterable[Problem] = (),
    warnings: Iterable[Problem] = (),
    reports: Iterable[TargetReport] = (),
    *,
    download_dir: str = ".duvet/specifications",
    min_level: Level = Level.MUST,
    lines: Mapping[Location, str] = MappingProxyType({}),
) -> str:
    """One result a problem (error), a warning, and an open requirement from `min_level` on (warning; untested: note).

    Columns are UTF-16 code units, as readers of SARIF expect them. Those of problems are bytes: without the text of
    its line in `lines`, by its location in the project, a column is right only on a line of ASCII.
    """
    reports = list(reports)
    columns = _Columns(reports, download_dir, lines)
    findings = list(collect_findings(problems, warnings, reports, download_dir=download_dir, min_level=min_level))
    severities: dict[str, str] = {}
    for finding in findings:
        severities.setdefault(finding.code, finding.severity)
    codes = sorted(severities)
    index_of = {code: index for index, code in enumerate(codes)}
    driver = {
        "name": "Contextive",
        "version": __version__,
        "rules": [_rule(code, severities[code]) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The project directory."}}},
        "results": [_result(finding, index_of[finding.code], columns.of(finding)) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, severity: str) -> dict[str, Any]:
    words = _RULES.get(code) or f"{escape_invisible(code).replace('_', ' ').capitalize()}."
    return {
        "id": escape_invisible(code),
        "shortDescription": {"text": words},
        "fullDescription": {"text": words},
        "defaultConfiguration": {"level": severity},
    }


class _Columns:
    """The columns of findings in UTF-16 code units."""

    def __init__(self, reports: Iterable[TargetReport], download_dir: str, lines: Mapping[Location, str]) -> None:
        self._reports = {specification_file(report.target, download_dir): report for report in reports}
        self._lines = lines

    def of(self, finding: ReportFinding) -> int:
        location = finding.location
        if location.column <= 1:
            return 1
        if finding.identifier:  # a requirement: its column counts characters of its specification
            lines = self._reports[location.path].specification.source.text.split("\n")
            return _utf16_length(lines[location.line - 1][: location.column - 1]) + 1
        line = self._lines.get(location)
        if line is None:
            return location.column
        before = line.encode("utf-8", "surrogatepass")[: location.column - 1]
        return _utf16_length(before.decode("utf-8", "ignore")) + 1


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _result(finding: ReportFinding, rule_index: int, column: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": escape_invisible(finding.code),
        "ruleIndex": rule_index,
        "level": finding.severity,
        "message": {"text": escape_invisible(finding.text) or finding.code},
        "locations": _locations(finding, column),
    }
    if finding.identifier:
        result["partialFingerprints"] = {"requirement/v1": finding.identifier}
    return result


def _locations(finding: ReportFinding, column: int) -> list[dict[str, Any]]:
    location = finding.location
    if not location.path:
        return []
    uri = uri_of_path(location.path)
    artifact = {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": "SRCROOT"}
    physical: dict[str, Any] = {"artifactLocation": artifact}
    if location.line > 0:
        region = {"startLine": location.line, "startColumn": column}
        if finding.end_line > location.line:
            region["endLine"] = finding.end_line
        physical["region"] = region
    return [{"physicalLocation": physical}]
