"""Queries on the graph: a node with its neighbours, a subsystem with its surroundings, nodes by name.

The walk around a subsystem is a breadth-first search. It reaches each node once, by a shortest path, and reports when
it stopped at its limit. It works with node numbers; names and properties are read only for the returned page.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal, cast

from contextive.errors import InvalidIdentifier, InvalidRequest, NotFound
from contextive.knowledge.graph import EDGE_TYPES, LABELS, Direction, Edge, Label, Node
from contextive.knowledge.lifecycle import CONNECTING_EDGES
from contextive.knowledge.node_ids import parse_node_id
from contextive.store.protocol import Store
from contextive.store.values import NumberedEdges

Relationships = Literal["outgoing", "incoming", "all", "none"]
EdgeDirection = Literal["OUT", "IN"]

MAX_WALKED = 5_000
MAX_NEIGHBOURS = 1_000
MAX_ARTIFACTS = 200
MAX_DEPTH = 5
ARTIFACT_EDGES = ("BELONGS_TO", "DESCRIBES", "VALIDATES")
_DIRECTIONS: dict[Relationships, Direction] = {"outgoing": "outgoing", "incoming": "incoming", "all": "both"}
_WALKED_EDGES = (
    "BELONGS_TO", "DESCRIBES", "VALIDATES", "DEPENDS_ON", "IMPLEMENTS", "EMITS", "DECLARES", "DECLARES_SYMBOL",
    "EXERCISES", "IMPORTS", "CALLS", "CITES", "TESTS", "LINKS_TO", "PART_OF",
)  # fmt: skip
"""All types but HAS_CHUNK: the chunks of a file are not its neighbours."""
STRUCTURAL_EDGES = ("HAS_CHUNK", "DECLARES_SYMBOL")
"""Edges from a file to its own parts. A big file has hundreds of them."""
_LABEL_SCORES: dict[Label, float] = {
    "Subsystem": 0.95,
    "DesignDoc": 0.85,
    "SourceFile": 0.80,
    "TestCase": 0.75,
    "Symbol": 0.70,
    "Note": 0.70,
    "Specification": 0.65,
    "Requirement": 0.65,
    "Section": 0.60,
    "Task": 0.55,
    "ConfigFile": 0.55,
    "IntegrationMessage": 0.50,
    "TelemetryChannel": 0.50,
    "Artifact": 0.45,
}
_MATCH_SCORES = {"whole": 0.9, "start": 0.6, "part": 0.3}
_CONNECTING_EDGES = {
    "Chunk": ("HAS_CHUNK",),
    "Symbol": ("CALLS", "EXERCISES", "CITES", "TESTS", "LINKS_TO"),
    "Requirement": ("CITES", "TESTS", "IMPLEMENTS", "LINKS_TO"),
    "Note": ("LINKS_TO",),
}
"""A node with none of these edges is an orphan. Other nodes are orphans if they have no edge except to their own parts."""
_SNIPPET_CHARACTERS = 160
_SNIPPETS = ("description", "text", "title", "qualified_name", "path", "name")


@dataclass(frozen=True, slots=True)
class Relationship:
    """An edge as seen from one of its ends."""

    type: str
    direction: EdgeDirection
    target: Node


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A node and a page of its relationships; `total` counts those of all pages."""

    node: Node
    relationships: tuple[Relationship, ...]
    total: int
    structural: Mapping[str, int] = field(default_factory=dict)
    """Relationships that are counted and not listed, by type."""


@dataclass(frozen=True, slots=True)
class PathEdge:
    """One edge of a path, in the direction of the walk."""

    type: str
    direction: EdgeDirection
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class RelatedNode:
    """A reached node and the path to it."""

    target: Node
    path: tuple[PathEdge, ...]

    @property
    def hops(self) -> int:
        return len(self.path)


@dataclass(frozen=True, slots=True)
class SubsystemPage:
    """A subsystem with one page of related nodes, and its artifacts."""

    subsystem: Node
    related: tuple[RelatedNode, ...]
    total: int
    artifacts: tuple[Node, ...]
    bounded: bool
    """Whether the walk stopped at its limit, so there may be more nodes than `total`."""
    structural: Mapping[str, int] = field(default_factory=dict)
    """Nodes that are counted and not listed, by the type of the edge to them."""


@dataclass(frozen=True, slots=True)
class _Level:
    """The numbers of the nodes at one distance, and the edges to them from the previous level."""

    reached: AbstractSet[int]
    steps: NumberedEdges


