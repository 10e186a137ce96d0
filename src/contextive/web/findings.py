"""What is wrong with citations: each with the reason, the difference to the nearest sentence and a correction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from contextive.packs.trace.citation_tools import invalid_citations, invalid_item
from contextive.trace.citation import Citation, Problem
from contextive.web.addresses import file_address, with_query
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject
from contextive.web.word_changes import Words, word_changes

KINDS: Final = {
    "quote_not_found": "quotes a sentence that is not there",
    "section_not_found": "names a section that does not exist",
    "section_missing": "names no section",
    "specification_not_found": "names a specification that was not found",
}
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Finding:
    path: str
    line: int
    address: str
    editor: str | None
    kind: str
    message: str
    comment: str
    changes: tuple[Words, ...]
    """The quote compared with the nearest sentence."""
    nearest: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class KindChoice:
    text: str
    address: str
    is_chosen: bool
    number: int


@dataclass(frozen=True, slots=True)
class Findings:
    kinds: tuple[KindChoice, ...]
    findings: tuple[Finding, ...]
    total: int
    next: str


def findings(project: SiteProject, given: Parameters) -> Page:
    """The invalid citations, or those of one kind."""
    view, service = project.view(), project.trace
    every = invalid_citations(view)
    chosen = given.get("kind", "")
    counts = Counter(_kind(problem) for _, problem in every)
    matching = [entry for entry in every if not chosen or _kind(entry[1]) == chosen]
    start = _start(given.get("from", ""))
    shown = matching[start : start + _MOST]
    more = {"kind": chosen, "from": start + _MOST} if len(matching) > start + _MOST else {}

    def finding(citation: Citation | None, problem: Problem) -> Finding:
        item = invalid_item(service, view, citation, problem)
        is_quote = citation is not None and item.part == "quote" and item.nearest is not None
        return Finding(
            path=item.file_path,
            line=item.line_number,
            address=file_address(item.file_path, item.line_number),
            editor=project.links.link(item.file_path, max(item.line_number, 1), max(item.line_number, 1)),
            kind=_kind(problem),
            message=item.error,
            comment=item.comment_text,
            changes=word_changes(citation.quote, item.nearest or "") if citation and is_quote else (),
            nearest=item.nearest or "",
            suggestion=item.suggestion or "",
        )

    content = Findings(
        kinds=tuple(
            KindChoice(
                KINDS.get(kind, "cannot be read"),
                with_query("/findings", {"kind": "" if kind == chosen else kind}),
                kind == chosen,
                number,
            )
            for kind, number in counts.most_common()
        ),
        findings=tuple(finding(citation, problem) for citation, problem in shown),
        total=len(matching),
        next=with_query("/findings", more) if more else "",
    )
    return Page("findings.html", "Findings", content, "overview")


def _kind(problem: Problem) -> str:
    return problem.code if problem.code in KINDS else "other"


def _start(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
