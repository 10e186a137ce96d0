"""The tools for requirements: search and list them, their status, and the text of a section."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from contextive.ingest.trace_service import TraceView
from contextive.packs.trace.lists import (
    data_reply,
    filter_requirements,
    missing_specification_hint,
    page_reply,
    priority_item,
    requirement_item,
    status_items,
    without_none,
)
from contextive.packs.trace.pack import LABELS, pack, view_of
from contextive.packs.trace.schemas import (
    Identifier,
    ListInput,
    PageSchema,
    RequirementItem,
    SimpleStatus,
)
from contextive.registry import Context, Reply, ToolInput, ToolOutput
from contextive.registry.budget import text_part
from contextive.search.requirement_search import RequirementSearch
from contextive.trace.catalog import MIN_PREFIX, SpecificationEntry
from contextive.trace.ranking import SIMPLE_STATUS, least_finished, prioritise
from contextive.trace.requirement import Requirement
from contextive.trace.specification import slug

MAX_OCCURRENCES = 20
_SECTION_TOKENS = 3_900
_MAX_KNOWN_IDS = 50


class SearchInput(ListInput):
    query: str = Field(
        min_length=1, max_length=1000, description='A question, words, "quoted phrases" or an identifier'
    )


##= docs/spec/trace.md#search-requirements
##% The tool `search_requirements` MUST take `query` and list the matching requirements with `identifier`, `full_path`
##% and `text`.
@pack.tool(
    "search_requirements",
    title="Search requirements",
    description='Find requirements by a question, words, "quoted phrases" or identifier, best match first. Returns identifier, '
    "path, text, level and status of each.",
    labels=LABELS,
    invocation_hints="to find which requirement a piece of work is about",
    untrusted=("result",),
    output=PageSchema,
)
def search_requirements(given: SearchInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    answer = ctx.service(RequirementSearch).search(view.catalog, given.query)
    found = filter_requirements(view, given, answer.requirements)
    note = missing_specification_hint(view, given.spec) or (answer.note if found else "No requirement matches.")
    fields = {"note": answer.note} if answer.note and found else None
    return page_reply("search_requirements", found, requirement_item(view.catalog), given, note=note, fields=fields)


class IdentifierInput(ToolInput):
    req_identifier: Identifier


class RequirementStatusAnswer(ToolOutput):
    status: SimpleStatus | None = None
    error: str | None = None
    detail: str | None = Field(None, description="Finer word: complete, exception, missing_test, partial, todo, …")
    requirements: list[dict[str, Any]] | None = Field(None, description="Every occurrence of this text")


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
    labels=LABELS,
    invocation_hints="to see whether a requirement still needs work",
    untrusted=("requirements",),
    output=RequirementStatusAnswer,
)
def get_requirement_status(given: IdentifierInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    found = view.catalog.find(given.req_identifier)
    if not found:
        return data_reply(RequirementStatusAnswer(error=not_found_error(view, given.req_identifier)))
    worst = least_finished(found)
    return data_reply(
        RequirementStatusAnswer(
            status=SIMPLE_STATUS[worst.status],
            detail=worst.status.value,
            requirements=[without_none(item) for item in status_items(found, view.catalog)[:MAX_OCCURRENCES]],
        )
    )


class UncitedInput(ListInput):
    include: Literal["test_or_todo"] | None = Field(None, description="Also those that only a test or a todo cites")


##= docs/spec/trace.md#list-uncited-requirements
##% The tool `list_uncited_requirements` MUST list the uncited requirements with `identifier`, `full_path` and
##% `text`.
@pack.tool(
    "list_uncited_requirements",
    title="Uncited requirements",
    description="Requirements without any citation: identifier, full_path, text, level, status.",
    labels=LABELS,
    invocation_hints="to see what nobody has begun",
    untrusted=("result",),
    output=PageSchema,
)
def list_uncited_requirements(given: UncitedInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    wanted = view.catalog.uncited if given.include is None else view.catalog.not_implemented
    found = filter_requirements(view, given, wanted)
    show = requirement_item(view.catalog)

    def show_with_citations(requirement: Requirement) -> RequirementItem:
        types = dict.fromkeys(citation.type.value for citation in requirement.related)
        return show(requirement).model_copy(update={"cited_by": list(types) or None})

    note = missing_specification_hint(view, given.spec)
    ##= docs/spec/trace.md#list-uncited-requirements
    ##% With `include` set to `test_or_todo`, requirements that only tests or todos cite MUST be listed too, with the types
    ##% of their citations.
    return page_reply("list_uncited_requirements", found, show_with_citations, given, note=note)


##= docs/spec/trace.md#get-prioritized-requirements
##% The tool `get_prioritized_requirements` MUST list all requirements with `full_path`, `level`, `status` and
##% `todo_count`.
@pack.tool(
    "get_prioritized_requirements",
    title="Prioritized requirements",
    description="All requirements by priority: MUST before SHOULD before MAY; started before not started before implemented; "
    "more todos first. The status describes the implementation; `detail` says if it needs tests.",
    labels=LABELS,
    invocation_hints="to plan what to do next",
    untrusted=("result",),
    output=PageSchema,
)
def get_prioritized_requirements(given: ListInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    ordered = prioritise(filter_requirements(view, given, view.catalog.requirements), view.catalog)
    show, note = priority_item(view.catalog), missing_specification_hint(view, given.spec)
    return page_reply("get_prioritized_requirements", ordered, show, given, note=note)


class SectionInput(ToolInput):
    spec: str = Field(min_length=1, max_length=4096, description="Specification: id, URL or path")
    section: str = Field(max_length=1024, description="Section id, such as section-2.1, or a title")
    offset: int = Field(0, ge=0, description="next_offset of the previous part")


class SectionAnswer(ToolOutput):
    spec_id: str | None = None
    id: str | None = None
    title: str | None = None
    content: str | None = None
    next_offset: int | None = Field(None, description="Where the rest begins")
    total_characters: int | None = None
    error: str | None = None
    known: list[str] | None = None


##= docs/spec/trace.md#get-section
##% The tool `get_section` MUST take `spec`, `section` and `offset` and return the text of a section.
@pack.tool(
    "get_section",
    title="Text of a section",
    description="The text of one section of a specification; long ones in parts, by offset.",
    labels=LABELS,
    invocation_hints="to read what surrounds a requirement",
    untrusted=("title", "content"),
    output=SectionAnswer,
)
def get_section(given: SectionInput, ctx: Context) -> Reply:
    catalog = view_of(ctx).catalog
    entry = catalog.resolve(given.spec)
    if entry is None:
        known = list(catalog.specifications)[:_MAX_KNOWN_IDS]
        return data_reply(SectionAnswer(error="Specification not found", known=known))
    section = entry.section(given.section.removeprefix("#"))
    if section is None:
        section = entry.section(nearest) if (nearest := _section_by_title(entry, given.section)) else None
    if section is None:
        ids = [s.id for s in entry.specification.sections][:_MAX_KNOWN_IDS]
        return data_reply(SectionAnswer(error="Section not found", known=ids))
    ##= docs/spec/trace.md#get-section
    ##% A section of more than 4000 tokens MUST be returned in parts, each with the offset of the next one.
    content = section.content()
    part = text_part(content, given.offset, _SECTION_TOKENS)
    return data_reply(
        SectionAnswer(
            spec_id=entry.id,
            id=section.id,
            title=section.title,
            content=part.text,
            next_offset=part.next_offset,
            total_characters=len(content) if part.next_offset is not None or given.offset else None,
        )
    )


def _section_by_title(entry: SpecificationEntry, name: str) -> str:
    """The id of the section with this title, in any spelling."""
    wanted = slug(name)
    return next((s.id for s in entry.specification.sections if wanted and slug(s.title) == wanted), "")


##= docs/spec/trace.md#answers
##% An unknown identifier, citation id or URL MUST be answered with an `error` in place of the other fields.
def not_found_error(view: TraceView, identifier: str) -> str:
    candidates = len(view.catalog.ambiguous(identifier))
    if not candidates:
        return "Requirement not found"
    start = "1 identifier starts" if candidates == 1 else f"{candidates} identifiers start"
    return f"Requirement not found: {start} with this; give more digits, at least {MIN_PREFIX}"
