"""`km-graph-query`: read-only pattern queries of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from contextive.errors import InvalidRequest
from contextive.knowledge.graph import EDGE_TYPES, Direction, EdgeType, Label
from contextive.knowledge.graph import LABELS as NODE_LABELS
from contextive.packs.knowledge.pack import LABELS, as_of_to_dict, index_of, named_node, node_to_dict, pack
from contextive.registry import Context, Scope, ToolInput, ToolOutput
from contextive.registry.budget import ANSWER_TOKENS, Detail, first_that_fit
from contextive.registry.registry import safe_repr

if TYPE_CHECKING:
    from contextive.knowledge.graph import Node
    from contextive.search import graph_query

_MAX_STEPS = 5
_ROW_TOKENS = ANSWER_TOKENS - 100
"""Tokens for the rows of a concise answer; the rest is for the fields around them."""
_DIRECTIONS: dict[str, Direction] = {"out": "outgoing", "in": "incoming", "both": "both"}


class ConditionInput(ToolInput):
    property: str = Field(min_length=1, max_length=100, description="Property of the node; also key and id")
    op: Literal["eq", "ne", "contains", "starts_with", "gt", "lt", "exists"] = Field("eq", description="Comparison")
    value: str | int | float | bool | None = Field(None, description="Value to compare with")


class StartInput(ToolInput):
    label: str = Field(max_length=50, description="Label of the first node, such as Symbol or TestCase")
    key: str | None = Field(None, min_length=1, max_length=2000, description="Its key: a path, name or id")
    where: list[ConditionInput] = Field(
        default_factory=list, max_length=10, description="Conditions that must all be true"
    )


class StepInput(ToolInput):
    types: list[str] = Field(default_factory=list, max_length=20, description="Edge types, such as CALLS; default: all")
    direction: Literal["out", "in", "both"] = Field("out", description="Direction to follow")
    label: str | None = Field(None, max_length=50, description="Label of the node at the end")
    where: list[ConditionInput] = Field(
        default_factory=list, max_length=10, description="Conditions that must all be true"
    )


class QueryInput(ToolInput):
    start: StartInput = Field(description="First node of the paths")
    steps: list[StepInput] = Field(default_factory=list, max_length=_MAX_STEPS, description="Edges to follow, in order")
    returns: Literal["ends", "paths"] = Field("ends", description="The last nodes, each once; or whole paths")
    limit: int = Field(50, ge=1, le=200, description="Most rows")
    detail: Detail = "concise"


class QueryReply(ToolOutput):
    status: Literal["success"] = "success"
    rows: list[dict[str, Any]] = Field(description="ends: nodes. paths: nodes, edges")
    row_count: int
    stopped_by: Literal["limit", "time", "nodes", "paths", "size"] | None = Field(
        None, description="The limit that was reached"
    )
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#other-query-tools
##% The tool `km-graph-query` MUST require the maintainer scope.
@pack.tool(
    "km-graph-query",
    title="Query the graph",
    description="Read-only pattern query: start nodes by label, key or properties, then up to 5 steps along typed edges. "
    "Bounded in time and rows.",
    scope=Scope.MAINTAINER,
    labels=LABELS,
    invocation_hints="for questions that the other graph tools cannot answer, such as which tests exercise a subsystem's code",
    untrusted=("rows",),
)
def graph_query_tool(given: QueryInput, ctx: Context) -> QueryReply:
    from contextive.search.graph_query import GraphQuery, Hop, run_query

    query = GraphQuery(
        label=_label(given.start.label),
        key=given.start.key,
        where=_conditions(given.start.where),
        hops=tuple(
            Hop(
                tuple(map(_edge_type, step.types)),
                _DIRECTIONS[step.direction],
                _label(step.label) if step.label is not None else None,
                _conditions(step.where),
            )
            for step in given.steps
        ),
        limit=given.limit,
        distinct_ends=given.returns == "ends",
    )
    index = index_of(ctx)
    index.ensure_fresh()
    answer = run_query(index.store, query)
    show = node_to_dict if given.detail == "full" else named_node
    rows = [_path_to_dict(path, show) if given.returns == "paths" else show(path.end) for path in answer.paths]
    fitting = rows if given.detail == "full" else first_that_fit(rows, _ROW_TOKENS)
    return QueryReply(
        rows=fitting,
        row_count=len(fitting),
        stopped_by=answer.stopped_by if len(fitting) == len(rows) else "size",
        as_of=as_of_to_dict(index.as_of()),
    )


def _label(word: str) -> Label:
    for label in NODE_LABELS:
        if label.lower() == word.lower():
            return label
    raise InvalidRequest(f"No label {safe_repr(word)}.", hint=f"Labels: {', '.join(NODE_LABELS)}.")


def _edge_type(word: str) -> EdgeType:
    for kind in EDGE_TYPES:
        if kind == word.upper():
            return kind
    raise InvalidRequest(f"No edge type {safe_repr(word)}.", hint=f"Types: {', '.join(EDGE_TYPES)}.")


def _conditions(given: list[ConditionInput]) -> tuple[graph_query.PropertyCondition, ...]:
    from contextive.search.graph_query import PropertyCondition

    return tuple(PropertyCondition(item.property, item.op, item.value) for item in given)


def _path_to_dict(path: graph_query.GraphPath, show: Callable[[Node], dict[str, Any]]) -> dict[str, Any]:
    return {
        "nodes": [show(node) for node in path.nodes],
        "edges": [{"type": kind, "direction": direction} for kind, direction in path.edges],
    }
