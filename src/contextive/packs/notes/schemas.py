"""Inputs and outputs of the tools of the notes pack, with the names of the NEXUS endpoint.

List entries are described by text instead of a schema, because every client pays tokens for each schema at every start.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from contextive.registry import ToolInput, ToolOutput

Slug = Annotated[str, Field(min_length=1, max_length=500, description="Slug or title")]
Version = Annotated[str, Field(max_length=64, description="From get_page")]


class PagesInput(ToolInput):
    cursor: str | None = Field(None, description="next_cursor of the previous answer")


class PageInput(ToolInput):
    slug: Slug


class SearchInput(ToolInput):
    query: str = Field(min_length=1, max_length=1000, description="Text to find")


class AskInput(ToolInput):
    question: str = Field(min_length=1, max_length=4000, description="Question")


class PagesAnswer(ToolOutput):
    pages: list[dict[str, str]] = Field(description="slug, title")
    next_cursor: str | None = None
    problems: list[str] | None = None


class PageAnswer(ToolOutput):
    slug: str
    title: str
    content: str
    outlinks: list[str]
    backlinks: list[str]
    version: str | None = None
    omitted: dict[str, int] | None = None


class PageHits(ToolOutput):
    results: list[dict[str, str]] = Field(description="slug, title, excerpt")


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
