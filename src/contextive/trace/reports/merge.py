"""Merge v2 reports: the union of their entries, or an error if they contradict each other.

Ids are hashes of what identifies an entry, so two entries with the same id must agree on every essential field. Only
comments, features, tracking issues and tags of citations may differ between checkouts; the result for them does not
depend on the order of the reports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from contextive.errors import Conflict, InvalidRequest
from contextive.trace.level import CitationType, Level
from contextive.trace.reports.json_v2 import (
    CITE,
    INLINE,
    LINKED,
    REQUIREMENT,
    SECTION,
    SPECIFICATION,
    VERSION,
    print_report,
)

_Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MergedReport:
    """A merged report, and warnings about citations whose comments differ."""

    text: str
    warnings: tuple[str, ...]


##= docs/spec/trace.md#other-commands
##% The command `duvet merge` MUST write the union of JSON v2 reports, or fail if they contradict each other.
def merge_reports(texts: Iterable[str]) -> str:
    """One v2 report with the entries of all given ones. Raises `InvalidRequest` or `Conflict`."""
    return merge(texts).text


def merge(texts: Iterable[str]) -> MergedReport:
    """Like `merge_reports`, with the warnings."""
    reports = [_read(text, f"report {number}") for number, text in enumerate(texts, 1)]
    if not reports:
        raise InvalidRequest("There is nothing to merge.", hint="Pass at least one v2 report.")
    _refuse_shared_files(reports)
    merger = _Merger(reports[0])
    for number, report in enumerate(reports[1:], 2):
        merger.add(report, f"report {number}")
    return MergedReport(print_report(merger.finish()), tuple(merger.warnings))


# The structure of a report. A field with `?` is optional; fields are written in this order.


@dataclass(frozen=True, slots=True)
class _List:
    of: Any


@dataclass(frozen=True, slots=True)
class _Map:
    of: Any


_RANGE = {"start": int, "end": int}
_SOURCE = {"src": str, "start": int, "end": int}
_RANGES = {"src": str, "ranges": _List(_RANGE)}
_LOCATION = {"src": str, "line?": int}
_LEVELS = frozenset(level.name for level in Level)
_TYPES = frozenset(kind.name for kind in CitationType if kind is not CitationType.SPEC)
_SOURCES_SHAPE = {
    INLINE: {"file_name": str, "contents": str},
    LINKED: {"file_name": str, "repository?": str},
}
_ANNOTATIONS_SHAPE = {
    SPECIFICATION: {"source": _SOURCE, "title?": str, "format": str, "url?": str},
    SECTION: {"source": _SOURCE, "short_name": str, "long_name?": str},
    REQUIREMENT: {"source": _LOCATION, "origin": _RANGES, "level": _LEVELS, "coverage?": _Map(_List(_RANGE))},
    CITE: {
        "source": _LOCATION,
        "target": _RANGES,
        "type": _TYPES,
        "level?": _LEVELS,
        "comment?": str,
        "feature?": str,
        "tracking_issue?": str,
        "tags?": _List(str),
    },
}
_REPORT_SHAPE = {
    "version": str,
    "issue_links?": _List(str),
    "repositories?": _Map({"blob_link": str}),
    "sources": dict,
    "annotations": dict,
}


def _read(text: str, name: str) -> _Entry:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{name} is not JSON: {error}.") from None
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION:
        raise InvalidRequest(
            f"{name} has version {version!r}, not {VERSION!r}.", hint="Write it with `report --json-v2`."
        )
    report = _checked_fields(document, _REPORT_SHAPE, name)
    for part, shape in (("sources", _SOURCES_SHAPE), ("annotations", _ANNOTATIONS_SHAPE)):
        report[part] = _buckets(report[part], shape, f"{name}, {part}")
    for cite in report["annotations"][CITE].values():
        cite.setdefault("level", Level.AUTO.name)
    return report


def _buckets(found: _Entry, shapes: Mapping[str, Any], where: str) -> _Entry:
    """The known collections, checked, and unknown ones unchanged: they belong to other tools."""
    known = {url: _checked(found.get(url, {}), _Map(shape), f"{where}, {url}") for url, shape in shapes.items()}
    return known | {url: _sorted(found[url]) for url in sorted(found.keys() - shapes.keys())}


def _sorted(value: Any, depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        raise InvalidRequest(f"A report is nested more than {_MAX_DEPTH} levels deep.")
    if isinstance(value, dict):
        return {key: _sorted(value[key], depth + 1) for key in sorted(value)}
    return [_sorted(item, depth + 1) for item in value] if isinstance(value, list) else value


def _checked(value: Any, shape: Any, where: str) -> Any:
    match shape:
        case dict():
            return _checked_fields(value, shape, where)
        case _Map(of):
            _require(isinstance(value, dict), where, "must be an object")
            return {key: _checked(item, of, f"{where}, {key}") for key, item in value.items()}
        case _List(of):
            _require(isinstance(value, list), where, "must be a list")
            return [_checked(item, of, where) for item in value]
        case frozenset():
            _require(isinstance(value, str) and value in shape, where, f"must be one of {', '.join(sorted(shape))}")
        case type():
            right = isinstance(value, shape) and value is not True and value is not False
            _require(right and (shape is not int or value >= 0), where, f"must be {_TYPE_NAMES[shape]}")
    return value


_MAX_DEPTH = 64
_TYPE_NAMES = {str: "a string", int: "a whole number", dict: "an object"}


def _checked_fields(value: Any, shape: Mapping[str, Any], where: str) -> _Entry:
    _require(isinstance(value, dict), where, "must be an object")
    names = {name.removesuffix("?") for name in shape}
    for unknown in sorted(value.keys() - names):
        raise InvalidRequest(f"{where}: unknown field {unknown!r}.")
    entry: _Entry = {}
    for marked, inner in shape.items():
        name = marked.removesuffix("?")
        if name != marked and (name not in value or value[name] is None):
            continue
        _require(name in value, where, f"has no {name!r}")
        entry[name] = _checked(value[name], inner, f"{where}, {name}")
    return entry


def _require(condition: bool, where: str, what: str) -> None:
    if not condition:
        raise InvalidRequest(f"{where} {what}.")


def _refuse_shared_files(reports: list[_Entry]) -> None:
    """Raise `Conflict` if two reports have a file of one name without a repository: it may not be the same file."""
    seen: dict[str, int] = {}
    for number, report in enumerate(reports, 1):
        for key, source in report["sources"][LINKED].items():
            if "repository" in source:
                continue
            if key in seen:
                raise Conflict(
                    f"{source['file_name']} has no repository in report {seen[key]} and report {number}, "
                    "so it may not be the same file.",
                    hint="Set a blob-link for the sources of each project.",
                )
            seen[key] = number


_MergeEntry = Callable[[_Entry, _Entry, str], None]


class _Merger:
    def __init__(self, first: _Entry) -> None:
        self.report = first
        self.warnings: list[str] = []

    def add(self, other: _Entry, name: str) -> None:
        report = self.report
        links = {*report.get("issue_links", ()), *other.get("issue_links", ())}
        report["issue_links"] = sorted(links)
        repositories = report.setdefault("repositories", {})
        self._merge_entries(
            repositories, other.get("repositories", {}), name, "repository", _require_equal("blob_link")
        )
        self._add_sources(report["sources"], other["sources"], name)
        self._add_annotations(report["annotations"], other["annotations"], name)

    def finish(self) -> _Entry:
        report = self.report
        merged: _Entry = {"version": report["version"]}
        if report.get("issue_links"):
            merged["issue_links"] = report["issue_links"]
        if report.get("repositories"):
            merged["repositories"] = dict(sorted(report["repositories"].items()))
        for requirement in report["annotations"][REQUIREMENT].values():
            if coverage := requirement.pop("coverage", None):
                requirement["coverage"] = {key: _unique_ranges(coverage[key]) for key in sorted(coverage)}
        for cite in report["annotations"][CITE].values():
            # Entries of the first report that were not merged may have an empty list.
            if not cite.get("tags", True):
                del cite["tags"]
        for part, shapes in (("sources", _SOURCES_SHAPE), ("annotations", _ANNOTATIONS_SHAPE)):
            buckets = report[part]
            known = {url: dict(sorted(buckets[url].items())) for url in shapes}
            merged[part] = known | {url: buckets[url] for url in sorted(buckets.keys() - shapes.keys())}
        _order_fields(merged["annotations"])
        return merged

    def _add_sources(self, ours: _Entry, theirs: _Entry, name: str) -> None:
        self._merge_entries(ours[INLINE], theirs[INLINE], name, "source", _require_equal("contents", "file_name"))
        self._merge_entries(ours[LINKED], theirs[LINKED], name, "source", _require_equal("file_name", "repository"))
        _merge_unknown(ours, theirs, _SOURCES_SHAPE, name)

    def _add_annotations(self, ours: _Entry, theirs: _Entry, name: str) -> None:
        self._merge_entries(ours[SPECIFICATION], theirs[SPECIFICATION], name, "specification", _merge_specification)
        self._merge_entries(
            ours[SECTION], theirs[SECTION], name, "section", _require_equal("short_name", "long_name", "source")
        )
        self._merge_entries(ours[REQUIREMENT], theirs[REQUIREMENT], name, "requirement", _merge_requirement)
        self._merge_entries(ours[CITE], theirs[CITE], name, "citation", self._merge_cite)
        _merge_unknown(ours, theirs, _ANNOTATIONS_SHAPE, name)

    def _merge_entries(self, ours: _Entry, theirs: _Entry, name: str, kind: str, merge_entry: _MergeEntry) -> None:
        for key, entry in theirs.items():
            if key in ours:
                merge_entry(ours[key], entry, f"{name}, {kind} {key}")
            else:
                ours[key] = entry

    def _merge_cite(self, ours: _Entry, theirs: _Entry, where: str) -> None:
        _require_equal("type", "level", "target", "source")(ours, theirs, where)
        different = []
        for field in ("comment", "feature", "tracking_issue"):
            values = [entry[field] for entry in (ours, theirs) if field in entry]
            if len(values) == 1 or len(set(values)) > 1:
                different.append(field)
            if values:
                ours[field] = min(values)
        if ours.get("tags", []) != theirs.get("tags", []):
            different.append("tags")
        ours["tags"] = sorted({*ours.get("tags", ()), *theirs.get("tags", ())})
        if different:
            self.warnings.append(f"{where} differs from an earlier report in {', '.join(different)}.")


def _require_equal(*fields: str) -> _MergeEntry:
    """A merge function that raises `Conflict` if these fields are not equal."""

    def merge_entry(ours: _Entry, theirs: _Entry, where: str) -> None:
        for field in fields:
            if ours.get(field) != theirs.get(field):
                raise Conflict(f"{where}: its {field} differs from an earlier report.")

    return merge_entry


def _merge_specification(ours: _Entry, theirs: _Entry, where: str) -> None:
    _require_equal("title", "format", "source")(ours, theirs, where)
    if "url" in theirs and ours.setdefault("url", theirs["url"]) != theirs["url"]:
        raise Conflict(f"{where}: its url differs from an earlier report.")


def _merge_requirement(ours: _Entry, theirs: _Entry, where: str) -> None:
    _require_equal("level", "source", "origin")(ours, theirs, where)
    coverage = ours.setdefault("coverage", {})
    for key, ranges in theirs.get("coverage", {}).items():
        coverage[key] = coverage.get(key, []) + ranges


def _merge_unknown(ours: _Entry, theirs: _Entry, known: Mapping[str, Any], name: str) -> None:
    for url in theirs.keys() - known.keys():
        if ours.setdefault(url, theirs[url]) != theirs[url]:
            raise Conflict(f"{name}: {url} differs from an earlier report.")


def _unique_ranges(ranges: list[dict[str, int]]) -> list[dict[str, int]]:
    spans = {(item["start"], item["end"]) for item in ranges}
    return [{"start": start, "end": end} for start, end in sorted(spans)]


def _order_fields(annotations: _Entry) -> None:
    for url, shape in _ANNOTATIONS_SHAPE.items():
        names = [name.removesuffix("?") for name in shape]
        annotations[url] = {
            key: {name: entry[name] for name in names if name in entry} for key, entry in annotations[url].items()
        }
