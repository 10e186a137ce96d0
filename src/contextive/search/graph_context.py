"""What the graph knows about results: their node, its neighbours, their subsystems, and what stands beside them.

All results are looked up together, a handful of questions to the store for each group of them, and never one for each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contextive.knowledge.graph import EDGE_TYPES, Edge, Node
from contextive.knowledge.identifiers import artifact_node_id
from contextive.store.protocol import Store
from contextive.store.values import ChunkRow

MAX_RELATIONSHIPS: Final = 10
MAX_RELATED: Final = 10
GROUP: Final = 10
"""Results that are looked up together; the time budget is looked at between two groups."""
_MEMBERSHIP: Final = ("BELONGS_TO", "DESCRIBES", "VALIDATES")
# A file's chunks and symbols are in the answer already; its neighbours are what the answer lacks.
_SHOWN_TYPES: Final = tuple(kind for kind in EDGE_TYPES if kind not in ("HAS_CHUNK", "DECLARES_SYMBOL"))
_ORDER: Final = {kind: at for at, kind in enumerate((*_MEMBERSHIP, *(k for k in EDGE_TYPES if k not in _MEMBERSHIP)))}


@dataclass(frozen=True, slots=True)
class Relationship:
    """An edge at a result's node. The direction is OUT when the other node is the edge's end."""

    type: str
    direction: str
    target: Node


@dataclass(frozen=True, slots=True)
class RelatedArtifact:
    """A document or test that stands beside a result because it describes or validates the same subsystem."""

    id: str
    relationship: str


@dataclass(frozen=True, slots=True)
class GraphContext:
    """What the graph knows about one result."""

    primary_node: Node
    relationships: tuple[Relationship, ...] = ()
    neighbor_subsystems: tuple[str, ...] = ()
    related_artifacts: tuple[RelatedArtifact, ...] = ()
    path_depth: int | None = None
    """Edges between the node and the nearest subsystem."""


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts by chunk number, and whether time ran out before all were made."""

    by_number: Mapping[int, GraphContext]
    ran_out_of_time: bool = False


def read_contexts(
    store: Store, rows: Sequence[ChunkRow], *, budget_ms: int, clock: Callable[[], float] = time.monotonic
) -> Contexts:
    """The graph context of each result whose file has a node, as far as the time budget reaches."""
    end = clock() + budget_ms / 1000
    made: dict[int, GraphContext] = {}
    for at in range(0, len(rows), GROUP):
        if at and clock() >= end:
            return Contexts(made, ran_out_of_time=True)
        made |= _read_group(store, rows[at : at + GROUP])
    return Contexts(made)


def _read_group(store: Store, rows: Sequence[ChunkRow]) -> dict[int, GraphContext]:
    ids = list(dict.fromkeys(map(_node_id, rows)))
    primary = store.nodes(ids)
    edges = store.expand(sorted(primary), _SHOWN_TYPES, "both", MAX_RELATIONSHIPS)
    at_node = _by_node(edges, primary)
    subsystems = sorted({other for edge in edges for other in (edge.source, edge.target) if _is_subsystem(other)})
    around = store.expand(subsystems, ("DESCRIBES", "VALIDATES", "DEPENDS_ON"), "both", MAX_RELATED + 1)
    at_subsystem = _by_node(around, subsystems)
    others = {end for edge in edges for end in (edge.source, edge.target)}
    nodes = store.nodes(sorted(others))
    contexts: dict[str, GraphContext] = {}
    for node_id, node in primary.items():
        own = at_node.get(node_id, ())
        homes = [_other(edge, node_id) for edge in own if edge.type in _MEMBERSHIP and _is_subsystem(edge.target)]
        beside = [edge for home in homes for edge in at_subsystem.get(home, ())]
        contexts[node_id] = GraphContext(
            primary_node=node,
            relationships=_relationships(node_id, own, nodes),
            neighbor_subsystems=_subsystem_names(own, beside),
            related_artifacts=_related(node_id, own, beside),
            path_depth=1 if homes else None,
        )
    return {row.number: contexts[_node_id(row)] for row in rows if _node_id(row) in contexts}


def _node_id(row: ChunkRow) -> str:
    return artifact_node_id(row.artifact.path, row.artifact.artifact_type)


def _by_node(edges: Sequence[Edge], node_ids: Mapping[str, object] | Sequence[str]) -> dict[str, list[Edge]]:
    wanted = frozenset(node_ids)
    found: dict[str, list[Edge]] = {}
    for edge in edges:
        for end in {edge.source, edge.target} & wanted:
            found.setdefault(end, []).append(edge)
    return found


def _relationships(node_id: str, edges: Sequence[Edge], nodes: Mapping[str, Node]) -> tuple[Relationship, ...]:
    ordered = sorted(edges, key=lambda edge: (_ORDER[edge.type], edge.source, edge.target))
    shown = [
        Relationship(edge.type, "OUT" if edge.source == node_id else "IN", nodes[_other(edge, node_id)])
        for edge in ordered
        if _other(edge, node_id) in nodes
    ]
    return tuple(shown[:MAX_RELATIONSHIPS])


def _subsystem_names(own: Sequence[Edge], beside: Sequence[Edge]) -> tuple[str, ...]:
    near = [end for edge in own for end in (edge.source, edge.target)]
    near += [end for edge in beside if edge.type == "DEPENDS_ON" for end in (edge.source, edge.target)]
    return tuple(sorted({end.partition(":")[2] for end in near if _is_subsystem(end)}))


def _related(node_id: str, own: Sequence[Edge], beside: Sequence[Edge]) -> tuple[RelatedArtifact, ...]:
    """Whoever describes or validates this file's subsystem, and whatever this file itself describes or validates."""
    found: dict[str, str] = {}
    for edge in (*own, *beside):
        if edge.type in ("DESCRIBES", "VALIDATES"):
            for end in (edge.source, edge.target):
                if end != node_id and not _is_subsystem(end):
                    found.setdefault(end, edge.type)
    return tuple(RelatedArtifact(end, kind) for end, kind in sorted(found.items())[:MAX_RELATED])


def _other(edge: Edge, node_id: str) -> str:
    return edge.target if edge.source == node_id else edge.source


def _is_subsystem(node_id: str) -> bool:
    return node_id.startswith("Subsystem:")
