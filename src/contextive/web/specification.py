"""A specification: its text in sections with a badge for each requirement, and what covers which words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contextive.errors import NotFound
from contextive.ingest.trace_service import TraceView
from contextive.trace.analysis import TargetReport
from contextive.trace.catalog import SpecificationEntry
from contextive.trace.level import CitationType
from contextive.trace.ranking import STATUS_WORDS, level_word
from contextive.trace.reports.coverage_spans import CitedSpans
from contextive.trace.reports.safe_text import web_link
from contextive.trace.requirement import Requirement
from contextive.trace.specification import Format, Section
from contextive.web.addresses import (
    requirement_address,
    requirement_anchor,
    specification_address,
    with_query,
)
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject
from contextive.web.requirement import RequirementPage, describe
from contextive.web.spec_parts import part_with, parts_of
from contextive.web.spec_text import BlockKind, Piece, blocks_of
from contextive.web.tasks import TaskLine, tasks_by_handle
from contextive.web.words import LEVELS, STATUSES, Progress, progress_of

EVIDENCE: Final = ("no code", "no test", "nothing", "complete")
_DEEPEST: Final = 3
_TESTING: Final = (CitationType.TEST, CitationType.IMPLICATION, CitationType.EXCEPTION)


@dataclass(frozen=True, slots=True)
class Badge:
    """A requirement in the margin of the text."""

    anchor: str
    identifier: str
    handle: str
    status: str
    level: str
    code: int
    tests: int
    tasks: tuple[TaskLine, ...]
    address: str
    here: str
    """The address of this page with the requirement beside it."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    kind: BlockKind
    depth: int
    """How far it is indented, from 0 to 3."""
    pieces: tuple[Piece, ...]
    badges: tuple[Badge, ...]


