"""The structure of the HTML report: specifications as chapters, their sections, and the anchors of links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType
from contextive.trace.reports.safe_text import web_link
from contextive.trace.requirement import Requirement, StatusSummary
from contextive.trace.specification import Format, Section

_MAX_CITATIONS = 50
_KINDS = (
    CitationType.CITATION,
    CitationType.IMPLICATION,
    CitationType.TEST,
    CitationType.EXCEPTION,
    CitationType.TODO,
    CitationType.SPEC,
)
_KIND_ORDER = {kind: index for index, kind in enumerate(_KINDS)}


@dataclass(frozen=True, slots=True)
class ChapterSection:
    """A section in the HTML report: one that has requirements or is cited."""

    anchor: str
    section: Section
    title: str
    requirements: list[Requirement]
    summary: StatusSummary


@dataclass(frozen=True, slots=True)
class Chapter:
    """A specification in the HTML report."""

    number: int
    report: TargetReport
    title: str
    address: str | None
    """The URL of the specification, if it is on the web."""
    requirements: tuple[Requirement, ...]
    summary: StatusSummary
    sections: list[ChapterSection]
    text: str
    line_of: Callable[[int], int]
    """Returns the line of an offset in the specification's text."""

    @staticmethod
    def of(number: int, report: TargetReport) -> Chapter:
        requirements = report.requirements
        path = report.target.display_name
        title = report.specification.title or path.rstrip("/").rpartition("/")[2] or path
        sections = list(_chapter_sections(number, report, requirements))
        address = web_link(report.target.path)
        summary, source = StatusSummary.of(requirements), report.specification.source
        return Chapter(number, report, title, address, requirements, summary, sections, source.text, source.line_of)

    def other_citations(self) -> dict[str, list[Citation]]:
        """The citations that quote no part of a requirement, by section id."""
        related = {id(citation) for requirement in self.requirements for citation in requirement.related}
        others: dict[str, dict[Citation, None]] = {}
        for citation in (item.citation for item in self.report.cited):
            if id(citation) not in related and citation.type is not CitationType.SPEC:
                section = self.report.specification.section(citation.section_id or "")
                if section is not None:
                    others.setdefault(section.id, {})[citation] = None
        return {section_id: list(citations) for section_id, citations in others.items()}


def _chapter_sections(
    number: int, report: TargetReport, requirements: Sequence[Requirement]
) -> Iterator[ChapterSection]:
    by_section: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        by_section.setdefault(requirement.section.id, []).append(requirement)
    find = report.specification.section
    targets = {item.citation.target for item in report.cited}
    named = {target.partition("#")[2] for target in targets}
    cited = {section.id for name in named if (section := find(name)) is not None}
    seen = set()
    for index, section in enumerate(report.specification.sections, 1):
        if section.id in cited and section.id not in seen:
            seen.add(section.id)
            known = report.specification.by_id[section.id]
            own = by_section.get(section.id, [])
            yield ChapterSection(f"s{number}-{index}", known, _section_title(report, known), own, StatusSummary.of(own))


def _section_title(report: TargetReport, section: Section) -> str:
    """The title for readers: in RFCs with the section number, which the parsed title does not have."""
    _, dash, number = section.id.partition("-")
    if report.specification.format is Format.IETF and dash and not section.id.startswith("name-"):
        return f"{number} {section.title}".rstrip()
    return section.title or section.id


def limit_citations(citations: Collection[Citation]) -> list[Citation]:
    """The citations that are listed, at most 50, sorted by type."""
    if len(citations) < 2:
        return list(citations)
    return sorted(citations, key=lambda citation: _KIND_ORDER[citation.type])[:_MAX_CITATIONS]


class AnchorNames:
    """The anchors of links inside the page. They must be requested in page order."""

    def __init__(self) -> None:
        self._requirements: dict[str, int] = {}
        self._code: dict[Citation, str] = {}
        self._chapter = self._code_count = 0

    def begin(self, chapter: int) -> None:
        """Start the next chapter. Code is numbered by chapter, and no citation is in two chapters."""
        self._chapter, self._code_count = chapter, 0

    def requirement(self, requirement: Requirement) -> str:
        """The anchor of a requirement, the same in every report, with a number if its text occurs in two sections."""
        base = _base(requirement.identifier)
        count = self._requirements[base] = self._requirements.get(base, 0) + 1
        return base if count == 1 else f"{base}-{count}"

    def code(self, citation: Citation) -> tuple[str, bool]:
        """The anchor of a citation's code, and whether it is new: the same code is shown once."""
        new = f"c{self._chapter}-{self._code_count + 1}"
        name = self._code.setdefault(citation, new)
        self._code_count += name is new
        return name, name is new


def _base(identifier: str) -> str:
    return f"r-{identifier[:16]}"
