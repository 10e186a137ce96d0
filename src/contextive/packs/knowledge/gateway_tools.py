"""Operations that only the HTTP gateway offers.

They are declared as tools to get the same scopes, limits, logs and metrics. They are not listed, because agents do not need them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from contextive.errors import InvalidRequest, UnsupportedOperation
from contextive.packs.knowledge.maintenance import ExtensibleAnswer, run_to_dict
from contextive.packs.knowledge.pack import as_of_to_dict, index_of, node_to_dict
from contextive.registry import Context, NoInput, Pack, Reply, Scope, ToolInput, ToolOutput
from contextive.registry.registry import safe_repr

gateway_pack = Pack("gateway", title="Gateway", description="Operations that only the HTTP gateway offers.")
ORPHAN_LABELS = ("DesignDoc", "SourceFile", "Chunk", "TestCase", "IntegrationMessage")
_MAX_NODES = 1_000
_MAX_EDGES_PER_NODE = 500
_MAX_EDGES = 5_000


class WeightsAnswer(ToolOutput):
    status: Literal["success"] = "success"
    profile: str
    weights: dict[str, float]
    slow_graph_warn_ms: int = Field(
        description="Time limit of graph context; beyond it, results have none and a warning"
    )


@gateway_pack.tool("gateway-search-weights", title="Weights", description="The search weights.", scope=Scope.MAINTAINER)
def search_weights(_given: NoInput, ctx: Context) -> WeightsAnswer:
    settings = index_of(ctx).search_settings
    return WeightsAnswer(
        profile=settings.weights.profile,
        weights=settings.weights.as_dict(),
        slow_graph_warn_ms=settings.graph_time_budget_ms,
    )


class SubsystemGraphInput(ToolInput):
    name: str = Field(min_length=1, max_length=500, description="Name of the subsystem; case does not matter")
    depth: int = Field(2, ge=1, le=5, description="Hops")
    limit: int = Field(200, ge=1, le=_MAX_NODES, description="Most nodes, nearest first")


class SubsystemGraphAnswer(ToolOutput):
    status: Literal["success"] = "success"
    subsystem: dict[str, Any]
    nodes: list[dict[str, Any]]
    edges: list[dict[str, str]] = Field(description="source, type, target")
    artifacts: list[dict[str, Any]]
    total: int
    as_of: dict[str, Any]


@gateway_pack.tool("gateway-subsystem-graph", title="Graph", description="A subsystem and the graph around it.")
def subsystem_graph(given: SubsystemGraphInput, ctx: Context) -> SubsystemGraphAnswer:
    index = index_of(ctx)
    graph = index.graph
    found = graph.subsystem(given.name, depth=given.depth, limit=0, include_artifacts=True)
    related, _ = graph.walk(found.subsystem.id, given.depth)
    related.sort(key=lambda item: (item.hops, item.target.id))
    nodes = [found.subsystem, *(item.target for item in related[: given.limit])]
    ids = {node.id for node in nodes}
    edges = index.store.graph.expand(sorted(ids), (), "outgoing", _MAX_EDGES_PER_NODE)
    inside = [edge for edge in edges if edge.target in ids][:_MAX_EDGES]
    return SubsystemGraphAnswer(
        subsystem=node_to_dict(found.subsystem),
        nodes=[node_to_dict(node) for node in nodes],
        edges=[{"source": edge.source, "type": edge.type, "target": edge.target} for edge in inside],
        artifacts=[node_to_dict(node) for node in found.artifacts],
        total=len(related) + 1,
        as_of=as_of_to_dict(index.as_of()),
    )


class OrphansInput(ToolInput):
    label: str | None = Field(None, max_length=100, description=f"One of {', '.join(ORPHAN_LABELS)}; default: all")
    cursor: str | None = Field(None, max_length=4000, description="cursor of the previous page")
    limit: int = Field(50, ge=1, le=200, description="Nodes per page")


class OrphansAnswer(ToolOutput):
    status: Literal["success"] = "success"
    nodes: list[dict[str, Any]]
    cursor: str | None = None
    as_of: dict[str, Any]


@gateway_pack.tool("gateway-graph-orphans", title="Orphans", description="Nodes without any connection.")
def graph_orphans(given: OrphansInput, ctx: Context) -> OrphansAnswer:
    if given.label is not None and given.label not in ORPHAN_LABELS:
        raise InvalidRequest(f"Unknown label {safe_repr(given.label)}.", hint=f"Labels: {', '.join(ORPHAN_LABELS)}.")
    index = index_of(ctx)
    labels = list(ORPHAN_LABELS) if given.label is None else [given.label]
    # A page never spans two labels; the cursor starts with the position of the label to continue with.
    at, _, inner = (given.cursor or "").partition(".")
    position = int(at) if at.isascii() and at.isdigit() and len(at) == 1 and int(at) < len(labels) else 0
    nodes: tuple[Any, ...] = ()
    following: str | None = None
    while not nodes and position < len(labels):
        nodes, following = index.graph.orphans(labels[position], given.limit, inner or None)
        inner = ""
        if following is None:
            position += 1
    cursor = f"{position}.{following or ''}" if following or position < len(labels) else None
    return OrphansAnswer(
        nodes=[node_to_dict(node) for node in nodes], cursor=cursor, as_of=as_of_to_dict(index.as_of())
    )


class CypherInput(ToolInput):
    query: str = Field(min_length=1, max_length=10_000, description="Cypher query")
    parameters: dict[str, Any] | None = Field(None, description="Parameters of the query")


##= docs/spec/gateway.md#routes
##% A Cypher query MUST be refused with `unsupported_operation` and the name of the alternative.
@gateway_pack.tool(
    "gateway-graph-cypher",
    title="Cypher",
    description="Cypher is not supported; use km-graph-query.",
    scope=Scope.MAINTAINER,
    output=ExtensibleAnswer,
)
def graph_cypher(_given: CypherInput, _ctx: Context) -> Reply:
    raise UnsupportedOperation(
        "Cypher is not supported.",
        hint="Use km-graph-query with POST /api/v1/tools/km-graph-query: start, steps, returns, limit.",
    )


class HistoryInput(ToolInput):
    limit: int = Field(description="Most entries")


class LifecycleHistory(ToolOutput):
    status: Literal["success"] = "success"
    history: list[dict[str, Any]] = Field(description="Oldest first")


@gateway_pack.tool(
    "gateway-lifecycle-history",
    title="Lifecycle history",
    description="The counts of earlier lifecycle reports.",
    scope=Scope.MAINTAINER,
)
def lifecycle_history(given: HistoryInput, ctx: Context) -> LifecycleHistory:
    index = index_of(ctx)
    limit = max(1, min(given.limit, index.settings.reports.lifecycle_history))
    return LifecycleHistory(
        history=[
            {
                "generated_at": report.generated_at,
                "generated_at_iso": report.body.get("generated_at_iso"),
                "counts": report.body.get("summary", {}),
                "run": report.body.get("run", {"run_id": report.run_id}),
                "thresholds": report.body.get("thresholds", {}),
                "path": None,
            }
            for report in reversed(index.store.records.reports("lifecycle", limit))
        ]
    )


@gateway_pack.tool(
    "gateway-audit-history",
    title="Audit history",
    description="Ingest runs, newest first.",
    scope=Scope.MAINTAINER,
    output=ExtensibleAnswer,
)
def audit_history(given: HistoryInput, ctx: Context) -> Reply:
    runs = index_of(ctx).store.records.runs(max(1, given.limit))
    return Reply(data={"status": "success", "runs": [run_to_dict(run) for run in runs]})