@dataclass(frozen=True, slots=True)
class SectionText:
    """A section of the page; one without requirements is folded to its heading."""

    id: str
    title: str
    depth: int
    progress: Progress
    is_folded: bool
    blocks: tuple[TextBlock, ...]


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """A section in the table of contents."""

    id: str
    title: str
    depth: int
    address: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class RequirementLine:
    """A requirement in a filtered list."""

    badge: Badge
    section: str
    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a filter, and the page with it."""

    text: str
    address: str
    is_chosen: bool
    number: int


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class SpecificationPage:
    id: str
    name: str
    title: str
    file: str
    url: str | None
    is_extracted: bool
    progress: Progress
    part: int
    parts: int
    previous: str
    next: str
    contents: tuple[ContentsEntry, ...]
    sections: tuple[SectionText, ...]
    filters: tuple[Filter, ...]
    is_filtered: bool
    matching: tuple[RequirementLine, ...]
    beside: RequirementPage | None
    """The requirement that the address names."""


@dataclass(frozen=True, slots=True)
class SpecificationList:
    specifications: tuple[ContentsEntry, ...]


def specifications(project: SiteProject, _given: Parameters) -> Page:
    """All specifications, those with the most open requirements first."""
    view = project.view()
    entries = [
        ContentsEntry(
            entry.id, entry.title, 0, specification_address(entry.id), progress_of(_requirements(view, entry))
        )
        for entry in view.catalog.specifications.values()
    ]
    entries.sort(key=lambda entry: (entry.progress.done - entry.progress.total, entry.title))
    return Page("specifications.html", "Specifications", SpecificationList(tuple(entries)), "specs")


def specification(project: SiteProject, given: Parameters) -> Page:
    """One part of a specification, or its requirements that pass the filters."""
    view = project.view()
    entry = view.catalog.resolve(given["spec_id"])
    if entry is None:
        raise NotFound("There is no specification with this name.", hint="See the list of specifications.")
    report = view.catalog.analysis.reports.get(entry.target)
    requirements = report.requirements if report else ()
    parts = parts_of(entry.specification)
    number = _part_number(given, entry, len(parts))
    chosen = {name: given.get(name, "") for name in ("level", "status", "evidence")}
    matching = [r for r in requirements if all(_FILTERS[name](r, value) for name, value in chosen.items() if value)]
    is_filtered = any(chosen.values())
    beside = next((r for r in requirements if given.get("r") and requirement_anchor(r) == f"r-{given['r']}"), None)
    make = _Badges(entry, number, tasks_by_handle(view))
    content = SpecificationPage(
        id=entry.id,
        name=entry.name,
        title=entry.title,
        file=view.catalog.file_of(entry) or "",
        url=web_link(entry.target.path),
        is_extracted=view.is_extracted(entry),
        progress=progress_of(requirements),
        part=number,
        parts=len(parts),
        previous=specification_address(entry.id, number - 1) if number > 1 else "",
        next=specification_address(entry.id, number + 1) if number < len(parts) else "",
        contents=tuple(_contents(view, entry)),
        sections=() if is_filtered else tuple(_sections(view, entry, report, parts[number - 1], make)),
        filters=tuple(_filters(entry, requirements, chosen)),
        is_filtered=is_filtered,
        matching=tuple(
            RequirementLine(make.badge(r), _title(entry, r.section), r.text) for r in (matching if is_filtered else ())
        ),
        beside=describe(project, view, beside, is_aside=True) if beside else None,
    )
    return Page("specification.html", entry.title, content, "specs")


def _part_number(given: Parameters, entry: SpecificationEntry, parts: int) -> int:
    if given.get("section"):
        return part_with(entry.specification, given["section"])
    text = given.get("part", "")
    return min(max(int(text), 1), parts) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _requirements(view: TraceView, entry: SpecificationEntry) -> Sequence[Requirement]:
    report = view.catalog.analysis.reports.get(entry.target)
    return report.requirements if report else ()


@dataclass(frozen=True, slots=True)
class _Badges:
    """Creates the badges of one page."""

    entry: SpecificationEntry
    part: int
    tasks: Mapping[str, tuple[TaskLine, ...]]

    def badge(self, requirement: Requirement) -> Badge:
        anchor = requirement_anchor(requirement)
        here = with_query(
            specification_address(self.entry.id), {"part": self.part if self.part > 1 else "", "r": anchor[2:]}
        )
        return Badge(
            anchor=anchor,
            identifier=requirement.identifier,
            handle=requirement.handle,
            status=STATUS_WORDS[requirement.status],
            level=level_word(requirement.level),
            code=len(requirement.citations_of(CitationType.CITATION, CitationType.IMPLICATION)),
            tests=len(requirement.citations_of(CitationType.TEST, CitationType.IMPLICATION)),
            tasks=self.tasks.get(requirement.handle, ()) if requirement.handle else (),
            address=requirement_address(requirement, self.entry.id),
            here=f"{here}#{anchor}",
        )


def _contents(view: TraceView, entry: SpecificationEntry) -> Iterator[ContentsEntry]:
    """The sections, each with the progress of its own requirements."""
    for number, sections in enumerate(parts_of(entry.specification), 1):
        for section in sections:
            own = view.catalog.by_section.get((entry.id, section.id), ())
            yield ContentsEntry(
                section.id,
                _title(entry, section),
                _depth(entry, section),
                specification_address(entry.id, number, f"s-{section.id}"),
                progress_of(own),
            )


def _sections(
    view: TraceView, entry: SpecificationEntry, report: TargetReport | None, sections: Sequence[Section], make: _Badges
) -> Iterator[SectionText]:
    cited = CitedSpans(report.cited if report else ())
    text, format_ = entry.specification.source.text, entry.specification.format
    for section in sections:
        own = view.catalog.by_section.get((entry.id, section.id), [])
        anchors = [(requirement, requirement_anchor(requirement)) for requirement in own]
        found = list(blocks_of(section, text, format_, cited, anchors))
        least = min((block.indent for block in found if block.kind != "figure"), default=0)
        blocks = tuple(
            TextBlock(
                block.kind,
                min(max(block.indent - least, 0) // 2, _DEEPEST),
                block.pieces,
                tuple(make.badge(r) for r in block.requirements),
            )
            for block in found
        )
        yield SectionText(section.id, _title(entry, section), _depth(entry, section), progress_of(own), not own, blocks)


def _title(entry: SpecificationEntry, section: Section) -> str:
    """The title with its number, which the parsed title of an RFC does not have."""
    _, dash, number = section.id.partition("-")
    if entry.specification.format is Format.IETF and dash and not section.id.startswith("name-"):
        return f"{number} {section.title}".rstrip()
    return section.title or section.id


def _depth(entry: SpecificationEntry, section: Section) -> int:
    """How deep a section is nested, from 1."""
    if entry.specification.format is Format.IETF:
        return min(section.id.count(".") + 1, 4)
    return min(max(section.level, 1), 4)


def _has_evidence(requirement: Requirement, wanted: str) -> bool:
    match wanted:
        case "no code":
            return requirement.implementation == "none"
        case "complete":
            return requirement.status.is_done
        case "no test":
            return not requirement.citations_of(*_TESTING)
        case _:
            return not requirement.is_cited


_FILTERS: Final[dict[str, Callable[[Requirement, str], bool]]] = {
    "level": lambda requirement, wanted: level_word(requirement.level) == wanted,
    "status": lambda requirement, wanted: STATUS_WORDS[requirement.status] == wanted,
    "evidence": _has_evidence,
}
_VALUES: Final = {"level": LEVELS, "status": STATUSES, "evidence": EVIDENCE}


def _filters(
    entry: SpecificationEntry, requirements: Sequence[Requirement], chosen: dict[str, str]
) -> Iterator[Filter]:
    """The filters, with the number of requirements for each value beside the other filters."""
    address = specification_address(entry.id)
    for name, values in _VALUES.items():
        others = [(other, value) for other, value in chosen.items() if value and other != name]
        left = [r for r in requirements if all(_FILTERS[other](r, value) for other, value in others)]
        choices = []
        for value in values:
            number = sum(_FILTERS[name](r, value) for r in left)
            is_chosen = chosen[name] == value
            if number or is_chosen:
                query = {**chosen, name: "" if is_chosen else value}
                choices.append(Choice(value, with_query(address, query), is_chosen, number))
        yield Filter(name, tuple(choices))
