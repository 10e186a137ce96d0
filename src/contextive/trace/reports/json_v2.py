"""The JSON report, version 2: every entry has an id that is the same in every run, so reports can be merged.

Offsets are counted in bytes of the specification's text. Collections are keyed by the URL of their schema.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from contextive.trace.analysis import Analysis, SpanReference, TargetReport
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType
from contextive.trace.reports.json_v2_ids import (
    cite_id,
    inline_source_id,
    linked_source_id,
    repository_id,
    requirement_id,
    section_id,
    specification_id,
)
from contextive.trace.specification import Section
from contextive.trace.target import cached_path, canonical_url

VERSION = "2.0"
_SOURCES = "https://awslabs.github.io/duvet/v2/sources.json"
_ANNOTATIONS = "https://awslabs.github.io/duvet/v2/annotations.json"
INLINE, LINKED = f"{_SOURCES}#inline", f"{_SOURCES}#linked"
SPECIFICATION, SECTION = f"{_ANNOTATIONS}#specification", f"{_ANNOTATIONS}#section"
REQUIREMENT, CITE = f"{_ANNOTATIONS}#requirement", f"{_ANNOTATIONS}#cite"

_Entry = dict[str, Any]
_Span = tuple[int, int]


def write_json_v2(
    analysis: Analysis, *, download_dir: str, blob_link: str | None = None, issue_link: str | None = None
) -> str:
    """The report as duvet's `--json-v2` writes it. `download_dir` is the directory with the texts of URLs."""
    builder = _Builder(blob_link, download_dir)
    for citation in analysis.citations:
        builder.add_source(citation)
    if blob_link is not None:
        builder.repository(blob_link)
    reports = [report for report in analysis.reports.values() if report.specification.sections]
    for report in reports:
        builder.add_specification(report)
    for report in reports:
        builder.add_cites(report)
    for report in reports:
        builder.add_requirements(report)
    return print_report(builder.document(issue_link))


def print_report(document: _Entry) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2)


def _sorted_by_id(entries: dict[str, _Entry]) -> dict[str, _Entry]:
    return dict(sorted(entries.items()))


def _ranges(spans: Iterable[_Span]) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in sorted(set(spans))]


