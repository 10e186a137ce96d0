"""What the changes since the default branch mean for the requirements."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from contextive.errors import ContextiveError
from contextive.ingest.review_service import Review, ReviewService
from contextive.review.findings import Finding, Kind
from contextive.web.addresses import file_address, with_query
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject

_SECONDS: Final = 20.0
_MOST: Final = 200
KIND_WORDS: Final = {
    Kind.CITATION_BROKEN: "citation broken",
    Kind.REQUIREMENT_REMOVED: "requirement removed",
    Kind.REQUIREMENT_LEVEL: "level changed",
    Kind.REQUIREMENT_REWORDED: "requirement reworded",
    Kind.CITATION_REMOVED: "citation removed",
    Kind.TEST_REMOVED: "test removed",
    Kind.CITATION_MOVED: "citation moved",
    Kind.CITATION_CHANGED: "citation changed",
    Kind.MUST_WITHOUT_CODE: "MUST without code",
    Kind.CODE_CHANGED: "code changed",
    Kind.TEST_CHANGED: "test changed",
    Kind.REQUIREMENT_ADDED: "requirement added",
    Kind.ACCEPTANCES_CHANGED: "acceptances changed",
}


@dataclass(frozen=True, slots=True)
class FindingLine:
    id: str
    kind: str
    path: str
    line: int
    address: str
    editor: str | None
    requirement: str
    reason: str
    do: str


@dataclass(frozen=True, slots=True)
class KindFilter:
    text: str
    address: str
    is_chosen: bool
    number: int


@dataclass(frozen=True, slots=True)
class Changes:
    base: str
    head: str
    changed_files: int
    kinds: tuple[KindFilter, ...]
    findings: tuple[FindingLine, ...]
    total: int
    notices: tuple[str, ...]
    problem: str
    """Why there is no review, such as a project without git."""


def changes(project: SiteProject, given: Parameters) -> Page:
    """The findings of a review of the working tree."""
    chosen = given.get("kind", "")
    try:
        review = review_of(project)
    except ContextiveError as error:
        return _page(Changes("", "", 0, (), (), 0, (), error.full_message()))
    matching = [one for one in review.findings if chosen in ("", one.kind.value)]
    counts = Counter(one.kind for one in review.findings)
    content = Changes(
        base=review.base[:12],
        head=review.head,
        changed_files=review.changed_files,
        kinds=tuple(
            KindFilter(
                KIND_WORDS[kind],
                with_query("/changes", {"kind": "" if kind.value == chosen else kind.value}),
                kind.value == chosen,
                counts[kind],
            )
            for kind in Kind
            if counts[kind]
        ),
        findings=tuple(_line(project, one) for one in matching[:_MOST]),
        total=len(matching),
        notices=review.notices,
        problem="",
    )
    return _page(content)


def review_of(project: SiteProject) -> Review:
    """The review of the working tree, the same that the tool gives."""
    notes = project.notes

    def mentioned_in(identifier: str) -> list[str]:
        return [note.path for note in notes.view().catalog.about_requirement(identifier)]

    service = project.service(ReviewService).for_profile(project.profile)
    return service.review(timeout_seconds=_SECONDS, mentioned_in=mentioned_in)


def _page(content: Changes) -> Page:
    return Page("changes.html", "Changes", content, "changes")


def _line(project: SiteProject, finding: Finding) -> FindingLine:
    return FindingLine(
        id=finding.id,
        kind=KIND_WORDS[finding.kind],
        path=finding.path,
        line=finding.line,
        address=file_address(finding.path, finding.line),
        editor=project.links.link(finding.path, max(finding.line, 1), max(finding.line, 1)),
        requirement=finding.requirement,
        reason=finding.reason,
        do=finding.do,
    )
