"""Inputs and outputs of the trace tools, with the names of the Duvet MCP specification."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contextive.registry import ToolInput, ToolOutput

Level = Literal["MUST", "SHOULD", "MAY", "unspecified"]
SimpleStatus = Literal["done", "needs tests", "in progress", "not started"]
PriorityStatus = Literal["not_started", "partially_implemented", "fully_implemented"]
Identifier = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4096,
        description="Requirement identifier, its first 8 or more digits, full_path, or handle",
    ),
]


class PageInput(ToolInput):
    """Paging, the same for every list."""

    limit: int | None = Field(None, ge=1, le=1000, description="Entries on a page; default: up to 20")
    cursor: str | None = Field(None, description="next_cursor of the previous page")


class ListInput(PageInput):
    """Filters and paging, the same for every tool that lists requirements."""

    spec: str | None = Field(None, description="Only this specification: id, URL or path")
    section: str | None = Field(None, description="Only this section id")
    level: Level | None = Field(None, description="Only this level")
    status: SimpleStatus | None = Field(None, description="Only this status")


class RequirementItem(ToolOutput):
    """A requirement in a list."""

    identifier: str
    handle: str | None = Field(None, description="Such as kiro:user-auth/3.2, in spec-driven formats")
    full_path: str
    text: str
    level: Level
    status: SimpleStatus
    cited_by: list[str] | None = Field(None, description="The types of its citations, if there are only tests or todos")


class PriorityItem(ToolOutput):
    """A requirement in a prioritized list."""

    full_path: str
    level: Level
    status: PriorityStatus
    todo_count: int
    identifier: str
    handle: str | None = None
    text: str
    detail: str | None = Field(None, description="needs tests, …: what the status does not say")
    note: str | None = Field(None, description="Set if no code can implement it")


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
    handle: str | None = None
    status: SimpleStatus


class CitedCode(ToolOutput):
    """A citation of a requirement, with the code below it."""

    id: str
    type: str
    strength: Literal["named"] | None = Field(None, description="named: a comment with the key, not a quote")
    resolved: str | None = Field(None, description="How the specification was found that the comment means")
    comment_text: str | None = None
    code: list[str] | None = None
    more_lines: int | None = None
    reason: str | None = None
    tracking_issue: str | None = None
    feature: str | None = None
    stale: str | None = Field(None, description="Why a todo can be removed")


class MissingCitation(ToolOutput):
    what: str
    citation: str = Field(description="The comment to add")


class SimilarPlace(ToolOutput):
    """Code or a test that cites a similar requirement."""

    id: str
    type: str
    text: str = Field(description="The requirement that is cited there")
    code: str | None = Field(None, description="The first line of code below the citation")


class NoteItem(ToolOutput):
    slug: str
    title: str
    path: str


class Explanation(ToolOutput):
    error: str | None = None
    identifier: str | None = None
    handle: str | None = None
    full_path: str | None = None
    text: str | None = None
    level: Level | None = None
    status: SimpleStatus | None = None
    detail: str | None = None
    note: str | None = None
    why_next: str | None = None
    evidence: str | None = Field(
        None, description="named, quoted, tested, passed or exercised; and if it changed since"
    )
    section_title: str | None = None
    paragraph: str | None = Field(None, description="The text around the sentence")
    open_text: list[str] | None = Field(None, description="Words that no implementation quotes yet, if others are")
    untested_text: list[str] | None = Field(None, description="Words that no test quotes yet, if others are")
    citations: list[CitedCode] | None = None
    missing: list[MissingCitation] | None = None
    similar: list[SimilarPlace] | None = Field(None, description="Where similar requirements are cited")
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
    handle: str | None = None
    text: str | None = None
    status: SimpleStatus | None = None
    citations: list[dict[str, Any]] | None = None
    missing: list[dict[str, Any]] | None = Field(None, description="Each has the comment to add")


class PageSchema(BaseModel):
    """The published schema of a page. The entries are described by the tool."""

    model_config = ConfigDict(extra="allow", frozen=True)

    result: list[dict[str, Any]]
    total: int
    next_cursor: str | None = None
