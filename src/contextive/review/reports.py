"""A review as text, JSON, SARIF, GitHub annotations and Markdown. Names and quotes are text of others, so all is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from contextive import __version__
from contextive.review.findings import NOTICES, Finding, Kind, count_kinds
from contextive.trace.citation import Location
from contextive.trace.reports.github import annotation
from contextive.trace.reports.safe_text import escape_invisible, one_line, uri_of_path

ReviewFormat = Literal["text", "json", "sarif", "github", "markdown"]
COMMENT_MARK: Final = "<!-- contextive-review -->"
"""The first line of the Markdown report, by which its comment on a pull request is found again."""
_MAX_IN_MARKDOWN: Final = 50
_MAX_ALSO: Final = 3
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_TITLES: Final = {kind: kind.value.replace("_", " ") for kind in Kind}


def finding_to_dict(finding: Finding) -> dict[str, Any]:
    """A finding as tools and the JSON report show it."""
    shown: dict[str, Any] = {
        "id": finding.id,
        "kind": finding.kind.value,
        "place": finding.place,
        "requirement": finding.requirement,
        "reason": finding.reason,
        "do": finding.do,
    }
    if finding.also:
        shown["also"] = list(finding.also[:_MAX_ALSO])
    return shown


def review_as_text(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield f"{_TITLES[finding.kind]}: {finding.place}  [{finding.id}]"
        if finding.requirement:
            yield f"    {finding.requirement}"
        yield f"    {finding.reason}"
        yield f"    {finding.do}"
    yield summary(findings)


def summary(findings: Sequence[Finding]) -> str:
    if not findings:
        return "Nothing in this change concerns a requirement."
    counted = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in count_kinds(findings).items())
    return f"{len(findings)} finding{'s' if len(findings) > 1 else ''}: {counted}"


def review_as_json(findings: Sequence[Finding], as_of: dict[str, Any]) -> str:
    shown = {"findings": [finding_to_dict(one) for one in findings], "counts": count_kinds(findings), "as_of": as_of}
    return json.dumps(shown, indent=2, ensure_ascii=True)


def review_as_github(findings: Sequence[Finding]) -> str:
    """One workflow command for each finding."""
    lines = [
        annotation(
            "notice" if finding.kind in NOTICES else "warning",
            f"{finding.reason}\n{finding.do}\n{finding.requirement} [{finding.id}]",
            Location("" if "://" in finding.path else finding.path, finding.line),
            _TITLES[finding.kind],
        )
        for finding in findings
    ]
    return "".join(f"{line}\n" for line in lines)


##= docs/spec/review.md#reports
##% In Markdown, every name and quote MUST be in a code span that it cannot end, so that it makes no link, mention or HTML.
def review_as_markdown(findings: Sequence[Finding]) -> str:
    """A comment for a pull request."""
    lines = [COMMENT_MARK, "### Requirements", "", summary(findings)]
    for finding in findings[:_MAX_IN_MARKDOWN]:
        lines += ["", f"- **{_TITLES[finding.kind]}** {_code(finding.place)} ({_code(finding.id)})"]
        lines += [f"  - {_code(text)}" for text in (finding.requirement, finding.reason, finding.do) if text]
    if len(findings) > _MAX_IN_MARKDOWN:
        lines += ["", f"{len(findings) - _MAX_IN_MARKDOWN} more are in the log."]
    if findings:
        lines += ["", "Accept one that is right: `contextive-mcp accept ID --note TEXT`"]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{one_line(text).replace('`', chr(0x2019)) or ' '}`"


def review_as_sarif(findings: Sequence[Finding]) -> str:
    kinds = sorted({finding.kind for finding in findings})
    driver = {
        "name": "Contextive",
        "version": __version__,
        "rules": [{"id": kind.value, "shortDescription": {"text": f"{_TITLES[kind].capitalize()}."}} for kind in kinds],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The project directory."}}},
        "results": [_sarif_result(finding, kinds.index(finding.kind)) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _sarif_result(finding: Finding, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.kind.value,
        "ruleIndex": rule,
        "level": "note" if finding.kind in NOTICES else "warning",
        "message": {"text": escape_invisible(f"{finding.reason} {finding.do} [{finding.requirement}]")},
        "partialFingerprints": {"finding/v1": finding.id},
    }
    if "://" not in finding.path:
        artifact = {"uri": uri_of_path(finding.path), "uriBaseId": "SRCROOT"}
        region = {"startLine": max(finding.line, 1)}
        result["locations"] = [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]
    return result
