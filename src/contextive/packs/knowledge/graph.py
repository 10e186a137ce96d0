"""The graph tools: get a node or a subsystem, search nodes, find the tests of a symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from contextive.packs.knowledge.pack import LABELS, as_of_to_dict, index_of, node_to_dict, pack
from contextive.registry import Context, ToolInput, ToolOutput

if TYPE_CHECKING:
    from contextive.search.graph import RelatedNode


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


class NodeAnswer(ToolOutput):
    status: Literal["success"] = "success"
    node: dict[str, Any]
    relationships: list[dict[str, Any]] = Field(description="type, direction (OUT, IN), target")
    total: int
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#km-graph-node
##% The tool `km-graph-node` MUST take `node_id` and return the node, its relationships and their number.
@pack.tool(
    "km-graph-node",
    title="Graph node",
    description="One node of the project graph and its relationships, by id. Labels: SourceFile (or Code), DesignDoc (Doc), "
    "TestCase (Test), Symbol, Subsystem, Requirement, Section, Specification, Note, Chunk and others.",
    labels=LABELS,
    invocation_hints="to see what a file, symbol, requirement or note is connected to",
)
def graph_node(given: NodeInput, ctx: Context) -> NodeAnswer:
    index = index_of(ctx)
    found = index.graph.node(given.node_id, given.relationships, given.limit)
    return NodeAnswer(
        node=node_to_dict(found.node),
        relationships=[
            {"type": seen.type, "direction": seen.direction, "target": node_to_dict(seen.target)}
            for seen in found.relationships
        ],
        total=found.total,
        as_of=as_of_to_dict(index.as_of()),
    )


##= docs/spec/knowledge.md#km-graph-subsystem
##% The depth MUST default to 1 (at most 5), and the limit to 25 (at most 100).
class SubsystemInput(ToolInput):
    name: str = Field(min_length=1, max_length=500, description="Name of the subsystem; case does not matter")
    depth: int = Field(1, ge=0, le=5, description="Hops")
    limit: int = Field(25, ge=1, le=100, description="Nodes per page")
    cursor: str | None = Field(None, max_length=200, description="related.cursor of the previous page")
    include_artifacts: bool = Field(True, description="Add its files")


class SubsystemAnswer(ToolOutput):
    status: Literal["success"] = "success"
    subsystem: dict[str, Any]
    related: dict[str, Any] = Field(description="nodes with target, hops, path; cursor; total")
    artifacts: list[dict[str, Any]]
    warnings: list[str] | None = None
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#km-graph-subsystem
##% The tool `km-graph-subsystem` MUST take `name` and return the subsystem, related nodes and artifacts.
@pack.tool(
    "km-graph-subsystem",
    title="Subsystem",
    description="A subsystem, the nodes up to `depth` hops away with the path to each, and its files. Page with cursor.",
    labels=LABELS,
    invocation_hints="before working on a part of the project, to see its files and what it is connected to",
)
def graph_subsystem(given: SubsystemInput, ctx: Context) -> SubsystemAnswer:
    index = index_of(ctx)
    found = index.graph.subsystem(
        given.name,
        depth=given.depth,
        limit=given.limit,
        cursor=given.cursor,
        include_artifacts=given.include_artifacts,
    )
    return SubsystemAnswer(
        subsystem=node_to_dict(found.subsystem),
        related={
            "nodes": [_related_to_dict(item) for item in found.related],
            "cursor": found.cursor,
            "total": found.total,
        },
        artifacts=[node_to_dict(node) for node in found.artifacts],
        warnings=[f"The graph traversal stopped after {found.total} nodes."] if found.bounded else None,
        as_of=as_of_to_dict(index.as_of()),
    )


##= docs/spec/knowledge.md#km-graph-search
##% The limit of nodes found MUST default to 20 and be at most 50.
class GraphSearchInput(ToolInput):
    term: str = Field(max_length=500, description="Part of a name, path or title")
    limit: int = Field(20, ge=1, le=50, description="Most results")


class GraphSearchAnswer(ToolOutput):
    status: Literal["success"] = "success"
    results: list[dict[str, Any]] = Field(description="id, label, score, snippet")
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#km-graph-search
##% The tool `km-graph-search` MUST take `term` and list the nodes whose key or name contains it, with `id`, `label`,
##% `score` and `snippet`.
@pack.tool(
    "km-graph-search",
    title="Search the graph",
    description="Nodes whose name or path contains a term: subsystems first, then documents, code, tests, symbols, requirements.",
    labels=LABELS,
    invocation_hints="to find the id for km-graph-node or the name for km-graph-subsystem",
)
def graph_search(given: GraphSearchInput, ctx: Context) -> GraphSearchAnswer:
    index = index_of(ctx)
    results = [
        {"id": found.node.id, "label": found.node.label, "score": found.score, "snippet": found.snippet}
        for found in index.graph.search(given.term, given.limit)
    ]
    return GraphSearchAnswer(results=results, as_of=as_of_to_dict(index.as_of()))


class TestsOfInput(ToolInput):
    symbol_id: str = Field(min_length=1, max_length=2000, description="path::qualified name, such as src/app.py::main")


class TestsOfAnswer(ToolOutput):
    status: Literal["success"] = "success"
    symbol: dict[str, Any]
    tests: list[dict[str, Any]] = Field(description="Test files, by path")
    as_of: dict[str, Any]


@pack.tool(
    "km-graph-tests-of",
    title="Tests of a symbol",
    description="The test files that exercise a class, function or method, by the symbol's id.",
    labels=LABELS,
    invocation_hints="before changing code, to know which tests to run; symbol ids are in search results",
)
def graph_tests_of(given: TestsOfInput, ctx: Context) -> TestsOfAnswer:
    index = index_of(ctx)
    symbol, tests = index.graph.tests_of(given.symbol_id)
    return TestsOfAnswer(
        symbol=node_to_dict(symbol), tests=[node_to_dict(test) for test in tests], as_of=as_of_to_dict(index.as_of())
    )


def _related_to_dict(item: RelatedNode) -> dict[str, Any]:
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
