"""The graph tools: get a node or a subsystem, search nodes, find the tests of a symbol."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contextive.knowledge.node_ids import labels_named
from contextive.packs.knowledge.pack import (
    LABELS,
    Cursor,
    as_of_to_dict,
    concise_node,
    index_of,
    named_node,
    node_to_dict,
    pack,
)
from contextive.registry import Context, Reply, ToolInput, ToolOutput
from contextive.registry.budget import ANSWER_TOKENS, Detail, estimated_tokens, first_that_fit, page_within
from contextive.registry.paging import encode_cursor, offset_of

if TYPE_CHECKING:
    from contextive.search.graph import RelatedNode, Relationship
    from contextive.search.index import Index

_TOKENS = 2_000
_ARTIFACT_TOKENS = 500
_FRAME_TOKENS = 100
"""Tokens for the fields around the lists: counts, cursor and the state of the index."""


class GraphAnswer(BaseModel):
    """The published part of an answer; it also has `as_of` and says what is left out."""

    model_config = ConfigDict(extra="allow", frozen=True)

    status: Literal["success"] = "success"


##= docs/spec/knowledge.md#km-graph-node
##% The argument `relationships` MUST select `outgoing`, `incoming`, `all` or `none`.
##= docs/spec/knowledge.md#km-graph-node
##% The limit of relationships MUST default to 50 and be at most 200.
class NodeInput(ToolInput):
    node_id: str = Field(min_length=1, max_length=2000, description="Label:key, such as Code:src/app.py")
    relationships: Literal["outgoing", "incoming", "all", "none"] = Field(
        "outgoing", description="Which ones to return"
    )
    limit: int = Field(50, ge=1, le=200, description="Most relationships")
    cursor: Cursor = None
    detail: Detail = "concise"


class NodeAnswer(GraphAnswer):
    node: dict[str, Any]
    relationships: list[dict[str, Any]] = Field(description="type, direction (OUT, IN), target")
    total: int


##= docs/spec/knowledge.md#km-graph-node
##% The tool `km-graph-node` MUST take `node_id` and return the node, its relationships and their number.
##= docs/spec/knowledge.md#km-graph-node
##% A concise answer MUST count the chunks and the declared symbols of a file and not list them.
@pack.tool(
    "km-graph-node",
    title="Graph node",
    description="One node of the project graph and its relationships, by id. Labels: SourceFile (or Code), DesignDoc (Doc), "
    "TestCase (Test), Symbol, Subsystem, Requirement, Section, Specification, Note, Chunk and others.",
    labels=LABELS,
    invocation_hints="to see what a file, symbol, requirement or note is connected to",
    untrusted=("node", "relationships"),
    output=NodeAnswer,
)
def graph_node(given: NodeInput, ctx: Context) -> Reply:
    index, is_full = index_of(ctx), given.detail == "full"
    kind = f"km-graph-node {given.node_id} {given.relationships} {given.detail}"
    start = offset_of(kind, given.cursor)
    found = index.graph.node(given.node_id, given.relationships, given.limit, offset=start, structure=is_full)
    node = node_to_dict(found.node) if is_full else concise_node(found.node)
    page = [_relationship_to_dict(seen, is_full) for seen in found.relationships]
    if not is_full:
        page = first_that_fit(page, _TOKENS - _FRAME_TOKENS - estimated_tokens(node))
    end = start + len(page)
    return _reply(
        index,
        node=node,
        relationships=page,
        total=found.total,
        structural=dict(found.structural) or None,
        cursor=encode_cursor(kind, str(end)) if page and end < found.total else None,
    )


def _reply(index: Index, **fields: Any) -> Reply:
    """An answer without empty fields, with the state of the index."""
    answer = {name: value for name, value in fields.items() if value is not None}
    return Reply(data={"status": "success", **answer, "as_of": as_of_to_dict(index.as_of())})


def _relationship_to_dict(seen: Relationship, is_full: bool) -> dict[str, Any]:
    target = node_to_dict(seen.target) if is_full else named_node(seen.target)
    return {"type": seen.type, "direction": seen.direction, "target": target}


##= docs/spec/knowledge.md#km-graph-subsystem
##% The depth MUST default to 1 (at most 5), and the limit to 25 (at most 100).
class SubsystemInput(ToolInput):
    name: str = Field(min_length=1, max_length=500, description="Name of the subsystem; case does not matter")
    depth: int = Field(1, ge=0, le=5, description="Hops")
    limit: int = Field(25, ge=1, le=100, description="Nodes per page")
    cursor: str | None = Field(None, max_length=200, description="related.cursor of the previous page")
    include_artifacts: bool = Field(True, description="Add its files")
    detail: Detail = "concise"


class SubsystemAnswer(GraphAnswer):
    subsystem: dict[str, Any]
    related: dict[str, Any] = Field(description="nodes with target, hops, path; cursor; total")
    artifacts: list[dict[str, Any]]


##= docs/spec/knowledge.md#km-graph-subsystem
##% The tool `km-graph-subsystem` MUST take `name` and return the subsystem, related nodes and artifacts.
@pack.tool(
    "km-graph-subsystem",
    title="Subsystem",
    description="A subsystem, the nodes up to `depth` hops away with the path to each, and its files. Page with cursor.",
    labels=LABELS,
    invocation_hints="before working on a part of the project, to see its files and what it is connected to",
    untrusted=("subsystem", "related", "artifacts"),
    output=SubsystemAnswer,
)
def graph_subsystem(given: SubsystemInput, ctx: Context) -> Reply:
    index, is_full = index_of(ctx), given.detail == "full"
    kind = f"km-graph-subsystem {given.name} {given.depth} {given.detail}"
    start = offset_of(kind, given.cursor)
    found = index.graph.subsystem(
        given.name,
        depth=given.depth,
        limit=given.limit,
        offset=start,
        include_artifacts=given.include_artifacts and (is_full or not start),
        structure=is_full,
    )
    subsystem = node_to_dict(found.subsystem) if is_full else concise_node(found.subsystem)
    artifacts = [node_to_dict(node) if is_full else named_node(node) for node in found.artifacts]
    nodes = [_related_to_dict(item, is_full) for item in found.related]
    if not is_full:
        artifacts = first_that_fit(artifacts, _ARTIFACT_TOKENS)
        nodes = first_that_fit(nodes, _TOKENS - _FRAME_TOKENS - estimated_tokens([subsystem, artifacts]))
    end = start + len(nodes)
    cursor = encode_cursor(kind, str(end)) if nodes and end < found.total else None
    return _reply(
        index,
        subsystem=subsystem,
        related={"nodes": nodes, "cursor": cursor, "total": found.total},
        artifacts=artifacts,
        artifacts_omitted=len(found.artifacts) - len(artifacts) or None,
        structural=dict(found.structural) or None,
        warnings=[f"The graph traversal stopped after {found.total} nodes."] if found.bounded else None,
    )


##= docs/spec/knowledge.md#km-graph-search
##% The limit of nodes found MUST default to 20 and be at most 50.
class GraphSearchInput(ToolInput):
    term: str = Field(max_length=500, description="Part of a name, path or title")
    limit: int = Field(20, ge=1, le=50, description="Most results")
    label: str | list[str] | None = Field(None, description="Only these labels, such as Symbol or Note")
    cursor: str | None = Field(None, max_length=200, description="cursor of the previous page")


class GraphSearchAnswer(ToolOutput):
    status: Literal["success"] = "success"
    results: list[dict[str, Any]] = Field(description="id, label, score, snippet")
    cursor: str | None = Field(None, description="For the next page; null at the end")
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#km-graph-search
##% The tool `km-graph-search` MUST take `term` and list the nodes whose key or name contains it, with `id`, `label`,
##% `score` and `snippet`.
##= docs/spec/knowledge.md#km-graph-search
##% With `label`, only nodes of these labels MUST be listed, and `cursor` continues a list.
@pack.tool(
    "km-graph-search",
    title="Search the graph",
    description="Nodes by name: first those with exactly that name, then names that start with it, then names and paths that "
    "contain it.",
    labels=LABELS,
    invocation_hints="to find the id for km-graph-node or the name for km-graph-subsystem",
    untrusted=("results",),
)
def graph_search(given: GraphSearchInput, ctx: Context) -> GraphSearchAnswer:
    index = index_of(ctx)
    labels = labels_named([given.label] if isinstance(given.label, str) else given.label or ())
    kind = f"km-graph-search {given.term} {labels}"
    start = offset_of(kind, given.cursor)
    found = index.graph.search(given.term, given.limit + 1, labels=labels, offset=start)
    shown = (
        {"id": hit.node.id, "label": hit.node.label, "score": hit.score, "snippet": hit.snippet}
        for hit in found[: given.limit]
    )
    results: list[dict[str, Any]] = first_that_fit(shown, ANSWER_TOKENS - _FRAME_TOKENS)
    cursor = encode_cursor(kind, str(start + len(results))) if len(results) < len(found) else None
    return GraphSearchAnswer(results=results, cursor=cursor, as_of=as_of_to_dict(index.as_of()))


class TestsOfInput(ToolInput):
    symbol_id: str = Field(min_length=1, max_length=2000, description="path::qualified name, such as src/app.py::main")
    cursor: Cursor = None
    detail: Detail = "concise"


class TestsOfAnswer(GraphAnswer):
    symbol: dict[str, Any]
    tests: list[dict[str, Any]] = Field(description="Test files, by path")


@pack.tool(
    "km-graph-tests-of",
    title="Tests of a symbol",
    description="The test files that exercise a class, function or method, by the symbol's id.",
    labels=LABELS,
    invocation_hints="before changing code, to know which tests to run; symbol ids are in search results",
    untrusted=("symbol", "tests"),
    output=TestsOfAnswer,
)
def graph_tests_of(given: TestsOfInput, ctx: Context) -> Reply:
    index, is_full = index_of(ctx), given.detail == "full"
    symbol, tests = index.graph.tests_of(given.symbol_id)
    shown_symbol = node_to_dict(symbol) if is_full else concise_node(symbol)
    page = page_within(
        f"km-graph-tests-of {given.symbol_id}",
        tests,
        given.cursor,
        tokens=sys.maxsize if is_full else ANSWER_TOKENS - _FRAME_TOKENS - estimated_tokens(shown_symbol),
        show=node_to_dict if is_full else named_node,
        limit=len(tests),
    )
    return _reply(index, symbol=shown_symbol, tests=list(page.items), total=len(tests), cursor=page.next_cursor)


def _related_to_dict(item: RelatedNode, is_full: bool) -> dict[str, Any]:
    if not is_full:
        return {"target": named_node(item.target), "hops": item.hops, "path": _short_path(item)}
    first = item.path[0]
    return {
        "target": node_to_dict(item.target),
        "hops": item.hops,
        "path": [
            {"type": step.type, "direction": step.direction, "source": step.source, "target": step.target}
            for step in item.path
        ],
        "relationship": first.type,
        "direction": first.direction,
    }


def _short_path(item: RelatedNode) -> list[dict[str, str]]:
    """The steps from the subsystem to a node. Each step starts where the last one ended, and the last ends at the node."""
    *between, last = item.path
    steps = [{"type": step.type, "direction": step.direction, "target": step.target} for step in between]
    return [*steps, {"type": last.type, "direction": last.direction}]
