"""The tools of the trace pack. Each one is a query of the catalog."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService, TraceView
from contextive.packs.trace.pack import pack, view_of
from contextive.packs.trace.schemas import (
    CitedCode,
    Explanation,
    ExplanationSchema,
    Identifier,
    InvalidItem,
    InvalidPage,
    Level,
    ListInput,
    MissingCitation,
    NoteItem,
    PriorityPage,
    RequirementPage,
    SimpleStatus,
    StatusItem,
    data_reply,
    filter_requirements,
    no_specification_hint,
    page_reply,
    priority_item,
    requirement_item,
    status_items,
)
from contextive.registry import Context, Reply, ToolInput, ToolOutput
from contextive.trace.citation import Citation, CommentStyle, Problem
from contextive.trace.citation_help import (
    COMMENT_STYLES,
    CitationCheck,
    check_citation,
    check_citation_text,
    citation_comment,
    missing_citations,
    toml_entry,
)
from contextive.trace.level import CitationType
from contextive.trace.ranking import SIMPLE_STATUS, least_finished, level_word, prioritise, search, similar_requirements
from contextive.trace.requirement import Requirement, Status

_CITATION_ID = re.compile(r"(.+):([1-9][0-9]{0,8})\Z", re.DOTALL)
_CODE_LINES = 6
_MAX_CITATIONS = 20
_MAX_NOTES = 20
_MAX_COMMENT_LINES = 100
_LABELS = ("requirements",)


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


##= docs/spec/trace.md#validate-citation
##% The tool `validate_citation` MUST take `citation` and return `valid` and, if that is false, `error`.
@pack.tool(
    "validate_citation",
    title="Validate a citation",
    description="Check that a citation names an existing specification, section and text. Accepts the comment as "
    "you would paste it, with or without comment prefix. Returns the part that fails and a corrected citation.",
    labels=_LABELS,
    invocation_hints="before or after writing a citation comment",
    output=ValidationAnswer,
)
def validate_citation(given: CitationInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    check = check_citation_text(given.citation, view.catalog, [source.style for source in view.state.settings.sources])
    return data_reply(
        ValidationAnswer(
            valid=check.valid,
            error=check.error or None,
            part=check.part,
            nearest=check.nearest or None,
            suggestion=check.suggestion or None,
            requirements=[r.identifier for r in check.requirements] or None,
            match=check.kind.value if check.kind else None,
        )
    )


class SearchInput(ListInput):
    query: str = Field(min_length=1, max_length=1000, description='Words, "quoted phrases" or an identifier')


##= docs/spec/trace.md#search-requirements
##% The tool `search_requirements` MUST take `query` and list the matching requirements with `identifier`, `full_path`
##% and `text`.
@pack.tool(
    "search_requirements",
    title="Search requirements",
    description='Find requirements by words, "quoted phrases" or identifier, best match first. Returns identifier, path, '
    "text, level and status of each.",
    labels=_LABELS,
    invocation_hints="to find which requirement a piece of work is about",
    output=RequirementPage,
)
def search_requirements(given: SearchInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    found = filter_requirements(view, given, search(view.catalog, given.query))
    show = requirement_item(view.catalog)
    return page_reply("search_requirements", found, show, given.limit, given.cursor, no_specification_hint(view))


class IdentifierInput(ToolInput):
    req_identifier: Identifier


class RequirementStatusAnswer(ToolOutput):
    status: SimpleStatus | None = None
    error: str | None = None
    detail: str | None = Field(None, description="Finer word: complete, exception, missing_test, partial, todo, …")
    requirements: list[StatusItem] | None = Field(None, description="Every occurrence of this text")


##= docs/spec/trace.md#get-requirement-status
##% The tool `get_requirement_status` MUST take `req_identifier` and return `status`: done, needs tests, in progress
##% or not started.
##= docs/spec/trace.md#get-requirement-status
##% The status of a text that occurs in several sections MUST be its least finished one.
@pack.tool(
    "get_requirement_status",
    title="Requirement status",
    description="Status of one requirement: done, needs tests, in progress or not started. If its text occurs in "
    "several sections, the least finished occurrence counts.",
    labels=_LABELS,
    invocation_hints="to see whether a requirement still needs work",
    output=RequirementStatusAnswer,
)
def get_requirement_status(given: IdentifierInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    found = view.catalog.find(given.req_identifier)
    if not found:
        return data_reply(RequirementStatusAnswer(error=_not_found(view, given.req_identifier)))
    worst = least_finished(found)
    return data_reply(
        RequirementStatusAnswer(
            status=SIMPLE_STATUS[worst.status],
            detail=worst.status.value,
            requirements=status_items(found, view.catalog),
        )
    )


##= docs/spec/trace.md#list-uncited-requirements
##% The tool `list_uncited_requirements` MUST list the uncited requirements with `identifier`, `full_path` and
##% `text`.
@pack.tool(
    "list_uncited_requirements",
    title="Uncited requirements",
    description="Requirements without a citation of type implementation, implication or exception. A test or todo alone does "
    "not count. Filter by spec, section, level; page with cursor.",
    labels=_LABELS,
    invocation_hints="to see what is not implemented yet",
    output=RequirementPage,
)
def list_uncited_requirements(given: ListInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    found = filter_requirements(view, given, view.catalog.uncited)
    show = requirement_item(view.catalog)
    return page_reply("list_uncited_requirements", found, show, given.limit, given.cursor, no_specification_hint(view))


class InvalidInput(ToolInput):
    limit: int = Field(50, ge=1, le=1000, description="Entries on a page")
    cursor: str | None = Field(None, description="next_cursor of the previous page")


##= docs/spec/trace.md#list-invalid-citations
##% The tool `list_invalid_citations` MUST list everything that cannot be parsed or matched, with `file_path`,
##% `line_number`, `comment_text` and `error`.
@pack.tool(
    "list_invalid_citations",
    title="Invalid citations",
    description="Citations that cannot be parsed or that name a specification, section or text that does not exist. Each has "
    "the reason, the nearest match and a corrected citation.",
    labels=_LABELS,
    invocation_hints="after a change of a specification or of citations",
    output=InvalidPage,
)
def list_invalid_citations(given: InvalidInput, ctx: Context) -> Reply:
    view, service = view_of(ctx), ctx.service(TraceService)
    entries: list[tuple[Citation | None, Problem]] = [(None, problem) for problem in view.state.file_problems]
    entries += view.catalog.invalid

    def to_item(entry: tuple[Citation | None, Problem]) -> InvalidItem:
        citation, problem = entry
        if citation is None:
            return _unparsed(service, view, problem)
        style = service.style_for(view, citation)
        text = service.comment_of(citation) if citation.base is None else citation_comment(citation, COMMENT_STYLES[0])
        check = check_citation(citation, view.catalog, style)
        suggestion = check.suggestion if citation.base is None else toml_entry(citation, check.suggestion)
        return InvalidItem(
            file_path=citation.source,
            line_number=citation.line,
            comment_text=text,
            error=problem.message,
            part=check.part,
            nearest=check.nearest or None,
            suggestion=suggestion or None,
        )

    return page_reply("list_invalid_citations", entries, to_item, given.limit, given.cursor)


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
    context_lines: int = Field(3, ge=0, le=500, description="Lines before and after")


class CitationContext(ToolOutput):
    file_path: str | None = None
    line_number: int | None = None
    context: list[str] | None = None
    comment_text: str | None = None
    error: str | None = None


##= docs/spec/trace.md#get-citation-context
##% The tool `get_citation_context` MUST take `citation_id` and `context_lines` and return `file_path`, `line_number`
##% and `context`.
@pack.tool(
    "get_citation_context",
    title="Citation context",
    description="The code around one citation.",
    labels=_LABELS,
    invocation_hints="to read the code that cites a requirement",
    output=CitationContext,
)
def get_citation_context(given: ContextInput, ctx: Context) -> Reply:
    view, service = view_of(ctx), ctx.service(TraceService)
    if _CITATION_ID.match(given.citation_id) is None:
        return data_reply(CitationContext(error="Invalid citation ID format: expected path:line"))
    citation = view.catalog.citation(given.citation_id)
    if citation is None:
        return data_reply(CitationContext(error="Citation not found"))
    return data_reply(
        CitationContext(
            file_path=citation.source,
            line_number=citation.line,
            context=code_around(service, citation, given.context_lines),
            comment_text=service.comment_of(citation),
        )
    )


##= docs/spec/trace.md#get-citation-context
##% The context MUST contain the citation's first line and the requested number of lines before and after it, as far
##% as they exist.
def code_around(service: TraceService, citation: Citation, lines_each_way: int) -> list[str]:
    lines = service.lines_of(citation.source) or []
    first = max(citation.line - 1 - lines_each_way, 0)
    return [line.rstrip("\r") for line in lines[first : citation.line + lines_each_way]]


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
    labels=_LABELS,
    invocation_hints="before reading resources of a specification known by its URL",
    output=SpecId,
)
def resolve_spec_id(given: UrlInput, ctx: Context) -> Reply:
    catalog = view_of(ctx).catalog
    entry = catalog.resolve(given.url)
    if entry is None:
        return data_reply(SpecId(error="Specification not found", known=list(catalog.specifications)[:50]))
    return data_reply(SpecId(spec_id=entry.id))


##= docs/spec/trace.md#get-prioritized-requirements
##% The tool `get_prioritized_requirements` MUST list all requirements with `full_path`, `level`, `status` and
##% `todo_count`.
@pack.tool(
    "get_prioritized_requirements",
    title="Prioritized requirements",
    description="All requirements by priority: MUST before SHOULD before MAY; started before not started before done; "
    "more todos first.",
    labels=_LABELS,
    invocation_hints="to plan what to do next",
    output=PriorityPage,
)
def get_prioritized_requirements(given: ListInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    ordered = prioritise(filter_requirements(view, given, view.catalog.requirements))
    show = priority_item(view.catalog)
    return page_reply(
        "get_prioritized_requirements", ordered, show, given.limit, given.cursor, no_specification_hint(view)
    )


##= docs/spec/trace.md#next-steps
##% The tool `explain_requirement` MUST return a requirement's text, level, status, citations with their code, and the
##% missing citation comments.
##= docs/spec/trace.md#next-steps
##% For a text that occurs in several sections, `explain_requirement` MUST explain the least finished occurrence and
##% list all of them.
@pack.tool(
    "explain_requirement",
    title="Explain a requirement",
    description="Everything about one requirement: text, level, status, citations with their code, notes about it, what is "
    "missing, and the exact comment to add.",
    labels=_LABELS,
    invocation_hints="when you start to work on a requirement",
    output=ExplanationSchema,
)
def explain_requirement(given: IdentifierInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    found = view.catalog.find(given.req_identifier)
    if not found:
        return data_reply(Explanation(error=_not_found(view, given.req_identifier)))
    linking = ctx.service(NotesService).view().catalog.about_requirement(found[0].identifier)
    notes = [NoteItem(slug=note.slug, title=note.title, path=note.path) for note in linking[:_MAX_NOTES]]
    explained = _explain(least_finished(found), view, ctx.service(TraceService))
    occurrences = status_items(found, view.catalog) if len(found) > 1 else None
    return data_reply(explained.model_copy(update={"notes": notes or None, "requirements": occurrences}))


class NextInput(ToolInput):
    spec: str | None = Field(None, description="Only this specification: id, URL or path")
    section: str | None = Field(None, description="Only this section id")
    level: Level | None = Field(None, description="Only this level")


##= docs/spec/trace.md#next-steps
##% The tool `next_requirement` MUST return the open requirement with the highest priority, and say why.
@pack.tool(
    "next_requirement",
    title="Next requirement",
    description="The one requirement to work on next, why it is next, what is missing, and where similar ones are cited.",
    labels=_LABELS,
    invocation_hints="when asked to continue implementing a specification",
    output=ExplanationSchema,
)
def next_requirement(given: NextInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    wanted = ListInput(spec=given.spec, section=given.section, level=given.level)
    open_requirements = [
        r for r in filter_requirements(view, wanted, view.catalog.requirements) if not r.status.is_done
    ]
    if not open_requirements:
        detail = no_specification_hint(view) or "all matching requirements are done"
        return data_reply(Explanation(error="No open requirement", detail=detail))
    chosen = prioritise(open_requirements)[0]
    return data_reply(_explain(chosen, view, ctx.service(TraceService), why=_why(chosen, len(open_requirements))))


def _explain(requirement: Requirement, view: TraceView, service: TraceService, why: str | None = None) -> Explanation:
    own_code = [c for c in requirement.related if c.base is None]
    similar = similar_requirements(requirement, [r for r in view.catalog.requirements if r.related])
    near_code = [c for other in similar for c in other.citations_of(CitationType.CITATION) if c.base is None]
    style = service.style_for(view, next(iter([*own_code, *near_code]), None))
    returned = requirement.related[:_MAX_CITATIONS]
    return Explanation(
        identifier=requirement.identifier,
        full_path=view.catalog.full_path(requirement),
        text=requirement.text,
        level=level_word(requirement.level),
        status=SIMPLE_STATUS[requirement.status],
        detail=requirement.status.value,
        why_next=why,
        section_title=requirement.section.title,
        citations=[
            CitedCode(
                id=citation.id,
                type="implementation" if citation.type is CitationType.CITATION else citation.type.value,
                comment_text=service.comment_of(citation),
                code=code_around(service, citation, _CODE_LINES),
                reason=citation.comment or None,
            )
            for citation in returned
        ],
        missing=[MissingCitation(what=m.what, citation=m.citation) for m in missing_citations(requirement, style)],
        similar=[citation.id for citation in near_code[:5]] or None,
        more_citations=len(requirement.related) - len(returned) or None,
    )


def _why(requirement: Requirement, open_count: int) -> str:
    reason = {
        Status.MISSING_TEST: "it is implemented but not tested",
        Status.MISSING_CITATION: "it is tested but no implementation is cited",
        Status.PARTIAL: "it is started but not finished",
        Status.TODO: f"it is marked as todo ({requirement.todo_count})",
    }.get(requirement.status, "it is not started")
    return f"Highest priority of {open_count} open: level {level_word(requirement.level)}, and {reason}."


##= docs/spec/trace.md#answers
##% An unknown identifier, citation id or URL MUST be answered with an `error` in place of the other fields.
def _not_found(view: TraceView, identifier: str) -> str:
    candidates = view.catalog.ambiguous(identifier)
    if candidates:
        return f"Requirement not found: {len(candidates)} identifiers start with this; give more digits"
    return "Requirement not found"
