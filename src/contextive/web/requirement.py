"""One requirement: its text, its code and tests, what is missing, and the notes about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from contextive.errors import NotFound
from contextive.ingest.evidence_service import EvidenceService
from contextive.ingest.trace_service import TraceService, TraceView
from contextive.packs.trace.cited_code import comment_and_code, stale_reason, type_word
from contextive.packs.trace.next_steps import Explainer, evidence_words
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType
from contextive.trace.ranking import STATUS_WORDS, least_finished, level_word
from contextive.trace.reports.coverage_spans import requirement_pieces
from contextive.trace.requirement import Requirement
from contextive.web.addresses import (
    file_address,
    note_address,
    requirement_address,
    requirement_anchor,
    specification_address,
)
from contextive.web.highlighting import Token, highlight
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject
from contextive.web.spec_parts import part_with
from contextive.web.spec_text import Piece, mark_of
from contextive.web.tasks import TaskLine, tasks_of

_ASIDE_LINES: Final = 12
_PAGE_LINES: Final = 40
_ASIDE_CITATIONS: Final = 4
_MOST_CITATIONS: Final = 50
_WORD: Final = re.compile(r"\w+")
_ORDER: Final = (CitationType.CITATION, CitationType.IMPLICATION, CitationType.TEST, CitationType.EXCEPTION)


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a file."""

    number: int
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """A citation with its comment and the code below it."""

    id: str
    kind: str
    path: str
    line: int
    address: str
    editor: str | None
    lines: tuple[CodeLine, ...]
    more: int
    reason: str
    tracking_issue: str
    feature: str
    stale: str | None
    outcome: str
    """The last result of a test: passed, failed or skipped; empty if it is not known."""


@dataclass(frozen=True, slots=True)
class MissingComment:
    """A comment to add."""

    what: str
    citation: str


@dataclass(frozen=True, slots=True)
class Link:
    """A page to go to."""

    text: str
    address: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RequirementPage:
    """Everything about one requirement."""

    identifier: str
    handle: str
    """The name that its author gave it, such as `kiro:user-auth/3.2`; empty if it has none."""
    status: str
    level: str
    text: str
    pieces: tuple[Piece, ...]
    paragraph: str
    address: str
    anchor: str
    specification: Link
    section: Link
    note: str
    """Why no code can implement it, if so."""
    open_words: tuple[str, ...]
    untested_words: tuple[str, ...]
    places: tuple[CitedPlace, ...]
    more_places: int
    missing: tuple[MissingComment, ...]
    tasks: tuple[TaskLine, ...]
    similar: tuple[Link, ...]
    notes: tuple[Link, ...]
    occurrences: tuple[Link, ...]
    """The other sections that contain the same text."""
    graph: str
    evidence: str
    """How well tests show that it works; empty if no results of tests were ever added."""


def requirement(project: SiteProject, given: Parameters) -> Page:
    """The page of one requirement, or only the column beside a specification if `form` is `aside`."""
    view = project.view()
    found = _chosen(view, given["identifier"], given.get("in", ""))
    is_aside = given.get("form") == "aside"
    content = describe(project, view, found, is_aside=is_aside)
    title = f"{content.level} in {content.section.text or content.specification.text}"
    return Page("requirement_aside.html" if is_aside else "requirement.html", title, content, "specs")


def _chosen(view: TraceView, identifier: str, place: str) -> Requirement:
    """The requirement with this identifier; of several sections the given one, or else the least finished."""
    found = view.catalog.find(identifier)
    if not found:
        raise NotFound(
            "There is no requirement with this identifier.", hint="Its text may have changed. Search for its words."
        )
    spec_id, _, section_id = place.partition("#")
    entry = view.catalog.specifications.get(spec_id)
    chosen = [r for r in found if entry and r.target == entry.target and r.section.id == section_id]
    return chosen[0] if chosen else least_finished(found)


