"""The JSON report, version 1: specifications, split where their citations begin and end, and coverage counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from contextive.trace.analysis import Analysis, SpanReference, TargetReport
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType, Level
from contextive.trace.snapshot import split_line
from contextive.trace.text import SourceText

_STATUS_TYPES = (
    CitationType.SPEC,
    CitationType.CITATION,
    CitationType.IMPLICATION,
    CitationType.TEST,
    CitationType.EXCEPTION,
    CitationType.TODO,
)
"""The types in the order of their bits in the status table, from the highest to the lowest."""
_BIT = {kind: 1 << index for index, kind in enumerate(reversed(_STATUS_TYPES))}
_LEVEL_STEP = 1 << len(_STATUS_TYPES)
_COMPLETING = frozenset(_STATUS_TYPES) - {CitationType.SPEC, CitationType.TODO}

_Span = tuple[int, int]


def write_json_v1(analysis: Analysis, *, blob_link: str | None = None, issue_link: str | None = None) -> str:
    """The report as duvet's `--json` writes it: on one line, without white space between values."""
    report: dict[str, Any] = {}
    if blob_link is not None:
        report["blob_link"] = blob_link
    if issue_link is not None:
        report["issue_link"] = issue_link
    specifications = {
        target.display_name: _specification(target_report) for target, target_report in analysis.reports.items()
    }
    report["specifications"] = dict(sorted(specifications.items()))
    paths = {item.number: item.target.path for item in analysis.matched if not item.target.is_url}
    report["annotations"] = [
        _annotation(citation, paths.get(number, citation.target_path))
        for number, citation in enumerate(analysis.citations)
    ]
    report["statuses"] = {
        str(number): status.as_dict()
        for target_report in analysis.reports.values()
        for number, status in requirement_statuses(target_report).items()
    }
    report["refs"] = list(_status_table())
    return json.dumps(report, ensure_ascii=False, separators=(",", ":"))


def _annotation(citation: Citation, target_path: str) -> dict[str, Any]:
    kind = citation.type.value.upper() if citation.type is not CitationType.CITATION else None
    entry: dict[str, Any] = {"source": citation.source, "target_path": target_path}
    if citation.section_id is not None:
        entry["target_section"] = citation.section_id
    optional = {
        "line": citation.line,
        "type": kind,
        "level": citation.level.name if citation.level else None,
        "comment": citation.comment,
        "feature": citation.feature,
        "tracking_issue": citation.tracking_issue,
    }
    entry |= {key: value for key, value in optional.items() if value}
    if citation.blob_link is not None:
        entry["blob_link"] = citation.blob_link
    if citation.tags:
        entry["tags"] = list(citation.tags)
    return entry


def _specification(report: TargetReport) -> dict[str, Any]:
    specification = report.specification
    entry: dict[str, Any] = {} if specification.title is None else {"title": specification.title}
    entry["format"] = specification.format.value
    entry["requirements"] = sorted(_requirements(report.references))
    entry["sections"] = sections = []
    for section in specification.sections:
        found: set[int] = set()
        lines: list[Any] = []
        for line in section.text_lines:
            references = report.by_line.get(specification.source.line_of(line.start))
            if references is None or not line.text:
                lines.append(line.text)
                continue
            pieces = []
            for run in split_line(line, references):
                found |= _requirements(run.references)
                numbers = [reference.number for reference in run.references]
                pieces.append([numbers, _status_number(run.references), line.text[run.start : run.end]])
            lines.append(pieces)
        section_entry: dict[str, Any] = {"id": section.id, "title": section.title, "lines": lines}
        if found:
            section_entry["requirements"] = sorted(found)
        sections.append(section_entry)
    return entry


def _requirements(references: Iterable[SpanReference]) -> set[int]:
    return {reference.number for reference in references if reference.citation.type is CitationType.SPEC}


def _status_number(references: Sequence[SpanReference]) -> int:
    """The index of a set of references in the status table."""
    level = max((reference.citation.level for reference in references), default=Level.AUTO)
    return sum(_BIT[kind] for kind in {reference.citation.type for reference in references}) + level * _LEVEL_STEP


def _status_table() -> Iterator[dict[str, Any]]:
    for level, present in product(Level, product((False, True), repeat=len(_STATUS_TYPES))):
        entry: dict[str, Any] = {
            kind.value: True for kind, is_present in zip(_STATUS_TYPES, present, strict=True) if is_present
        }
        if level:
            entry["level"] = level.name
        yield entry


@dataclass(frozen=True, slots=True)
class RequirementStatus:
    """How many bytes of a requirement the citations of each type cover, and the numbers of these citations."""

    covered: dict[CitationType, int]
    incomplete: int
    """Bytes without a citation, a test, an implication or an exception."""
    related: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        spec, *others = _STATUS_TYPES
        counts = {spec.value: self.covered[spec], "incomplete": self.incomplete}
        counts |= {kind.value: self.covered[kind] for kind in others}
        entry: dict[str, Any] = {name: count for name, count in counts.items() if count}
        if self.related:
            entry["related"] = list(self.related)
        return entry


def requirement_statuses(report: TargetReport) -> dict[int, RequirementStatus]:
    """The status of each requirement of a specification, by the number of its citation."""
    own: dict[int, list[SpanReference]] = {}
    for reference in report.references:
        if reference.citation.type is CitationType.SPEC:
            own.setdefault(reference.number, []).append(reference)
    return {number: _status(report, own[number]) for number in sorted(own)}


def _status(report: TargetReport, own: list[SpanReference]) -> RequirementStatus:
    spans: dict[CitationType, list[_Span]] = {kind: [] for kind in _STATUS_TYPES}
    related: set[int] = set()
    source = report.specification.source
    for requirement in own:
        spans[CitationType.SPEC].append((requirement.start, requirement.end))
        for line in source.line_range(requirement.start, requirement.end):
            for reference in report.by_line.get(line, ()):
                start, end = max(reference.start, requirement.start), min(reference.end, requirement.end)
                if reference.citation.type is not CitationType.SPEC and start < end:
                    spans[reference.citation.type].append((start, end))
                    related.add(reference.number)
    covered = {kind: _byte_count(source, found) for kind, found in spans.items()}
    complete = _byte_count(source, [span for kind in _COMPLETING for span in spans[kind]])
    return RequirementStatus(covered, covered[CitationType.SPEC] - complete, tuple(sorted(related)))


def _byte_count(source: SourceText, spans: list[_Span]) -> int:
    """The number of bytes in at least one of the spans."""
    total = reached = 0
    for start, end in sorted(spans):
        start = max(start, reached)
        if end > start:
            total += source.byte_of(end) - source.byte_of(start)
            reached = end
    return total
