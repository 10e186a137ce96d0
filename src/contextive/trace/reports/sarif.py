"""The SARIF 2.1.0 report, the format for results of code scanning."""

from __future__ import annotations

import json
from collections import Counter
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
    "ambiguous_quote": "The quoted text occurs more than once in the section; only the first occurrence counts.",
    "dangling_reference": "A task or a comment names a requirement that does not exist.",
    "duplicate_citation": "Two citations of one type quote the same text.",
    "duplicate_id": "Two requirements of a specification have the same id.",
    "duplicate_section": "A section id occurs more than once in a specification.",
    "fuzzy_quote": "The quoted text differs slightly from the specification.",
    "invalid_field": "A citation has a field that does not exist.",
    "invalid_format": "A citation names a specification format that does not exist.",
    "invalid_level": "A citation names a level that does not exist.",
    "invalid_type": "A citation names a type that does not exist.",
    "invalid_value": "A value in a requirement file has the wrong type.",
    "misplaced_field": "A citation has a field that its type does not allow.",
    "missing_field": "A required field is missing in an entry of a requirement file.",
    "missing_target": "A citation does not say which specification it cites.",
    "needs_clarification": "A question in a specification is still open.",
    "no_modal_word": "A criterion does not say how binding it is.",
    "no_requirements": "A specification has no requirements.",
    "no_sources": "No source file matches the configured patterns.",
    "no_task": "A requirement has no task, although the plan has tasks for others.",
    "not_understood": "A line of a specification was not understood.",
    "nothing_found": "There is no specification and no citation.",
    "quote_not_found": "The quoted text is not in the cited section.",
    "repeated_field": "A citation sets a field twice.",
    "requirement_not_started": "Nothing covers this requirement.",
    "requirement_partial": "Citations cover only part of this requirement.",
    "requirement_todo": "This requirement is left as a todo.",
    "requirement_uncited": "This requirement is tested, but no code cites it.",
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
    evidence: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """One result for each problem (error), warning and open requirement from `min_level` up (warning or note).

    Columns in SARIF are UTF-16 code units; those of problems are bytes. `lines` has the text of each problem's line,
    by its location in the project. Without it, a column is right only if the line is ASCII. `evidence` says of each
    requirement, by its identifier, how well it is shown to work.
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
        "results": [
            _result(finding, index_of[finding.code], columns.of(finding), evidence.get(finding.identifier))
            for finding in findings
        ],
    }
    if evidence:
        run["properties"] = {"evidence": dict(sorted(Counter(evidence.values()).items()))}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, severity: str) -> dict[str, Any]:
    description = _RULES.get(code) or f"{escape_invisible(code).replace('_', ' ').capitalize()}."
    return {
        "id": escape_invisible(code),
        "shortDescription": {"text": description},
        "fullDescription": {"text": description},
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


def _result(finding: ReportFinding, rule_index: int, column: int, evidence: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": escape_invisible(finding.code),
        "ruleIndex": rule_index,
        "level": finding.severity,
        "message": {"text": escape_invisible(finding.text) or finding.code},
        "locations": _locations(finding, column),
    }
    if finding.identifier:
        result["partialFingerprints"] = {"requirement/v1": finding.identifier}
    if evidence:
        result["properties"] = {"evidence": evidence}
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
