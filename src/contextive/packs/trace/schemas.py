"""Inputs and outputs of the trace tools, with the names of the Duvet MCP specification."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from contextive.errors import InvalidRequest
from contextive.ingest.trace_service import TraceView
from contextive.registry import Reply, Text, ToolInput, ToolOutput
from contextive.registry.content import escape_hidden_characters
from contextive.registry.paging import encode_cursor, offset_of
from contextive.registry.registry import safe_repr
from contextive.trace.catalog import TraceCatalog
from contextive.trace.ranking import PRIORITY_STATUS, SIMPLE_STATUS, level_word
from contextive.trace.requirement import Requirement

T = TypeVar("T")

Level = Literal["MUST", "SHOULD", "MAY", "unspecified"]
SimpleStatus = Literal["done", "needs tests", "in progress", "not started"]
PriorityStatus = Literal["not_started", "partially_implemented", "fully_implemented"]
Identifier = Annotated[
    str,
    Field(
        min_length=1, max_length=4096, description="Requirement identifier, its first 8 or more digits, or full_path"
    ),
]


class ListInput(ToolInput):
    """Filters and paging, the same for every tool that lists requirements."""

    spec: str | None = Field(None, description="Only this specification: id, URL or path")
    section: str | None = Field(None, description="Only this section id")
    level: Level | None = Field(None, description="Only this level")
    status: SimpleStatus | None = Field(None, description="Only this status")
    limit: int = Field(50, ge=1, le=1000, description="Entries on a page")
    cursor: str | None = Field(None, description="next_cursor of the previous page")


class RequirementItem(ToolOutput):
    """A requirement in a list."""

    identifier: str
    full_path: str
    text: str
    level: Level
    status: SimpleStatus


class PriorityItem(ToolOutput):
    """A requirement in a prioritized list."""

    full_path: str
    level: Level
    status: PriorityStatus
    todo_count: int
    identifier: str
    text: str


class InvalidItem(ToolOutput):
    """An invalid citation, with a suggested correction."""

    file_path: str
    line_number: int
    comment_text: str
    error: str
    part: str | None = None
    nearest: str | None = None
    suggestion: str | None = Field(None, description="Corrected citation, ready to paste")


class StatusItem(ToolOutput):
    full_path: str
    status: SimpleStatus


class CitedCode(ToolOutput):
    id: str
    type: str
    comment_text: str
    code: list[str]
    reason: str | None = None


class MissingCitation(ToolOutput):
    what: str
    citation: str = Field(description="The comment to add")


class NoteItem(ToolOutput):
    slug: str
    title: str
    path: str


class Explanation(ToolOutput):
    error: str | None = None
    identifier: str | None = None
    full_path: str | None = None
    text: str | None = None
    level: Level | None = None
    status: SimpleStatus | None = None
    detail: str | None = None
    why_next: str | None = None
    section_title: str | None = None
    citations: list[CitedCode] | None = None
    missing: list[MissingCitation] | None = None
    similar: list[str] | None = Field(None, description="Citations of similar requirements")
    more_citations: int | None = None
    notes: list[NoteItem] | None = Field(None, description="Notes that link to the requirement")
    requirements: list[StatusItem] | None = Field(
        None, description="Every occurrence, if the text occurs in several sections"
    )


class ExplanationSchema(BaseModel):
    """The published output schema: only the fields to rely on, because every client pays tokens for a schema."""

    model_config = ConfigDict(extra="allow", frozen=True)

    error: str | None = None
    identifier: str | None = None
    text: str | None = None
    status: SimpleStatus | None = None
    citations: list[dict[str, Any]] | None = None
    missing: list[dict[str, Any]] | None = Field(None, description="Each has the comment to add")


class RequirementPage(ToolOutput):
    result: list[RequirementItem]
    total: int
    next_cursor: str | None = None


class PriorityPage(ToolOutput):
    result: list[PriorityItem]
    total: int
    next_cursor: str | None = None


class InvalidPage(ToolOutput):
    result: list[InvalidItem]
    total: int
    next_cursor: str | None = None


Item = TypeVar("Item", bound=ToolOutput)


##= docs/spec/trace.md#answers
##% The first text of a list answer MUST be a JSON array of the entries.
##= docs/spec/trace.md#answers
##% The structured data of a list answer MUST contain `result`, `total` and, if there are more entries, `next_cursor`.
class _Paging(Generic[Item]):
    """One page of items as a reply: the array as text, then how to get the next page."""

    @staticmethod
    def reply(
        kind: str, items: Sequence[T], show: Callable[[T], Item], limit: int, cursor: str | None, about: str = ""
    ) -> Reply:
        start = offset_of(kind, cursor)
        page = [without_none(show(item)) for item in items[start : start + limit]]
        end = start + len(page)
        following = encode_cursor(kind, str(end)) if end < len(items) else None
        data: dict[str, Any] = {"result": page, "total": len(items)}
        note = f"{len(page)} of {len(items)}"
        if following:
            data["next_cursor"] = following
            note += f"; for the next page, call again with cursor={following}"
        return Reply(
            data=data,
            content=[
                Text(escape_hidden_characters(json.dumps(page, ensure_ascii=False))),
                Text(f"{note}. {about}".rstrip()),
            ],
        )


page_reply = _Paging.reply


def without_none(output: ToolOutput) -> dict[str, Any]:
    return output.model_dump(mode="json", exclude_none=True)


def data_reply(output: ToolOutput) -> Reply:
    return Reply(data=without_none(output))


##= docs/spec/trace.md#answers
##% In a project without a specification, an answer that lists requirements MUST say that there is no specification.
def no_specification_hint(view: TraceView) -> str:
    """A note for empty answers in a project without specifications; otherwise the empty string."""
    if view.catalog.specifications:
        return ""
    return "No specification was found in this project. Name one in .duvet/config.toml, or put it below docs/spec or specs."


def requirement_item(catalog: TraceCatalog) -> Callable[[Requirement], RequirementItem]:
    def show(requirement: Requirement) -> RequirementItem:
        return RequirementItem(
            identifier=requirement.identifier,
            full_path=catalog.full_path(requirement),
            text=requirement.text,
            level=level_word(requirement.level),
            status=SIMPLE_STATUS[requirement.status],
        )

    return show


def status_items(requirements: Sequence[Requirement], catalog: TraceCatalog) -> list[StatusItem]:
    return [StatusItem(full_path=catalog.full_path(r), status=SIMPLE_STATUS[r.status]) for r in requirements]


def priority_item(catalog: TraceCatalog) -> Callable[[Requirement], PriorityItem]:
    def show(requirement: Requirement) -> PriorityItem:
        return PriorityItem(
            full_path=catalog.full_path(requirement),
            level=level_word(requirement.level),
            status=PRIORITY_STATUS[requirement.status],
            todo_count=requirement.todo_count,
            identifier=requirement.identifier,
            text=requirement.text,
        )

    return show


##= docs/spec/trace.md#answers
##% Lists of requirements MUST be filterable by specification, section, level and status; an unknown specification or
##% section is an error.
def filter_requirements(view: TraceView, given: ListInput, requirements: Sequence[Requirement]) -> list[Requirement]:
    """The requirements that pass the filters. An unknown specification or section is an error, not an empty list."""
    catalog = view.catalog
    chosen, entry = list(requirements), None
    if given.spec is not None:
        entry = catalog.resolve(given.spec)
        if entry is None:
            known = ", ".join(list(catalog.specifications)[:20]) or "none"
            raise InvalidRequest(f"No specification {safe_repr(given.spec)}.", hint=f"Known: {known}.")
        chosen = [r for r in chosen if r.target == entry.target]
    if given.section is not None:
        searched = [entry] if entry is not None else list(catalog.specifications.values())
        named = {e.target: e.section(given.section) for e in searched}
        if not any(named.values()):
            where = f" in {entry.id}" if entry is not None else ""
            path = entry.path if entry is not None else "/specifications/{spec_id}"
            raise InvalidRequest(f"No section {safe_repr(given.section)}{where}.", hint=f"Read {path}/sections.")
        chosen = [r for r in chosen if r.section is named[r.target]]
    if given.level is not None:
        chosen = [r for r in chosen if level_word(r.level) == given.level]
    if given.status is not None:
        chosen = [r for r in chosen if SIMPLE_STATUS[r.status] == given.status]
    return chosen
