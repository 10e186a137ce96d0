"""The tools that read notes, with the names and fields of the NEXUS endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contextive.ingest.notes_service import NotesService
from contextive.notes.catalog import LocalGraph, problem_lines
from contextive.packs.notes import pack
from contextive.packs.notes.schemas import (
    AskAnswer,
    AskInput,
    ConnectionsAnswer,
    PageAnswer,
    PageHits,
    PageInput,
    PagesAnswer,
    PagesInput,
    SearchInput,
)
from contextive.packs.notes.search_and_ask import ask, search
from contextive.registry import Annotations, Context, Scope
from contextive.registry.paging import encode_cursor, offset_of

_LABELS = ("notes",)
_MAX_PROBLEMS = 20
_MAX_PAGES = 10_000
_MAX_LINKS = 10_000


##= docs/spec/notes.md#list-pages
##% The tool `list_pages` MUST list every note with `slug` and `title` in the array `pages`.
##= docs/spec/notes.md#manifest
##% The manifest MUST list `list_pages`, `get_page`, `search`, `ask` and `get_connections` for every caller.
@pack.tool(
    "list_pages",
    title="List pages",
    description="All pages with slug and title, newest first.",
    labels=_LABELS,
    invocation_hints="to see which pages exist",
)
def list_pages(given: PagesInput, ctx: Context) -> PagesAnswer:
    view = ctx.service(NotesService).view()
    notes, start = view.catalog.newest_first, offset_of("list_pages", given.cursor)
    end = start + _MAX_PAGES
    return PagesAnswer(
        ##= docs/spec/notes.md#list-pages
        ##% Without notes, `list_pages` MUST return an empty array.
        pages=[{"slug": note.slug, "title": note.title} for note in notes[start:end]],
        ##= docs/spec/notes.md#list-pages
        ##% More than 10,000 pages MUST be returned in parts, with a cursor for the next part.
        next_cursor=encode_cursor("list_pages", str(end)) if end < len(notes) else None,
        ##= docs/spec/notes.md#list-pages
        ##% Problems with the files of notes MUST be reported in `problems`.
        problems=problem_lines(view.problems[:_MAX_PROBLEMS]) or None,
    )


##= docs/spec/notes.md#get-page
##% The tool `get_page` MUST take `slug` and return `slug`, `title`, `content`, `outlinks` and `backlinks`.
##= docs/spec/notes.md#get-page
##% A maintainer MUST also get the `version` of a page, and a reader gets only the other five fields unless links are
##% left out.
@pack.tool(
    "get_page",
    title="Get a page",
    description="One page: content, outlinks and backlinks.",
    labels=_LABELS,
    invocation_hints="to read a page",
)
def get_page(given: PageInput, ctx: Context) -> PageAnswer:
    view, note = ctx.service(NotesService).page(given.slug)
    may_write = ctx.caller.scope.covers(Scope.MAINTAINER)
    outlinks, backlinks = view.catalog.outlinks(note), view.catalog.backlinks(note)
    return PageAnswer(
        slug=note.slug,
        title=note.title,
        content=note.content,
        outlinks=outlinks[:_MAX_LINKS],
        backlinks=backlinks[:_MAX_LINKS],
        version=note.version if may_write else None,
        omitted=_omitted(outlinks, backlinks),
    )


##= docs/spec/notes.md#get-page
##% If a page has more than 10,000 outlinks or backlinks, the first 10,000 MUST be returned, and `omitted` says how
##% many are left out.
def _omitted(outlinks: Sequence[str], backlinks: Sequence[str]) -> dict[str, int] | None:
    """How many links of each kind are left out of an answer."""
    more = {"outlinks": len(outlinks) - _MAX_LINKS, "backlinks": len(backlinks) - _MAX_LINKS}
    return {kind: number for kind, number in more.items() if number > 0} or None


##= docs/spec/notes.md#search
##% The tool `search` MUST take `query` and list the matching pages with `slug`, `title` and `excerpt` in the array
##% `results`.
@pack.tool(
    "search",
    title="Search pages",
    description="Up to 20 pages whose title or content contains a text, each with an excerpt.",
    labels=_LABELS,
    invocation_hints="to find pages by words",
)
def search_pages(given: SearchInput, ctx: Context) -> PageHits:
    found = search(ctx, given.query)
    return PageHits(results=[{"slug": h.note.slug, "title": h.note.title, "excerpt": h.excerpt} for h in found])


##= docs/spec/notes.md#ask
##% The tool `ask` MUST take `question` and return `answer` and `sources`.
@pack.tool(
    "ask",
    title="Ask the pages",
    description="An answer written by a model from the pages, with sources.",
    labels=_LABELS,
    invocation_hints="for a question that several pages answer together",
    annotations=Annotations(idempotent=False, open_world=True),
)
async def ask_pages(given: AskInput, ctx: Context) -> AskAnswer:
    answer = await ask(ctx, given.question)
    return AskAnswer.model_validate(answer.as_dict())


##= docs/spec/notes.md#get-connections
##% The tool `get_connections` MUST take `slug` and return `outlinks`, `backlinks` and `localGraph`.
##= docs/spec/notes.md#get-connections
##% For a page that does not exist, `get_connections` MUST fail in the same way as `get_page`.
@pack.tool(
    "get_connections",
    title="Page connections",
    description="Outlinks and backlinks of a page, and the graph of its neighbours.",
    labels=_LABELS,
    invocation_hints="to see what a page is related to",
)
def get_connections(given: PageInput, ctx: Context) -> ConnectionsAnswer:
    view, note = ctx.service(NotesService).page(given.slug)
    outlinks, backlinks = view.catalog.outlinks(note), view.catalog.backlinks(note)
    return ConnectionsAnswer(
        slug=note.slug,
        outlinks=outlinks[:_MAX_LINKS],
        backlinks=backlinks[:_MAX_LINKS],
        localGraph=_local_graph_to_dict(view.catalog.local_graph(note)),
        omitted=_omitted(outlinks, backlinks),
    )


##= docs/spec/notes.md#get-connections
##% A node MUST have `id`, `title` and `connections`, the number of its edges in the whole graph.
def _local_graph_to_dict(graph: LocalGraph) -> dict[str, Any]:
    data: dict[str, Any] = {
        "nodes": [{"id": n.note.slug, "title": n.note.title, "connections": n.connections} for n in graph.nodes],
        "edges": [{"source": source, "target": target} for source, target in graph.edges],
    }
    return data | ({"omitted": graph.omitted} if graph.omitted else {})
