"""Inputs and outputs of the tools of the notes pack, with the names of the NEXUS endpoint.

List entries are described by text instead of a schema, because every client pays tokens for each schema at every start.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from contextive.registry import ToolInput, ToolOutput
from contextive.registry.budget import Detail

Slug = Annotated[str, Field(min_length=1, max_length=500, description="Slug or title")]
Version = Annotated[str, Field(max_length=64, description="From get_page")]


class PagesInput(ToolInput):
    tag: str | None = Field(None, max_length=200, description="Only pages with this tag, or one below it")
    folder: str | None = Field(None, max_length=500, description="Only pages below this folder")
    cursor: str | None = Field(None, description="next_cursor of the previous answer")
    detail: Detail = "concise"


class PageInput(ToolInput):
    slug: Slug
    offset: int = Field(0, ge=0, description="next_offset of the previous part")
    detail: Detail = "concise"


class ConnectionsInput(ToolInput):
    slug: Slug
    detail: Detail = "concise"


class SearchInput(ToolInput):
    query: str = Field(min_length=1, max_length=1000, description="Words or a question")


class AskInput(ToolInput):
    question: str = Field(min_length=1, max_length=4000, description="Question")


class PagesAnswer(ToolOutput):
    pages: list[dict[str, Any]] = Field(description="slug, title, path, tags, aliases, created_at, updated_at")
    total: int | None = None
    next_cursor: str | None = None
    problems: list[str] | None = None


class PageAnswer(ToolOutput):
    slug: str
    title: str
    content: str
    outlinks: list[str]
    backlinks: list[str]
    path: str | None = None
    tags: list[str] | None = None
    aliases: list[str] | None = None
    created_at: str | None = None
    updated_at: str | None = None
    version: str | None = None
    next_offset: int | None = None
    omitted: dict[str, int] | None = None


class PageHits(ToolOutput):
    results: list[dict[str, str]] = Field(description="slug, title, excerpt")
    message: str | None = None
    nearest: dict[str, str] | None = None
    hint: str | None = None
    corrected: dict[str, str] | None = None


class AskAnswer(ToolOutput):
    answer: str
    sources: list[dict[str, Any]] = Field(description="slug, title, number, path, lines")
    model: str | None = None
    warnings: list[str] | None = None


class ConnectionsAnswer(ToolOutput):
    slug: str
    outlinks: list[str]
    backlinks: list[str]
    localGraph: dict[str, Any] = Field(  # noqa: N815 - a wire name
        description="nodes (id, title, connections), edges (source, target)"
    )
    omitted: dict[str, int] | None = None


class ChangeAnswer(ToolOutput):
    """A page after a change, and the slugs of other pages: changed with it, left with links to the old name, or similar."""

    slug: str
    title: str
    version: str | None = None
    changed: list[str] | None = None
    left: list[str] | None = None
    similar: list[str] | None = None
    omitted: dict[str, int] | None = None
