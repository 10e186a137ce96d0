"""The tools for citations: validate one, list the wrong ones, read the code of one, and resolve what one names."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from contextive.ingest.trace_service import TraceService, TraceView
from contextive.packs.trace.cited_code import CONTEXT_LINES, comment_and_code, lines_around
from contextive.packs.trace.lists import data_reply, page_reply
from contextive.packs.trace.pack import LABELS, pack, service_of, view_of
from contextive.packs.trace.schemas import InvalidItem, PageInput, PageSchema
from contextive.registry import Context, Reply, ToolInput, ToolOutput
from contextive.trace.citation import Citation, CommentStyle, Problem
from contextive.trace.citation_help import CitationCheck, check_citation, check_citation_text, toml_entry
from contextive.trace.code_below import shown_line

_CITATION_ID = re.compile(r"(.+):([1-9][0-9]{0,8})\Z", re.DOTALL)
_MAX_COMMENT_LINES = 100
_MAX_KNOWN_IDS = 50


class CitationInput(ToolInput):
    citation: str = Field(min_length=1, max_length=20_000, description="Citation comment, one or more lines")


class ValidationAnswer(ToolOutput):
    valid: bool
    error: str | None = None
    part: Literal["format", "specification", "section", "quote"] | None = Field(None, description="The part that fails")
    nearest: str | None = Field(None, description="Nearest specification, section or sentence")
    suggestion: str | None = Field(None, description="Corrected citation, ready to paste")
    requirements: list[str] | None = Field(None, description="Identifiers of the requirements it covers")
    match: Literal["exact", "normalised", "fuzzy"] | None = None
    warnings: list[str] | None = Field(None, description="Why it may have no effect")


##= docs/spec/trace.md#validate-citation
##% The tool `validate_citation` MUST take `citation` and return `valid` and, if that is false, `error`.
@pack.tool(
    "validate_citation",
    title="Validate a citation",
    description="Check that a citation names an existing specification, section and text. Accepts the comment as "
    "you would paste it, with or without comment prefix. Returns the part that fails and a corrected citation.",
    labels=LABELS,
    invocation_hints="before or after writing a citation comment",
    untrusted=("nearest", "suggestion", "requirements", "match"),
    output=ValidationAnswer,
)
def validate_citation(given: CitationInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    styles = [source.style for source in view.state.settings.sources]
    check = check_citation_text(given.citation, view.catalog, styles, view.state.styles)
    return data_reply(
        ValidationAnswer(
            valid=check.valid,
            error=check.error or None,
            part=check.part,
            nearest=check.nearest or None,
            suggestion=check.suggestion or None,
            requirements=[r.identifier for r in check.requirements] or None,
            match=check.kind.value if check.kind else None,
            warnings=list(check.warnings) or None,
        )
    )


##= docs/spec/trace.md#list-invalid-citations
##% The tool `list_invalid_citations` MUST list everything that cannot be parsed or matched, with `file_path`,
##% `line_number`, `comment_text` and `error`.
@pack.tool(
    "list_invalid_citations",
    title="Invalid citations",
    description="Citations that cannot be parsed or that name a specification, section or text that does not exist. Each has "
    "the reason, the nearest match and a corrected citation.",
    labels=LABELS,
    invocation_hints="after a change of a specification or of citations",
    untrusted=("result",),
    output=PageSchema,
)
def list_invalid_citations(given: PageInput, ctx: Context) -> Reply:
    view, service = view_of(ctx), service_of(ctx)
    entries = invalid_citations(view)
    return page_reply("list_invalid_citations", entries, lambda entry: invalid_item(service, view, *entry), given)


def invalid_citations(view: TraceView) -> list[tuple[Citation | None, Problem]]:
    """Everything that cannot be parsed or matched, with its citation if it could be parsed."""
    return [*((None, problem) for problem in view.state.file_problems), *view.catalog.invalid]


def invalid_item(service: TraceService, view: TraceView, citation: Citation | None, problem: Problem) -> InvalidItem:
    """One invalid citation with the reason, the nearest match and a corrected citation."""
    if citation is None:
        return _unparsed(service, view, problem)
    style = service.style_for(view, citation)
    check = check_citation(citation, view.catalog, style)
    suggestion = check.suggestion if citation.base is None else toml_entry(citation, check.suggestion)
    return InvalidItem(
        file_path=citation.source,
        line_number=citation.line,
        comment_text=service.comment_of(citation),
        error=problem.message,
        part=check.part,
        nearest=check.nearest or None,
        suggestion=suggestion or None,
    )


def _unparsed(service: TraceService, view: TraceView, problem: Problem) -> InvalidItem:
    lines = [line.strip() for line in service.lines_of(problem.location.path) or []]
    number = problem.location.line
    text = lines[number - 1] if 0 < number <= len(lines) else ""
    styles = [source.style for source in view.state.settings.sources]
    check = CitationCheck(False, part="specification" if problem.code == "specification_not_found" else "format")
    for style in styles:
        if style.meta and text.startswith(style.meta):
            text = "\n".join(_comment_around(lines, number - 1, style))
            check = check_citation_text(text, view.catalog, styles)
            break
    return InvalidItem(
        file_path=problem.location.path,
        line_number=number,
        comment_text=text,
        error=problem.message,
        part=check.part,
        nearest=check.nearest or None,
        suggestion=check.suggestion or None,
    )


def _comment_around(lines: list[str], index: int, style: CommentStyle) -> list[str]:
    """The whole citation that a meta line belongs to."""
    first = index
    while first > 0 and lines[first - 1].startswith(style.meta):
        first -= 1
    last = index
    while last + 1 < len(lines) and lines[last + 1].startswith(style.meta):
        last += 1
    while last + 1 < len(lines) and style.content and lines[last + 1].startswith(style.content):
        last += 1
    return lines[first : min(last + 1, first + _MAX_COMMENT_LINES)]


class ContextInput(ToolInput):
    citation_id: str = Field(min_length=1, max_length=4096, description="path:line, such as src/main.rs:42")
    context_lines: int | None = Field(
        None,
        ge=0,
        le=500,
        description="Lines before and after; default: the comment and the code below it",
    )


class CitationContext(ToolOutput):
    file_path: str | None = None
    line_number: int | None = None
    context: list[str] | None = None
    code: list[str] | None = Field(None, description="Comment and code below it, if the context ends before")
    more_lines: int | None = None
    comment_text: str | None = None
    error: str | None = None


##= docs/spec/trace.md#get-citation-context
##% The tool `get_citation_context` MUST take `citation_id` and `context_lines` and return `file_path`, `line_number`
##% and `context`.
@pack.tool(
    "get_citation_context",
    title="Citation context",
    description="The comment of one citation and the code below it.",
    labels=LABELS,
    invocation_hints="to read the code that cites a requirement",
    untrusted=("context", "code", "comment_text"),
    output=CitationContext,
)
def get_citation_context(given: ContextInput, ctx: Context) -> Reply:
    view, service = view_of(ctx), service_of(ctx)
    if _CITATION_ID.match(given.citation_id) is None:
        return data_reply(CitationContext(error="Invalid citation ID format: expected path:line"))
    citation = view.catalog.citation(given.citation_id)
    if citation is None:
        return data_reply(_context_of_problem(given.citation_id, view, service))
    code = comment_and_code(service, citation)
    ##= docs/spec/trace.md#get-citation-context
    ##% If `context_lines` is given, the context MUST contain the citation's first line and that number of lines before
    ##% and after it, as far as they exist.
    each_way = given.context_lines
    context = code.lines if each_way is None else lines_around(service, citation, each_way)
    ends_before_code = each_way is not None and citation.line + each_way < code.end
    return data_reply(
        CitationContext(
            file_path=citation.source,
            line_number=citation.line,
            context=context,
            code=code.lines if ends_before_code else None,
            more_lines=code.more or None,
            comment_text=service.comment_of(citation),
        )
    )


def _context_of_problem(citation_id: str, view: TraceView, service: TraceService) -> CitationContext:
    """The lines around a citation that cannot be parsed; `list_invalid_citations` has its line."""
    for problem in view.state.file_problems:
        location = problem.location
        if citation_id == f"{location.path}:{location.line}" and (lines := service.lines_of(location.path)):
            first = max(location.line - 1 - CONTEXT_LINES, 0)
            context = [shown_line(line) for line in lines[first : location.line + CONTEXT_LINES]]
            return CitationContext(file_path=location.path, line_number=location.line, context=context)
    return CitationContext(error="Citation not found")


class UrlInput(ToolInput):
    url: str = Field(min_length=1, max_length=4096, description="URL or path of a specification")


class SpecId(ToolOutput):
    spec_id: str | None = None
    error: str | None = None
    known: list[str] | None = Field(None, description="The existing ids, if no specification has this URL")


##= docs/spec/trace.md#resolve-spec-id
##% The tool `resolve_spec_id` MUST take `url` and return `spec_id`, or `error` if no specification has that address.
@pack.tool(
    "resolve_spec_id",
    title="Resolve a specification",
    description="The id of the specification with this URL or path, however it is spelled.",
    labels=LABELS,
    invocation_hints="before reading resources of a specification known by its URL",
    output=SpecId,
)
def resolve_spec_id(given: UrlInput, ctx: Context) -> Reply:
    catalog = view_of(ctx).catalog
    entry = catalog.resolve(given.url)
    if entry is None:
        return data_reply(SpecId(error="Specification not found", known=list(catalog.specifications)[:_MAX_KNOWN_IDS]))
    return data_reply(SpecId(spec_id=entry.id))
