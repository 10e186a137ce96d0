"""Graph context of results: their node, its neighbours, their subsystems and related artifacts.

Results are read in batches, with a handful of store queries per batch. Contexts are cached until the index changes. A
context does not depend on the other results of its batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from contextive.knowledge.graph import EDGE_TYPES, Edge, Node
from contextive.knowledge.node_ids import artifact_node_id
from contextive.store.protocol import Store
from contextive.store.values import AsOf, RankableChunk

MAX_RELATIONSHIPS: Final = 10
MAX_RELATED: Final = 10
BATCH_SIZE: Final = 10
"""Results read together; the time budget is checked between batches."""
MAX_CACHED_CONTEXTS: Final = 1_000
"""Some kilobytes each."""
_MEMBERSHIP: Final = ("BELONGS_TO", "DESCRIBES", "VALIDATES")
# The answer already has the chunks and symbols of a file.
_CONTEXT_EDGES: Final = tuple(kind for kind in EDGE_TYPES if kind not in ("HAS_CHUNK", "DECLARES_SYMBOL"))
_ORDER: Final = {kind: at for at, kind in enumerate((*_MEMBERSHIP, *(k for k in EDGE_TYPES if k not in _MEMBERSHIP)))}


@dataclass(frozen=True, slots=True)
class Relationship:
    """An edge at the node of a result. The direction is OUT if the edge leads away from it."""

    type: str
    direction: str
    target: Node


@dataclass(frozen=True, slots=True)
class RelatedArtifact:
    """A document or test that describes or validates the subsystem of a result."""

    id: str
    relationship: str


@dataclass(frozen=True, slots=True)
class GraphContext:
    """The graph context of one result."""

    primary_node: Node
    relationships: tuple[Relationship, ...] = ()
    neighbor_subsystems: tuple[str, ...] = ()
    related_artifacts: tuple[RelatedArtifact, ...] = ()
    path_depth: int | None = None
    """Edges between the node and the nearest subsystem."""


@dataclass(frozen=True, slots=True)
class GraphContexts:
    """Contexts by chunk number, and whether the time budget ended before all were read."""

    by_number: Mapping[int, GraphContext]
    ran_out_of_time: bool = False
    seconds: float = 0.0
    cached: int = 0
    """How many files were found in the cache."""
    read: int = 0


@dataclass(frozen=True, slots=True)
class _ContextCache:
    """Data read from one state of the index."""

    as_of: AsOf
    contexts: dict[str, GraphContext] = field(default_factory=dict)
    """By node id of the file."""
    subsystem_edges: dict[str, tuple[Edge, ...]] = field(default_factory=dict)
    """By subsystem id. There are few subsystems, each shared by many files."""
    neighbours: dict[str, Node] = field(default_factory=dict)
    """By node id. Many files have the same few neighbours."""


class GraphContextReader:
    """Reads graph contexts. Thread-safe."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._cache: _ContextCache | None = None

    def nodes(self, node_ids: Iterable[str], as_of: AsOf) -> Mapping[str, Node]:
        """Nodes that are needed again and again, such as subsystems; cached."""
        cache = self._cache
        known = cache.neighbours if cache is not None and cache.as_of == as_of else {}
        return self._nodes(node_ids, known)

    def _nodes(self, node_ids: Iterable[str], known: dict[str, Node]) -> dict[str, Node]:
        found: dict[str, Node] = {}
        unknown: list[str] = []
        for node_id in node_ids:
            # A single lookup: another thread may clear the cache at any time.
            if (node := known.get(node_id)) is not None:
                found[node_id] = node
            else:
                unknown.append(node_id)
        if unknown:
            read = self._store.graph.nodes(sorted(unknown))
            found |= read
            known |= read
        return found

    def read(self, rows: Sequence[RankableChunk], as_of: AsOf, *, budget_ms: int) -> GraphContexts:
        """The graph context of each result whose file has a node, until the time budget is used up."""
        started = self._clock()
        end = started + budget_ms / 1000
        cache = self._cache
        if cache is None or cache.as_of != as_of:
            cache = _ContextCache(as_of)
        contexts: dict[int, GraphContext] = {}
        cached = read = 0
        ran_out = False
        for at in range(0, len(rows), BATCH_SIZE):
            if at and self._clock() >= end:
                ran_out = True
                break
            ids = {row.number: _node_id(row) for row in rows[at : at + BATCH_SIZE]}
            known = cache.contexts
            missing = [node_id for node_id in dict.fromkeys(ids.values()) if node_id not in known]
            read += len(missing)
            cached += len(set(ids.values())) - len(missing)
            found = self._read_batch(missing, cache) if missing else {}
            contexts |= {
                number: context
                for number, node_id in ids.items()
                if (context := found.get(node_id) or known.get(node_id)) is not None
            }
            known |= found
        self._save_cache(cache)
        return GraphContexts(contexts, ran_out, self._clock() - started, cached, read)

    def _save_cache(self, cache: _ContextCache) -> None:
        if cache is not self._cache and self._store.as_of() != cache.as_of:
            return
        if len(cache.contexts) > MAX_CACHED_CONTEXTS:
            cache.contexts.clear()
        if len(cache.neighbours) > MAX_CACHED_CONTEXTS:
            cache.neighbours.clear()
        self._cache = cache

    def _read_batch(self, ids: Sequence[str], cache: _ContextCache) -> dict[str, GraphContext]:
        subsystem_edges = cache.subsystem_edges
        primary, edges = self._store.graph.nodes_with_edges(ids, _CONTEXT_EDGES, MAX_RELATIONSHIPS)
        at_node = _by_node(edges, primary, MAX_RELATIONSHIPS)
        subsystems = {other for edge in edges for other in (edge.source, edge.target) if _is_subsystem(other)}
        if unknown := sorted(subsystems - subsystem_edges.keys()):
            found = self._store.graph.expand(unknown, ("DESCRIBES", "VALIDATES", "DEPENDS_ON"), "both", MAX_RELATED + 1)
            at_subsystem = _by_node(found, unknown, MAX_RELATED + 1)
            subsystem_edges |= {name: tuple(at_subsystem.get(name, ())) for name in unknown}
        others = {end for edge in edges for end in (edge.source, edge.target)} - primary.keys()
        nodes = {**primary, **self._nodes(others, cache.neighbours)}
        contexts: dict[str, GraphContext] = {}
        for node_id, node in primary.items():
            own = at_node.get(node_id, ())
            subsystem_ids = [
                _other(edge, node_id) for edge in own if edge.type in _MEMBERSHIP and _is_subsystem(edge.target)
            ]
            shared = [edge for subsystem_id in subsystem_ids for edge in subsystem_edges[subsystem_id]]
            contexts[node_id] = GraphContext(
                primary_node=node,
                relationships=_relationships(node_id, own, nodes),
                neighbor_subsystems=_subsystem_names(node_id, own, shared, nodes),
                related_artifacts=_related(node_id, own, shared),
                path_depth=1 if subsystem_ids else None,
            )
        return contexts