def describe(project: SiteProject, view: TraceView, found: Requirement, *, is_aside: bool) -> RequirementPage:
    """What is known about a requirement; shorter for the column beside a specification."""
    service, entry = project.trace, view.catalog.entry_of(found.target)
    notes = project.notes.view().catalog.about_requirement(found.identifier)
    same_text = view.catalog.find(found.identifier)
    explanation = Explainer(view, service, found, with_similar=not is_aside or not found.related).in_full()
    ordered = _ordered(found.related)
    shown = ordered[: _ASIDE_CITATIONS if is_aside else _MOST_CITATIONS]
    lines = _ASIDE_LINES if is_aside else _PAGE_LINES
    part = part_with(entry.specification, found.section.id)
    section = specification_address(entry.id, part, requirement_anchor(found))
    return RequirementPage(
        identifier=found.identifier,
        handle=found.handle,
        status=STATUS_WORDS[found.status],
        level=level_word(found.level),
        text=found.text,
        pieces=tuple(
            Piece(text, mark_of(kinds, is_required=CitationType.SPEC in kinds))
            for text, kinds in requirement_pieces(entry.specification.source.text, found)
        ),
        paragraph=explanation.paragraph or "",
        address=requirement_address(found, entry.id),
        anchor=requirement_anchor(found),
        specification=Link(entry.title, specification_address(entry.id)),
        section=Link(found.section.title or found.section.id, section),
        note=explanation.note or "",
        open_words=tuple(explanation.open_text or ()),
        untested_words=tuple(explanation.untested_text or ()),
        places=tuple(_place(project, service, view, found, citation, lines) for citation in shown),
        more_places=len(ordered) - len(shown),
        missing=tuple(MissingComment(m.what, m.citation) for m in explanation.missing or ()),
        tasks=tasks_of(view, found),
        similar=tuple(
            Link(place.text, file_address(*_split_id(place.id)), f"{place.type} in {place.id}")
            for place in explanation.similar or ()
        ),
        notes=tuple(Link(note.title, note_address(note.slug), note.path) for note in notes),
        occurrences=tuple(_occurrences(view, found, same_text)),
        graph=f"/graph?node=Requirement:{found.identifier}",
        evidence=evidence_words(project.service(EvidenceService), found) or "",
    )


def _ordered(citations: Sequence[Citation]) -> list[Citation]:
    """Code before tests before the rest."""
    ranks = {kind: rank for rank, kind in enumerate(_ORDER)}
    return sorted(citations, key=lambda citation: ranks.get(citation.type, len(_ORDER)))


def _place(
    project: SiteProject, service: TraceService, view: TraceView, found: Requirement, citation: Citation, most: int
) -> CitedPlace:
    code = comment_and_code(service, citation, most)
    shown = code.lines[:most]
    first = code.end - len(code.lines) + 1 if code.end else citation.line
    return CitedPlace(
        id=citation.id,
        kind=type_word(citation),
        path=citation.source,
        line=citation.line,
        address=file_address(citation.source, citation.line),
        editor=project.links.link(citation.source, citation.line, max(citation.line, citation.end_line)),
        lines=tuple(
            CodeLine(number, tuple(highlight(line, citation.source))) for number, line in enumerate(shown, first)
        ),
        more=code.more + len(code.lines) - len(shown),
        reason=citation.comment or "",
        tracking_issue=citation.tracking_issue or "",
        feature=citation.feature or "",
        stale=stale_reason(found, citation, view.catalog),
        outcome=_last_outcome(project, found, citation, code.lines) if citation.type is CitationType.TEST else "",
    )


def _last_outcome(project: SiteProject, found: Requirement, citation: Citation, lines: Sequence[str]) -> str:
    """The last result of the test that a citation is in: the one whose name is in the lines at the citation."""
    words = set(_WORD.findall("\n".join(lines)))
    for record in project.service(EvidenceService).records():
        is_of_file = record.requirement == found.identifier and record.test.path == citation.source
        if is_of_file and record.test.symbol.rpartition(".")[2].rpartition("::")[2] in words:
            return record.outcome
    return ""


def _occurrences(view: TraceView, found: Requirement, same_text: Sequence[Requirement]) -> Iterator[Link]:
    for other in same_text:
        if other is not found:
            entry = view.catalog.entry_of(other.target)
            yield Link(
                f"{entry.name}, {other.section.title or other.section.id}",
                requirement_address(other, entry.id),
                STATUS_WORDS[other.status],
            )


def _split_id(citation_id: str) -> tuple[str, int]:
    path, _, line = citation_id.rpartition(":")
    return (path, int(line)) if line.isdigit() else (citation_id, 0)
