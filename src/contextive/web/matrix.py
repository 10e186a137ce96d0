"""The matrix: each requirement with its tasks, its code and its tests, those without anything first."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contextive.errors import NotFound
from contextive.ingest.trace_service import TraceView
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType
from contextive.trace.ranking import STATUS_WORDS, level_word
from contextive.trace.requirement import Requirement
from contextive.web.addresses import file_address, requirement_address, specification_address, with_query
from contextive.web.page import Download, Page, Parameters
from contextive.web.project import SiteProject
from contextive.web.tasks import TaskLine, tasks_by_handle
from contextive.web.words import STATUSES

_CODE: Final = (CitationType.CITATION, CitationType.IMPLICATION)
_TESTS: Final = (CitationType.TEST, CitationType.IMPLICATION)
_ROWS: Final = 150
_PLACES: Final = 2
_COLUMNS: Final = ("status", "level", "specification", "requirement", "tasks", "code", "tests")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class PlaceLink:
    text: str
    address: str


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement."""

    identifier: str
    handle: str
    status: str
    level: str
    specification: str
    specification_address: str
    section: str
    text: str
    address: str
    tasks: tuple[TaskLine, ...]
    code: tuple[PlaceLink, ...]
    more_code: int
    tests: tuple[PlaceLink, ...]
    more_tests: int


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    address: str
    order: str
    """`ascending` or `descending` if the rows are sorted by this column."""


@dataclass(frozen=True, slots=True)
class SpecificationChoice:
    id: str
    name: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Matrix:
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: int
    first: int
    previous: str
    next: str
    csv: str
    specifications: tuple[SpecificationChoice, ...]


def matrix(project: SiteProject, given: Parameters) -> Page | Download:
    """The rows of one specification or of all, sorted by a column, as a page or as CSV."""
    view = project.view()
    chosen = given.get("spec", "")
    requirements = list(_of_specification(view, chosen))
    sort = given.get("sort", "") if given.get("sort") in _COLUMNS else ""
    is_reversed = given.get("order") == "descending"
    requirements.sort(key=_SORTING[sort](view), reverse=is_reversed)
    query = {"spec": chosen, "sort": sort, "order": "descending" if is_reversed else ""}
    tasks = tasks_by_handle(view)
    if given.get("format") == "csv":
        return Download("matrix.csv", "text/csv", _csv(view, tasks, requirements))
    start = int(text) if (text := given.get("from", "")).isascii() and text.isdigit() and len(text) < 9 else 0
    shown = requirements[start : start + _ROWS]
    content = Matrix(
        columns=tuple(_columns(query, sort, is_reversed=is_reversed)),
        rows=tuple(_row(view, tasks, requirement) for requirement in shown),
        total=len(requirements),
        first=start + 1,
        previous=with_query("/matrix", {**query, "from": max(0, start - _ROWS)}) if start else "",
        next=with_query("/matrix", {**query, "from": start + _ROWS}) if start + _ROWS < len(requirements) else "",
        csv=with_query("/matrix", {**query, "format": "csv"}),
        specifications=tuple(
            SpecificationChoice(entry.id, entry.title, entry.id == chosen)
            for entry in view.catalog.specifications.values()
            if entry.target in view.catalog.analysis.reports
        ),
    )
    return Page("matrix.html", "Matrix", content, "matrix")


def _of_specification(view: TraceView, chosen: str) -> Iterator[Requirement]:
    entry = view.catalog.resolve(chosen) if chosen else None
    if chosen and entry is None:
        raise NotFound("There is no specification with this name.", hint="Choose one of the list.")
    yield from (r for r in view.catalog.requirements if entry is None or r.target == entry.target)


Key = Callable[[Requirement], Any]
Tasks = Mapping[str, tuple[TaskLine, ...]]


def _by_evidence(_view: TraceView) -> Key:
    """Without anything first, then without code or tests, then what is done; the most binding first."""

    def evidence(requirement: Requirement) -> int:
        if requirement.status.is_done:
            return 3
        return bool(requirement.citations_of(*_CODE)) + bool(requirement.citations_of(*_TESTS))

    return lambda r: (evidence(r), -r.level)


def _by_tasks(tasks: Tasks) -> Key:
    return lambda r: len(tasks.get(r.handle, ()))


_SORTING: Final[dict[str, Callable[[TraceView], Key]]] = {
    "": _by_evidence,
    "status": lambda _: lambda r: STATUSES.index(STATUS_WORDS[r.status]),
    "level": lambda _: lambda r: -r.level,
    "specification": lambda view: lambda r: view.catalog.entry_of(r.target).title,
    "requirement": lambda _: lambda r: r.text,
    "tasks": lambda view: _by_tasks(tasks_by_handle(view)),
    "code": lambda _: lambda r: len(r.citations_of(*_CODE)),
    "tests": lambda _: lambda r: len(r.citations_of(*_TESTS)),
}


def _columns(query: dict[str, str], sort: str, *, is_reversed: bool) -> Iterator[Column]:
    for name in _COLUMNS:
        is_sorted = name == sort
        order = ("descending" if is_reversed else "ascending") if is_sorted else ""
        following = "descending" if is_sorted and not is_reversed else ""
        yield Column(name, with_query("/matrix", {**query, "sort": name, "order": following}), order)


def _row(view: TraceView, tasks: Tasks, requirement: Requirement) -> Row:
    entry = view.catalog.entry_of(requirement.target)
    code, tests = requirement.citations_of(*_CODE), requirement.citations_of(*_TESTS)
    return Row(
        identifier=requirement.identifier,
        handle=requirement.handle,
        status=STATUS_WORDS[requirement.status],
        level=level_word(requirement.level),
        specification=entry.name,
        specification_address=specification_address(entry.id),
        section=requirement.section.title or requirement.section.id,
        text=requirement.text,
        address=requirement_address(requirement, entry.id),
        tasks=tasks.get(requirement.handle, ()),
        code=tuple(map(_place, code[:_PLACES])),
        more_code=max(0, len(code) - _PLACES),
        tests=tuple(map(_place, tests[:_PLACES])),
        more_tests=max(0, len(tests) - _PLACES),
    )


def _place(citation: Citation) -> PlaceLink:
    return PlaceLink(f"{citation.source}:{citation.line}", file_address(citation.source, citation.line))


def _csv(view: TraceView, tasks: Tasks, requirements: Sequence[Requirement]) -> str:
    """All rows. A cell that a spreadsheet would run as a formula begins with an apostrophe."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(
        ("status", "level", "specification", "section", "requirement", "tasks", "code", "tests", "identifier")
    )
    for requirement in requirements:
        entry = view.catalog.entry_of(requirement.target)
        cells = (
            STATUS_WORDS[requirement.status],
            level_word(requirement.level),
            entry.title,
            requirement.section.title or requirement.section.id,
            requirement.text,
            ", ".join(f"{task.key} {task.state}" for task in tasks.get(requirement.handle, ())),
            " ".join(f"{c.source}:{c.line}" for c in requirement.citations_of(*_CODE)),
            " ".join(f"{c.source}:{c.line}" for c in requirement.citations_of(*_TESTS)),
            requirement.handle or requirement.identifier,
        )
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return written.getvalue()
