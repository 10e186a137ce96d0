"""What the HTML report shows, in its order: specifications, their sections, and the names by which these are linked."""

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
    """A section as the page shows it: one that holds requirements or that something cites."""

    anchor: str
    section: Section
    title: str
    requirements: list[Requirement]
    summary: StatusSummary


@dataclass(frozen=True, slots=True)
class Chapter:
    """A specification as the page shows it."""

    number: int
    report: TargetReport
    title: str
    address: str | None
    """Where it can be read, if that is on the web."""
    requirements: tuple[Requirement, ...]
    summary: StatusSummary
    sections: list[ChapterSection]
    text: str
    line_of: Callable[[int], int]
    """Gives the line of the specification that holds an offset in its text."""

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
        """By section, the citations that touch no requirement."""
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
    own: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        own.setdefault(requirement.section.id, []).append(requirement)
    find = report.specification.section
    targets = {item.citation.target for item in report.cited}
    named = {target.partition("#")[2] for target in targets}
    cited = {section.id for name in named if (section := find(name)) is not None}
    shown = set()
    for index, section in enumerate(report.specification.sections, 1):
        if section.id in cited and section.id not in shown:
            shown.add(section.id)
            reached = report.specification.by_id[section.id]
            inside = own.get(section.id, [])
            yield ChapterSection(
                f"s{number}-{index}", reached, _section_title(report, reached), inside, StatusSummary.of(inside)
            )


def _section_title(report: TargetReport, section: Section) -> str:
    """The title as a reader knows it: in RFCs with the number, which the parsed title lacks."""
    _, dash, number = section.id.partition("-")
    if report.specification.format is Format.IETF and dash and not section.id.startswith("name-"):
        return f"{number} {section.title}".rstrip()
    return section.title or section.id


def limit_citations(citations: Collection[Citation]) -> list[Citation]:
    """Those of many that are shown, ordered by what they claim."""
    if len(citations) < 2:
        return list(citations)
    return sorted(citations, key=lambda citation: _KIND_ORDER[citation.type])[:_MAX_CITATIONS]


class AnchorNames:
    """The names of what a page links to inside of itself, given in the order of the page."""

    def __init__(self) -> None:
        self._requirements: dict[str, int] = {}
        self._code: dict[Citation, str] = {}
        self._chapter = self._shown = 0

    def begin(self, chapter: int) -> None:
        """Go on with another chapter. Code is numbered by chapter, and no citation belongs to two."""
        self._chapter, self._shown = chapter, 0

    def requirement(self, requirement: Requirement) -> str:
        """The same for the same requirement in every report; one text in two sections is told apart by a number."""
        base = _base(requirement.identifier)
        count = self._requirements[base] = self._requirements.get(base, 0) + 1
        return base if count == 1 else f"{base}-{count}"

    def code(self, citation: Citation) -> tuple[str, bool]:
        """The name of a citation's code, and whether it is a new one: code is shown once."""
        new = f"c{self._chapter}-{self._shown + 1}"
        name = self._code.setdefault(citation, new)
        self._shown += name is new
        return name, name is new


def _base(identifier: str) -> str:
    return f"r-{identifier[:16]}"