@dataclass(frozen=True, slots=True)
class _Traversal:
    """The reached nodes, nearest first."""

    levels: Sequence[_Level]
    bounded: bool

    @property
    def total(self) -> int:
        return sum(len(level.reached) for level in self.levels)


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A node that matches a search term."""

    node: Node
    score: float
    snippet: str


class GraphService:
    """Queries on the graph of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    ##= docs/spec/knowledge.md#km-graph-node
    ##% An unknown node MUST be refused with `not_found` and a hint that names similar ones.
    def resolve(self, node_id: str) -> Node:
        """The node with this id. If there is none, case is ignored, provided that exactly one node matches."""
        name = parse_node_id(node_id)
        labels, key = name.labels, name.key
        for label in labels:
            if (node := self._store.graph.node(f"{label}:{key}")) is not None:
                return node
        ignoring_case = [node for label in labels for node in self._store.graph.nodes_keyed(label, key)]
        if len(ignoring_case) == 1:
            return ignoring_case[0]
        if ignoring_case:
            names = ", ".join(node.id for node in ignoring_case[:5])
            raise InvalidIdentifier("Several nodes have this id if case is ignored.", hint=f"Use one of: {names}.")
        similar = self._store.graph.find_nodes(key.rpartition("/")[2], labels, 3)
        hint = (
            f"Similar: {', '.join(found.node.id for found in similar)}."
            if similar
            else "Find ids with km-graph-search."
        )
        raise NotFound(f"There is no node {_short(node_id)}.", hint=hint)

    ##= docs/spec/knowledge.md#km-graph-node
    ##% Relationships MUST be paged with `cursor`, each returned exactly once.
    def node(
        self, node_id: str, relationships: Relationships, limit: int, *, offset: int = 0, structure: bool = True
    ) -> Neighbourhood:
        """A node and up to `limit` of its relationships. Without `structure`, edges to its own parts are only counted."""
        node = self.resolve(node_id)
        if relationships == "none":
            return Neighbourhood(node, (), 0)
        direction = _DIRECTIONS[relationships]
        counts = {} if direction == "incoming" else self._store.graph.degree(node.id, "outgoing")
        hidden = {} if structure else {kind: counts[kind] for kind in STRUCTURAL_EDGES if counts.get(kind)}
        edges = self._edges(node.id, direction, without=hidden)
        total = len(edges)
        if total >= MAX_NEIGHBOURS:
            total = sum(self._store.graph.degree(node.id, direction).values()) - sum(hidden.values())
        ends = sorted(
            ((edge, *_seen_from(node.id, edge)) for edge in edges), key=lambda end: (end[0].type, end[1], end[2])
        )[offset : offset + limit]
        targets = self._store.graph.nodes(other for _, _, other in ends)
        found = tuple(
            Relationship(edge.type, way, targets.get(other) or placeholder(other)) for edge, way, other in ends
        )
        return Neighbourhood(node, found, total, hidden)

    def _edges(self, node_id: str, direction: Direction, without: Collection[str]) -> tuple[Edge, ...]:
        """The edges at a node, without outgoing ones of some types."""
        if not without:
            return self._store.graph.expand([node_id], (), direction, MAX_NEIGHBOURS)
        kinds = tuple(kind for kind in EDGE_TYPES if kind not in without)
        found = self._store.graph.expand([node_id], kinds, "outgoing", MAX_NEIGHBOURS)
        if direction == "both":
            found += self._store.graph.expand([node_id], (), "incoming", MAX_NEIGHBOURS)
        return tuple(dict.fromkeys(found))

    ##= docs/spec/knowledge.md#km-graph-subsystem
    ##% Related nodes MUST be paged with `cursor`, each returned exactly once, and counted in `total`.
    ##= docs/spec/knowledge.md#km-graph-subsystem
    ##% Artifacts MUST be omitted if `include_artifacts` is false.
    def subsystem(
        self, name: str, *, depth: int, limit: int, offset: int = 0, include_artifacts: bool, structure: bool = True
    ) -> SubsystemPage:
        """A subsystem, a page of the nodes within `depth` hops, and its artifacts.

        Without `structure`, symbols that are reached only because a file declares them are counted and not listed.
        """
        root = self._subsystem_node(name)
        with self._store.snapshot():
            walk = self._walk(root.id, max(1, min(depth, MAX_DEPTH)), structure=structure)
            page = self._page(walk, offset, limit)
            declared = 0 if structure else self._declared_symbols(walk)
        return SubsystemPage(
            subsystem=root,
            related=page,
            total=walk.total,
            artifacts=self.artifacts_of(root.id) if include_artifacts else (),
            bounded=walk.bounded,
            structural={"DECLARES_SYMBOL": declared} if declared else {},
        )

    def _declared_symbols(self, walk: _Traversal) -> int:
        """How many more nodes the walk would reach from its inner levels through DECLARES_SYMBOL."""
        inner = {number for level in walk.levels[:-1] for number in level.reached}
        steps = self._store.graph.numbered_edges(sorted(inner), ("DECLARES_SYMBOL",), MAX_NEIGHBOURS)
        reached = {number for level in walk.levels for number in level.reached}
        return len({far for _, _, far in steps.outgoing} - reached)

    def artifacts_of(self, subsystem_id: str) -> tuple[Node, ...]:
        """The files of a subsystem, sorted by path."""
        edges = self._store.graph.expand([subsystem_id], ARTIFACT_EDGES, "incoming", MAX_NEIGHBOURS)
        found = self._store.graph.nodes({edge.source for edge in edges})
        return tuple(sorted(found.values(), key=lambda node: node.key)[:MAX_ARTIFACTS])

    ##= docs/spec/knowledge.md#km-graph-search
    ##% Nodes with exactly that name MUST come first, then nodes whose name starts with the term, then all others.
    def search(self, term: str, limit: int, *, labels: Sequence[Label] = (), offset: int = 0) -> tuple[FoundNode, ...]:
        """Nodes whose key or name contains the term, the best matches first; only those with one of `labels` if given."""
        if not term.strip():
            raise InvalidRequest("The term is blank.", hint="Give a part of a name, path or title.")
        searched = tuple(label for label in _LABEL_SCORES if not labels or label in labels)
        found = self._store.graph.find_nodes(term.strip(), searched, limit, offset)
        return tuple(FoundNode(node, _name_score(node.label, match), _snippet(node)) for node, match in found)

    def orphans(self, label: str, limit: int, cursor: str | None) -> tuple[tuple[Node, ...], str | None]:
        """A page of the unconnected nodes of a label, and the cursor of the next page."""
        if label not in LABELS:
            raise InvalidRequest(f"There is no label {_short(label)}.", hint=f"Labels: {', '.join(LABELS)}.")
        after = decode_text(cursor) if cursor else None
        found = self._store.graph.unconnected(label, _CONNECTING_EDGES.get(label, CONNECTING_EDGES), after, limit + 1)
        more = len(found) > limit
        return found[:limit], encode_text(found[limit - 1].key) if more else None

    ##= docs/spec/knowledge.md#other-query-tools
    ##% The tool `km-graph-tests-of` MUST list the test files that exercise a symbol.
    def tests_of(self, symbol_id: str) -> tuple[Node, tuple[Node, ...]]:
        """A symbol and the test files that exercise it, sorted by path."""
        symbol = self.resolve(symbol_id if symbol_id.startswith("Symbol:") else f"Symbol:{symbol_id}")
        edges = self._store.graph.expand([symbol.id], ("EXERCISES",), "incoming", MAX_NEIGHBOURS)
        tests = self._store.graph.nodes({edge.source for edge in edges})
        return symbol, tuple(sorted(tests.values(), key=lambda node: node.key))

    def walk(self, root: str, depth: int) -> tuple[list[RelatedNode], bool]:
        """Every node within `depth` hops with a shortest path, nearest first; and whether the walk hit its limit."""
        with self._store.snapshot():
            walk = self._walk(root, depth)
            return list(self._page(walk, 0, walk.total)), walk.bounded

    def nearest(
        self, root: str, depth: int, limit: int, types: Sequence[str] = ()
    ) -> tuple[tuple[RelatedNode, ...], int]:
        """The nearest nodes within `depth` hops over edges of these types, and how many there are in all."""
        with self._store.snapshot():
            walk = self._walk(root, depth, only=types)
            return self._page(walk, 0, limit), walk.total

    def _walk(self, root: str, depth: int, *, structure: bool = True, only: Sequence[str] = ()) -> _Traversal:
        """Every node within `depth` hops in either direction, up to MAX_WALKED. Reads numbers only, no names."""
        types = _WALKED_EDGES if structure else tuple(kind for kind in _WALKED_EDGES if kind not in STRUCTURAL_EDGES)
        types = tuple(kind for kind in types if kind in only) if only else types
        start = self._store.graph.node_number(root)
        seen = {start}
        frontier = {start} if start is not None else set()
        levels: list[_Level] = []
        bounded = False
        while frontier and len(levels) < depth and not bounded:
            steps = self._store.graph.numbered_edges(list(frontier), types, MAX_NEIGHBOURS)
            reached = {far for rows in (steps.outgoing, steps.incoming) for _, _, far in rows} - seen
            remaining = MAX_WALKED + 1 - len(seen)
            if len(reached) > remaining:
                bounded = True
                ordered_numbers = dict.fromkeys(far for _, _, far in self._sorted_edges(steps, reached))
                reached = set(list(ordered_numbers)[:remaining])
            levels.append(_Level(reached, steps))
            seen |= reached
            frontier = reached
        return _Traversal(levels, bounded)

    def _sorted_edges(self, steps: NumberedEdges, wanted: AbstractSet[int]) -> list[tuple[PathEdge, int, int]]:
        """The edges to these nodes with the numbers of their ends, in an order independent of the index's history."""
        chosen = [(*row, "OUT") for row in steps.outgoing if row[2] in wanted]
        chosen += [(*row, "IN") for row in steps.incoming if row[2] in wanted]
        nodes = self._store.graph.nodes_numbered({end for near, _, far, _ in chosen for end in (near, far)})
        ids = {number: node.id for number, node in nodes.items()}
        named = [
            (PathEdge(steps.types[kind], cast("EdgeDirection", way), ids[near], ids[far]), near, far)
            for near, kind, far, way in chosen
        ]
        return sorted(named, key=lambda item: (item[0].source, item[0].type, item[0].direction, item[0].target))

    ##= docs/spec/knowledge.md#km-graph-subsystem
    ##% Each related node MUST include its number of hops and a shortest path to it.
    def _page(self, walk: _Traversal, start: int, limit: int) -> tuple[RelatedNode, ...]:
        """One page of the reached nodes, nearest first, then by title."""
        page: list[RelatedNode] = []
        for hops, level in enumerate(walk.levels):
            if start < len(level.reached) and len(page) < limit:
                nodes = self._store.graph.nodes_numbered(level.reached)
                ordered = sorted(nodes.items(), key=lambda item: (_title(item[1]), item[1].id))
                chosen = dict(ordered[start : start + limit - len(page)])
                paths = self._paths(walk, hops, chosen.keys())
                page += [RelatedNode(node, paths[number]) for number, node in chosen.items()]
            start = max(0, start - len(level.reached))
        return tuple(page)

    def _paths(self, walk: _Traversal, hops: int, numbers: AbstractSet[int]) -> dict[int, tuple[PathEdge, ...]]:
        """The first shortest path to each of these nodes."""
        last: dict[int, tuple[PathEdge, int]] = {}
        for step, near, far in self._sorted_edges(walk.levels[hops].steps, numbers):
            last.setdefault(far, (step, near))
        before = self._paths(walk, hops - 1, {near for _, near in last.values()}) if hops else {}
        return {number: (*before.get(near, ()), step) for number, (step, near) in last.items()}

    ##= docs/spec/knowledge.md#km-graph-subsystem
    ##% An unknown subsystem MUST be refused with `not_found`.
    def _subsystem_node(self, name: str) -> Node:
        if not name.strip():
            raise InvalidRequest("The name of the subsystem is blank.", hint="Find names with km-graph-search.")
        return self.resolve(name if name.startswith("Subsystem:") else f"Subsystem:{name}")


def _name_score(label: Label, match: str) -> float:
    """How well a node fits a term: mostly by its name, then by its label."""
    return round(_MATCH_SCORES[match] + 0.1 * _LABEL_SCORES[label], 3)


def placeholder(node_id: str) -> Node:
    """A node for an edge whose end is not in the store."""
    name = parse_node_id(node_id)
    return Node(name.labels[0], name.key)


def encode_text(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_text(cursor: str) -> str | None:
    try:
        return base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        return None


def _seen_from(node_id: str, edge: Edge) -> tuple[EdgeDirection, str]:
    return ("OUT", edge.target) if edge.source == node_id else ("IN", edge.source)


def _title(node: Node) -> str:
    for name in ("name", "title", "path"):
        if isinstance(value := node.properties.get(name), str):
            return value
    return node.key


def _snippet(node: Node) -> str:
    values: Iterable[object] = (node.properties.get(name) for name in _SNIPPETS)
    return next(
        (value[:_SNIPPET_CHARACTERS] for value in values if isinstance(value, str) and value),
        node.key[:_SNIPPET_CHARACTERS],
    )


def _short(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:117] + "…")
