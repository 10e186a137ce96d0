"""The tools that read notes, with the names and fields of the NEXUS endpoint."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from contextive.ingest.notes_service import NotesService
from contextive.notes.catalog import GraphNode, LocalGraph, problem_lines
from contextive.notes.note import Note
from contextive.packs.notes import pack
from contextive.packs.notes.page_search import FoundPage
from contextive.packs.notes.schemas import (
    AskAnswer,
    AskInput,
    ConnectionsAnswer,
    ConnectionsInput,
    PageAnswer,
    PageHits,
    PageInput,
    PagesAnswer,
    PagesInput,
    SearchInput,
)
from contextive.packs.notes.search_and_ask import ask, search
from contextive.registry import Annotations, Context, Scope
from contextive.registry.budget import ANSWER_TOKENS, estimated_tokens, first_that_fit, page_within, text_part
from contextive.search.relevance import NOTHING_RELEVANT

_LABELS = ("notes",)
_MAX_PROBLEMS = 20
_MAX_PAGES = 10_000
_MAX_LINKS = 10_000
_PAGE_TOKENS = 4_000
_FRAME_TOKENS, _LINK_TOKENS, _GRAPH_TOKENS, _PROBLEM_TOKENS = 150, 400, 700, 400
"""The budgets of parts of a concise answer."""


##= docs/spec/notes.md#list-pages
##% The tool `list_pages` MUST list every note with `slug` and `title` in the array `pages`.
##= docs/spec/notes.md#manifest
##% The manifest MUST list `list_pages`, `get_page`, `search`, `ask` and `get_connections` for every caller.
@pack.tool(
    "list_pages",
    title="List pages",
    description="Pages with slug, title, path, tags and dates, newest first; filter by tag or folder.",
    labels=_LABELS,
    invocation_hints="to see which pages exist",
    untrusted=("pages",),
    list_field="pages",
)
def list_pages(given: PagesInput, ctx: Context) -> PagesAnswer:
    view = ctx.service(NotesService).view()
    notes, is_full = list(_chosen(view.catalog.newest_first, given)), given.detail == "full"
    ##= docs/spec/notes.md#list-pages
    ##% Problems with the files of notes MUST be reported in `problems`.
    problems = problem_lines(view.problems[:_MAX_PROBLEMS])
    if not is_full:
        problems = first_that_fit(problems, _PROBLEM_TOKENS)
    page = page_within(
        f"list_pages {given.tag} {given.folder}",
        notes,
        given.cursor,
        tokens=sys.maxsize if is_full else ANSWER_TOKENS - _FRAME_TOKENS - estimated_tokens(problems),
        show=lambda note: {"slug": note.slug, "title": note.title, **_properties(note, ctx)},
        limit=_MAX_PAGES,
    )
    return PagesAnswer(
        ##= docs/spec/notes.md#list-pages
        ##% Without notes, `list_pages` MUST return an empty array.
        pages=list(page.items),
        ##= docs/spec/notes.md#list-pages
        ##% Pages beyond the budget, or beyond 10,000 in the full form, MUST be returned in parts, with a cursor for the
        ##% next part.
        total=len(notes) if page.next_cursor else None,
        next_cursor=page.next_cursor,
        problems=problems or None,
    )


##= docs/spec/notes.md#list-pages
##% With `tag` or `folder`, only the pages with this tag, or below this folder, MUST be listed.
def _chosen(notes: Sequence[Note], given: PagesInput) -> Iterator[Note]:
    tag, folder = (given.tag or "").strip("#/").casefold(), (given.folder or "").strip("/")
    for note in notes:
        has_tag = not tag or any(own.casefold() == tag or own.casefold().startswith(f"{tag}/") for own in note.tags)
        if has_tag and (not folder or note.path.startswith(f"{folder}/")):
            yield note


##= docs/spec/notes.md#get-page
##% Except in the profile `nexus`, a page MUST have its path, tags, aliases and dates.
def _properties(note: Note, ctx: Context) -> dict[str, Any]:
    """What else is known about a page. The profile `nexus` has only the fields of its specification."""
    if ctx.profile == "nexus":
        return {}
    values = {
        "path": note.path,
        "tags": list(note.tags),
        "aliases": list(note.aliases),
        "created_at": _date(note.created),
        "updated_at": _date(note.modified),
    }
    return {key: value for key, value in values.items() if value}


def _date(seconds: float | None) -> str | None:
    if seconds is None or not 0 <= seconds < 253_402_300_800:  # the year 10,000
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


##= docs/spec/notes.md#get-page
##% The tool `get_page` MUST take `slug` and return `slug`, `title`, `content`, `outlinks` and `backlinks`.
##= docs/spec/notes.md#get-page
##% A caller who may write MUST also get the `version` of a page, and a reader gets only the other five fields unless
##% something is left out.
@pack.tool(
    "get_page",
    title="Get a page",
    description="One page: content, outlinks and backlinks. A long page comes in parts.",
    labels=_LABELS,
    invocation_hints="to read a page",
    untrusted=("title", "content", "outlinks", "backlinks", "tags", "aliases"),
)
def get_page(given: PageInput, ctx: Context) -> PageAnswer:
    view, note = ctx.service(NotesService).page(given.slug)
    is_full = given.detail == "full"
    may_write = ctx.caller.scope.covers(Scope.WRITER)
    all_outlinks, all_backlinks = view.catalog.outlinks(note), view.catalog.backlinks(note)
    outlinks, backlinks = _first_links(all_outlinks, is_full), _first_links(all_backlinks, is_full)
    ##= docs/spec/notes.md#get-page
    ##% A page of more than 4,000 tokens MUST be returned in parts, with the `next_offset` of the next part.
    room = _PAGE_TOKENS - _FRAME_TOKENS - estimated_tokens([note.title, outlinks, backlinks])
    part = text_part(note.content, given.offset, sys.maxsize if is_full else room)
    return PageAnswer(
        slug=note.slug,
        title=note.title,
        content=part.text,
        outlinks=outlinks,
        backlinks=backlinks,
        **_properties(note, ctx),
        version=note.version if may_write else None,
        next_offset=part.next_offset,
        omitted=_omitted(outlinks=(all_outlinks, outlinks), backlinks=(all_backlinks, backlinks)),
    )


##= docs/spec/notes.md#get-page
##% Links beyond the budget, or beyond 10,000 in the full form, MUST be left out, and `omitted` says how many.
def _first_links(links: list[str], is_full: bool) -> list[str]:
    return links[:_MAX_LINKS] if is_full else first_that_fit(links, _LINK_TOKENS)


def _omitted(**lists: tuple[Sequence[str], Sequence[str]]) -> dict[str, int] | None:
    """How many entries of each list are left out of an answer."""
    more = {name: len(all_entries) - len(shown) for name, (all_entries, shown) in lists.items()}
    return {name: number for name, number in more.items() if number} or None


##= docs/spec/notes.md#search
##% The tool `search` MUST take `query` and list the matching pages with `slug`, `title` and `excerpt` in the array
##% `results`.
@pack.tool(
    "search",
    title="Search pages",
    description="Up to 20 pages about some words or a question, best first, each with an excerpt.",
    labels=_LABELS,
    invocation_hints="to find pages by words or by meaning",
    untrusted=("results", "nearest", "corrected"),
    list_field="results",
)
def search_pages(given: SearchInput, ctx: Context) -> PageHits:
    found = search(ctx, given.query)
    return PageHits(
        results=[_hit_to_dict(page) for page in found.pages],
        message=None if found.pages else NOTHING_RELEVANT,
        nearest=_hit_to_dict(found.nearest) if found.nearest is not None else None,
        hint=None if found.pages else _what_to_try(ctx),
        corrected=dict(found.corrected) or None,
    )


def _hit_to_dict(page: FoundPage) -> dict[str, str]:
    return {"slug": page.note.slug, "title": page.note.title, "excerpt": page.excerpt}


##= docs/spec/notes.md#search
##% An empty answer MUST say what else to try, and name only tools that the caller has.
def _what_to_try(ctx: Context) -> str:
    from contextive.packs.knowledge.pack import offers

    others = {"list_pages": "lists all pages", "km-search": "searches code and documents, too"}
    advice = [f"{tool} {purpose}" for tool, purpose in others.items() if offers(ctx, tool)]
    return "; ".join(["Try other words", *advice]) + "."


##= docs/spec/notes.md#ask
##% The tool `ask` MUST take `question` and return `answer` and `sources`.
@pack.tool(
    "ask",
    title="Ask the pages",
    description="An answer written by a model from the pages, with sources.",
    labels=_LABELS,
    invocation_hints="for a question that several pages answer together",
    untrusted=("answer", "sources"),
    needs="models",
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
    untrusted=("outlinks", "backlinks", "localGraph"),
)
def get_connections(given: ConnectionsInput, ctx: Context) -> ConnectionsAnswer:
    view, note = ctx.service(NotesService).page(given.slug)
    is_full = given.detail == "full"
    all_outlinks, all_backlinks = view.catalog.outlinks(note), view.catalog.backlinks(note)
    outlinks, backlinks = _first_links(all_outlinks, is_full), _first_links(all_backlinks, is_full)
    graph = view.catalog.local_graph(note)
    return ConnectionsAnswer(
        slug=note.slug,
        outlinks=outlinks,
        backlinks=backlinks,
        localGraph=_local_graph_to_dict(graph) if is_full else _concise_local_graph(graph, note.slug),
        omitted=_omitted(outlinks=(all_outlinks, outlinks), backlinks=(all_backlinks, backlinks)),
    )


##= docs/spec/notes.md#get-connections
##% A node MUST have `id`, `title` and `connections`, the number of its edges in the whole graph.
def _local_graph_to_dict(graph: LocalGraph) -> dict[str, Any]:
    data: dict[str, Any] = {
        "nodes": [_graph_node_to_dict(node) for node in graph.nodes],
        "edges": [{"source": source, "target": target} for source, target in graph.edges],
    }
    return data | ({"omitted": graph.omitted} if graph.omitted else {})


def _concise_local_graph(graph: LocalGraph, slug: str) -> dict[str, Any]:
    """The page and its best connected neighbours, and as many edges among them as fit, those of the page first."""
    ordered = sorted(graph.nodes, key=lambda node: (node.note.slug != slug, -node.connections))
    nodes = first_that_fit(map(_graph_node_to_dict, ordered), _GRAPH_TOKENS)
    shown = {node["id"] for node in nodes}
    inside = [edge for edge in graph.edges if shown.issuperset(edge)]
    inside.sort(key=lambda edge: slug not in edge)
    edges = first_that_fit(({"source": source, "target": target} for source, target in inside), _GRAPH_TOKENS)
    data: dict[str, Any] = {"nodes": nodes, "edges": edges}
    if omitted := graph.omitted + len(graph.nodes) - len(nodes):
        data["omitted"] = omitted
    if len(edges) < len(inside):
        data["omitted_edges"] = len(inside) - len(edges)
    return data


def _graph_node_to_dict(node: GraphNode) -> dict[str, Any]:
    return {"id": node.note.slug, "title": node.note.title, "connections": node.connections}