def _node_id(row: RankableChunk) -> str:
    return artifact_node_id(row.artifact.path, row.artifact.artifact_type)


def _by_node(edges: Sequence[Edge], node_ids: Iterable[str], limit: int) -> dict[str, list[Edge]]:
    """The edges at each node, in each direction at most `limit`, ordered by type and other end.

    A node can have more edges than the limit because its neighbours in the batch brought some of them.
    """
    wanted = frozenset(node_ids)
    found: dict[str, list[Edge]] = {}
    outgoing: dict[str, int] = {}
    incoming: dict[str, int] = {}
    for edge in edges:
        for end, counts in ((edge.source, outgoing), (edge.target, incoming)):
            if end in wanted:
                counts[end] = counts.get(end, 0) + 1
                if edge.source != edge.target or counts is outgoing:
                    found.setdefault(end, []).append(edge)
    for node_id, own in found.items():
        if outgoing.get(node_id, 0) > limit or incoming.get(node_id, 0) > limit:
            from_it = sorted((edge for edge in own if edge.source == node_id), key=_by_type_and_target)[:limit]
            to_it = sorted((edge for edge in own if edge.target == node_id), key=_by_type_and_source)[:limit]
            found[node_id] = sorted({*from_it, *to_it})
    return found


def _by_type_and_target(edge: Edge) -> tuple[str, str]:
    return edge.type, edge.target


def _by_type_and_source(edge: Edge) -> tuple[str, str]:
    return edge.type, edge.source


def _relationships(node_id: str, edges: Sequence[Edge], nodes: Mapping[str, Node]) -> tuple[Relationship, ...]:
    ordered = sorted(edges, key=lambda edge: (_ORDER[edge.type], edge.source, edge.target))
    relationships = [
        Relationship(edge.type, "OUT" if edge.source == node_id else "IN", nodes[_other(edge, node_id)])
        for edge in ordered
        if _other(edge, node_id) in nodes
    ]
    return tuple(relationships[:MAX_RELATIONSHIPS])


def _subsystem_names(
    node_id: str, own: Sequence[Edge], shared: Sequence[Edge], nodes: Mapping[str, Node]
) -> tuple[str, ...]:
    """The subsystems of a file, those they depend on or are used by, and those of the files it leads to.

    `own` are the edges of the file, `shared` those of its subsystems.
    """
    near = [end for edge in own for end in (edge.source, edge.target)]
    near += [end for edge in shared if edge.type == "DEPENDS_ON" for end in (edge.source, edge.target)]
    names = {end.partition(":")[2] for end in near if _is_subsystem(end)}
    for edge in own:
        if edge.source == node_id and edge.target in nodes:
            name = nodes[edge.target].properties.get("subsystem")
            names |= {name} if isinstance(name, str) else set()
    return tuple(sorted(names))


def _related(node_id: str, own: Sequence[Edge], shared: Sequence[Edge]) -> tuple[RelatedArtifact, ...]:
    """Artifacts that describe or validate the subsystem of a file, or that the file itself describes or validates."""
    found: dict[str, str] = {}
    for edge in (*own, *shared):
        if edge.type in ("DESCRIBES", "VALIDATES"):
            for end in (edge.source, edge.target):
                if end != node_id and not _is_subsystem(end):
                    found.setdefault(end, edge.type)
    return tuple(RelatedArtifact(end, kind) for end, kind in sorted(found.items())[:MAX_RELATED])


def _other(edge: Edge, node_id: str) -> str:
    return edge.target if edge.source == node_id else edge.source


def _is_subsystem(node_id: str) -> bool:
    return node_id.startswith("Subsystem:")