@dataclass(slots=True)
class _Builder:
    blob_link: str | None
    download_dir: str
    repositories: dict[str, _Entry] = field(default_factory=dict)
    inline: dict[str, _Entry] = field(default_factory=dict)
    linked: dict[str, _Entry] = field(default_factory=dict)
    specifications: dict[str, _Entry] = field(default_factory=dict)
    sections: dict[str, _Entry] = field(default_factory=dict)
    requirements: dict[str, _Entry] = field(default_factory=dict)
    cites: dict[str, _Entry] = field(default_factory=dict)
    _source_ids: dict[str, str] = field(default_factory=dict)
    """The id of the text of each specification, by display name."""
    _linked_ids: dict[tuple[str, str | None], str] = field(default_factory=dict)
    _cited_ranges: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)
    """Start, end and id of every citation of each specification, by display name."""
    _cited: dict[str, list[_Span]] = field(default_factory=dict)

    def document(self, issue_link: str | None) -> _Entry:
        for key, spans in self._cited.items():
            self.cites[key]["target"]["ranges"] = _ranges(spans)
        document: _Entry = {"version": VERSION}
        if issue_link is not None:
            document["issue_links"] = [issue_link]
        if self.repositories:
            document["repositories"] = _sorted_by_id(self.repositories)
        document["sources"] = {INLINE: _sorted_by_id(self.inline), LINKED: _sorted_by_id(self.linked)}
        document["annotations"] = {
            SPECIFICATION: _sorted_by_id(self.specifications),
            SECTION: _sorted_by_id(self.sections),
            REQUIREMENT: _sorted_by_id(self.requirements),
            CITE: _sorted_by_id(self.cites),
        }
        return document

    def repository(self, blob_link: str) -> str:
        key = repository_id(blob_link)
        self.repositories[key] = {"blob_link": blob_link}
        return key

    def add_source(self, citation: Citation) -> str:
        """The id of the file that contains a citation."""
        link = citation.blob_link if citation.blob_link is not None else self.blob_link
        source_key = (citation.source, link)
        if source_key not in self._linked_ids:
            repository = self.repository(link) if link is not None else ""
            key = self._linked_ids[source_key] = linked_source_id(citation.source, repository)
            self.linked[key] = {"file_name": citation.source} | ({"repository": repository} if repository else {})
        return self._linked_ids[source_key]

    def add_specification(self, report: TargetReport) -> None:
        target, specification = report.target, report.specification
        text = specification.source.text
        key = inline_source_id(text)
        self._source_ids[target.display_name] = key
        path = cached_path(target.path, self.download_dir) if target.is_url else target.display_name
        self.inline.setdefault(key, {"file_name": path, "contents": text})
        end = specification.source.byte_length
        entry: _Entry = {"source": {"src": key, "start": 0, "end": end}}
        if specification.title is not None:
            entry["title"] = specification.title
        entry["format"] = specification.format.value
        if target.is_url:
            entry["url"] = canonical_url(target.path)
        self.specifications.setdefault(specification_id(key, 0, end), entry)
        for section in specification.sections:
            self._add_section(report, section, key)

    def _add_section(self, report: TargetReport, section: Section, source: str) -> None:
        byte_of = report.specification.source.byte_of
        start = byte_of(section.title_start)
        end = byte_of(max((line.end for line in section.text_lines), default=section.title_end))
        entry = {
            "source": {"src": source, "start": start, "end": end},
            "short_name": section.id,
            "long_name": section.title,
        }
        self.sections.setdefault(section_id(source, start, end), entry)

    def add_cites(self, report: TargetReport) -> None:
        """Add the citations that are not requirements. They come first: requirements refer to those that cover them."""
        source = self._source_ids[report.target.display_name]
        cited_ranges = self._cited_ranges.setdefault(report.target.display_name, [])
        for reference in report.references:
            citation = reference.citation
            if citation.type is CitationType.SPEC:
                continue
            linked = self.add_source(citation)
            key = cite_id(linked, citation.line, source)
            start, end = _byte_span(report, reference)
            cited_ranges.append((start, end, key))
            self.cites.setdefault(key, _cite(citation, linked, source))
            self._cited.setdefault(key, []).append((start, end))

    def add_requirements(self, report: TargetReport) -> None:
        source = self._source_ids[report.target.display_name]
        found: dict[tuple[str, int], tuple[Citation, list[_Span]]] = {}
        for reference in report.references:
            citation = reference.citation
            if citation.type is CitationType.SPEC:
                location = (self.add_source(citation), citation.line)
                found.setdefault(location, (citation, []))[1].append(_byte_span(report, reference))
        cited_ranges = _CitedRanges(self._cited_ranges[report.target.display_name])
        for (linked, line), (citation, spans) in found.items():
            entry = {
                "source": _location(linked, line),
                "origin": {"src": source, "ranges": _ranges(spans)},
                "level": citation.level.name,
            }
            if coverage := cited_ranges.coverage(set(spans)):
                entry["coverage"] = coverage
            self.requirements[requirement_id(source, set(spans), linked, line)] = entry


class _CitedRanges:
    """The cited ranges of one specification, sorted by start."""

    def __init__(self, cited_ranges: list[tuple[int, int, str]]) -> None:
        self._cited_ranges = sorted(cited_ranges)
        self._longest = max((end - start for start, end, _ in cited_ranges), default=0)

    def coverage(self, spans: Iterable[_Span]) -> dict[str, list[dict[str, int]]]:
        """The parts of a requirement that each citation covers."""
        covered: dict[str, list[_Span]] = {}
        for first, last in spans:
            low = bisect_left(self._cited_ranges, (first - self._longest, 0, ""))
            high = bisect_left(self._cited_ranges, (last, 0, ""))
            for start, end, key in self._cited_ranges[low:high]:
                overlap = (max(start, first), min(end, last))
                if overlap[0] < overlap[1]:
                    covered.setdefault(key, []).append(overlap)
        return {key: _ranges(found) for key, found in sorted(covered.items())}


def _byte_span(report: TargetReport, reference: SpanReference) -> _Span:
    byte_of = report.specification.source.byte_of
    return byte_of(reference.start), byte_of(reference.end)


def _location(linked: str, line: int) -> _Entry:
    return {"src": linked} | ({"line": line} if line else {})


def _cite(citation: Citation, linked: str, source: str) -> _Entry:
    optional = {
        "comment": citation.comment,
        "feature": citation.feature,
        "tracking_issue": citation.tracking_issue,
        "tags": list(citation.tags),
    }
    return {
        "source": _location(linked, citation.line),
        "target": {"src": source, "ranges": []},
        "type": citation.type.value.upper(),
        "level": citation.level.name,
    } | {name: value for name, value in optional.items() if value}
