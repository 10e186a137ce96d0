"""A small typed query language for the graph: where to start, which edges to follow, which conditions to check.

It is read-only. Every query has the same limits: nodes visited, paths kept, seconds, rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from contextive.knowledge.graph import Direction, Edge, EdgeType, Label, Node
from contextive.search.graph import GraphService, placeholder
from contextive.store.protocol import Store

Operator = Literal["eq", "ne", "contains", "starts_with", "gt", "lt", "exists"]
MAX_STEPS = 5
MAX_SECONDS = 5.0
MAX_VISITED_NODES = 50_000
MAX_PATHS = 20_000
_PAGE = 500
_NEIGHBOURS = 500


@dataclass(frozen=True, slots=True)
class PropertyCondition:
    """A condition on a property. `key` and `id` are properties of every node."""

    property: str
    operator: Operator
    value: Any = None

    def holds(self, node: Node) -> bool:
        match self.property:
            case "key":
                found: Any = node.key
            case "id":
                found = node.id
            case name:
                found = node.properties.get(name)
        match self.operator:
            case "exists":
                return (found is not None) is (self.value is not False)
            case "eq":
                return bool(found == self.value)
            case "ne":
                return bool(found != self.value)
            case "contains":
                return self._contains(found)
            case "starts_with":
                return isinstance(found, str) and found.lower().startswith(str(self.value).lower())
            case "gt" | "lt":
                return _compare(found, self.value, self.operator)

    def _contains(self, found: Any) -> bool:
        if isinstance(found, list | tuple):
            return self.value in found
        return isinstance(found, str) and str(self.value).lower() in found.lower()


@dataclass(frozen=True, slots=True)
class Hop:
    """The edges to follow in one step, and the conditions on their other end."""

    types: tuple[EdgeType, ...] = ()
    direction: Direction = "outgoing"
    label: Label | None = None
    where: tuple[PropertyCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """A complete query."""

    label: Label
    key: str | None = None
    where: tuple[PropertyCondition, ...] = ()
    hops: tuple[Hop, ...] = ()
    limit: int = 50
    distinct_ends: bool = False


@dataclass(frozen=True, slots=True)
class GraphPath:
    """Nodes, and between each two of them the type and direction of an edge."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, Literal["OUT", "IN"]], ...] = ()

    @property
    def end(self) -> Node:
        return self.nodes[-1]


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The matching paths, and the limit that ended the search, if any."""

    paths: tuple[GraphPath, ...]
    stopped_by: Literal["limit", "time", "nodes", "paths"] | None


class _LimitReached(Exception):
    """A limit was reached; the answer is what was found so far."""

    def __init__(self, name: Literal["time", "nodes", "paths"]) -> None:
        super().__init__(name)
        self.name = name


##= docs/spec/knowledge.md#other-query-tools
##% The tool `km-graph-query` MUST be read-only and limited in time, nodes, paths and rows.
def run_query(
    store: Store, query: GraphQuery, *, seconds: float = MAX_SECONDS, clock: Callable[[], float] = time.monotonic
) -> QueryAnswer:
    """The paths that match a query, in an order that does not depend on the store."""
    return _QueryRun(store, query, clock() + seconds, clock).answer()


class _QueryRun:
    def __init__(self, store: Store, query: GraphQuery, ends: float, clock: Callable[[], float]) -> None:
        self._store = store
        self._query = query
        self._ends = ends
        self._clock = clock
        self._visited = 0

    def answer(self) -> QueryAnswer:
        found: list[GraphPath] = []
        seen: set[str] = set()
        try:
            for path in self._paths():
                if self._query.distinct_ends:
                    if path.end.id in seen:
                        continue
                    seen.add(path.end.id)
                if len(found) == self._query.limit:
                    return QueryAnswer(tuple(found), "limit")
                found.append(path)
        except _LimitReached as limit:
            return QueryAnswer(tuple(found), limit.name)
        return QueryAnswer(tuple(found), None)

    def _paths(self) -> Iterator[GraphPath]:
        for page in self._starts():
            paths = [GraphPath((node,)) for node in page if _matches(node, None, self._query.where)]
            for hop in self._query.hops:
                paths = self._follow(paths, hop)
            yield from paths

    def _starts(self) -> Iterator[Sequence[Node]]:
        if self._query.key is not None:
            yield [GraphService(self._store).resolve(f"{self._query.label}:{self._query.key}")]
            return
        after: str | None = None
        while page := self._store.graph.nodes_labelled(self._query.label, after, _PAGE):
            self._count_visited(len(page))
            yield page
            after = page[-1].key

    def _follow(self, paths: Sequence[GraphPath], hop: Hop) -> list[GraphPath]:
        ends = sorted({path.end.id for path in paths})
        leaving: dict[str, list[tuple[str, Literal["OUT", "IN"], str]]] = {end: [] for end in ends}
        for start in range(0, len(ends), _PAGE):
            self._count_visited(0)
            for edge in self._store.graph.expand(ends[start : start + _PAGE], hop.types, hop.direction, _NEIGHBOURS):
                for source, way, target in _directed_ends(edge, hop.direction):
                    if source in leaving:
                        leaving[source].append((edge.type, way, target))
        targets = sorted({target for steps in leaving.values() for _, _, target in steps})
        nodes: dict[str, Node] = {}
        for start in range(0, len(targets), _PAGE):
            part = targets[start : start + _PAGE]
            self._count_visited(len(part))
            known = self._store.graph.nodes(part)
            nodes |= {target: known.get(target) or placeholder(target) for target in part}
        matching = {target for target, node in nodes.items() if _matches(node, hop.label, hop.where)}
        longer: list[GraphPath] = []
        for path in paths:
            passed = {node.id for node in path.nodes}
            for kind, way, target in sorted(set(leaving[path.end.id])):
                if target in matching and target not in passed:
                    if len(longer) >= MAX_PATHS:
                        raise _LimitReached("paths")
                    longer.append(GraphPath((*path.nodes, nodes[target]), (*path.edges, (kind, way))))
        return longer

    def _count_visited(self, count: int) -> None:
        self._visited += count
        if self._visited > MAX_VISITED_NODES:
            raise _LimitReached("nodes")
        if self._clock() > self._ends:
            raise _LimitReached("time")


def _matches(node: Node, label: Label | None, where: Sequence[PropertyCondition]) -> bool:
    return (label is None or node.label == label) and all(condition.holds(node) for condition in where)


def _directed_ends(edge: Edge, direction: Direction) -> Iterator[tuple[str, Literal["OUT", "IN"], str]]:
    if direction != "incoming":
        yield edge.source, "OUT", edge.target
    if direction != "outgoing":
        yield edge.target, "IN", edge.source


def _compare(found: Any, wanted: Any, operator: Literal["gt", "lt"]) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (found, wanted))
    if not numbers and not (isinstance(found, str) and isinstance(wanted, str)):
        return False
    return bool(found > wanted if operator == "gt" else found < wanted)
