"""The comment of a citation and the code below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from contextive.ingest.trace_service import TraceService
from contextive.trace.catalog import TraceCatalog
from contextive.trace.citation import Citation
from contextive.trace.citation_reading import COMMENT_STYLES, styles_of
from contextive.trace.code_below import MAX_LINES, code_below, enclosing_line, first_code_line, shown_line
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement, merge_spans, open_pieces

CONTEXT_LINES: Final = 3
"""How many lines above a comment are shown with it."""
_MAX_CODE_LINE = 120
_MOST_READ = 200
"""Lines below a comment that are read. Many of them may be other citations."""
_SHORT = 3
_IMPLEMENTING = (CitationType.CITATION, CitationType.IMPLICATION, CitationType.EXCEPTION)


@dataclass(frozen=True, slots=True)
class CodeLines:
    """Lines of a file; `more` lines of the same function are left out."""

    lines: list[str]
    more: int = 0
    end: int = 0
    """The number of the last line in its file."""


def type_word(citation: Citation) -> str:
    """The type of a citation, as the tools name it."""
    return "implementation" if citation.type is CitationType.CITATION else citation.type.value


def lines_around(service: TraceService, citation: Citation, each_way: int) -> list[str]:
    """The first line of a citation with as many lines before and after it."""
    lines = service.lines_of(citation.source) or []
    first = max(citation.line - 1 - each_way, 0)
    return [shown_line(line) for line in lines[first : citation.line + each_way]]


def comment_and_code(service: TraceService, citation: Citation, most: int = MAX_LINES) -> CodeLines:
    """A few lines above a citation, its comment, and the code below it."""
    if citation.base is not None:
        return CodeLines(service.comment_of(citation).split("\n"))
    lines = service.lines_of(citation.source) or []
    first, last = _comment_range(lines, citation)
    found = code_below(lines, first, last, most)
    start = max(0, min(found.first, first - CONTEXT_LINES))
    return CodeLines([shown_line(line) for line in lines[start : found.last + 1]], found.more, found.last + 1)


def code_only(service: TraceService, citation: Citation, most: int) -> CodeLines:
    """The code that a citation belongs to, without its comment and without other citations, at most `most` lines.

    A short statement is useless without its condition, so the line that opens its block is shown above it.
    """
    if citation.base is not None or most <= 0:
        return CodeLines([])
    lines = service.lines_of(citation.source) or []
    first, last = _comment_range(lines, citation)
    found = code_below(lines, first, last, _MOST_READ)
    if found.first < first:
        return CodeLines(_without_citations(lines[found.first : first], citation))
    code = _without_citations(lines[last + 1 : found.last + 1], citation)
    opener = enclosing_line(lines, first) if len(code) < _SHORT else None
    shown = [shown_line(lines[opener])] if opener is not None else []
    shown += code[: most - len(shown)]
    return CodeLines(shown, found.more + len(code) - (len(shown) - (opener is not None)))


def _without_citations(lines: Sequence[str], citation: Citation) -> list[str]:
    """The lines without citations, and without blank lines and empty comments at both ends."""
    style = next((style for style in styles_of(()) if citation.text.startswith(style.meta)), COMMENT_STYLES[0])
    marks = (style.meta, style.content)
    kept = [shown_line(line) for line in lines if not line.lstrip().startswith(marks)]
    said = [number for number, line in enumerate(kept) if any(map(str.isalnum, line)) or line.strip(" \t/#*;-")]
    return kept[said[0] : said[-1] + 1] if said else []


def line_below(service: TraceService, citation: Citation) -> str | None:
    """The first line of code below a citation; None if it ends its block."""
    if citation.base is not None:
        return None
    lines = service.lines_of(citation.source) or []
    first, last = _comment_range(lines, citation)
    number = first_code_line(lines, last + 1)
    return (
        lines[number].strip()[:_MAX_CODE_LINE]
        if number is not None and code_below(lines, first, last).first == first
        else None
    )


##= docs/spec/trace.md#next-steps
##% A todo whose words are implemented MUST be marked as stale.
def stale_reason(requirement: Requirement, citation: Citation, catalog: TraceCatalog) -> str | None:
    """Why a todo can be removed; None if it cannot."""
    matched = catalog.matched_by_id.get(citation.id) if citation.type is CitationType.TODO else None
    if matched is None or matched.match is None:
        return None
    implemented = merge_spans(span for kind in _IMPLEMENTING for span in requirement.covered.get(kind, ()))
    inside = [(max(a, c), min(b, d)) for a, b in matched.match.spans for c, d in requirement.spans if a < d and c < b]
    if not implemented or open_pieces(inside, implemented, requirement.source.text):
        return None
    return "what it says is left to do is implemented"


def _comment_range(lines: Sequence[str], citation: Citation) -> tuple[int, int]:
    """The indexes of the first and the last line of a citation."""
    last = min(max(citation.end_line, citation.line), len(lines)) - 1
    return min(citation.line - 1, max(last, 0)), max(last, 0)
