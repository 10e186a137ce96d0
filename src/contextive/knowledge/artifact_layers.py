"""Graph layers from artifacts: one per file, one for the whole project, and one for the references of each file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from contextive.knowledge.artifact import Artifact, ArtifactType, ParsedArtifact
from contextive.knowledge.calls import Call
from contextive.knowledge.exercised_symbols import Exercise
from contextive.knowledge.graph import Edge, EdgeType, Layer, Node
from contextive.knowledge.node_ids import ARTIFACT_LABELS, node_id
from contextive.knowledge.packages import outer_names
from contextive.knowledge.subsystems import Subsystem, SubsystemCatalog
from contextive.knowledge.symbol import Symbol

TO_SUBSYSTEM: Final[dict[ArtifactType, EdgeType]] = {
    "code": "BELONGS_TO",
    "proto": "BELONGS_TO",
    "doc": "DESCRIBES",
    "test": "VALIDATES",
}
"""The edge from an artifact to its subsystem. Other types have none."""


##= docs/spec/knowledge.md#nodes-and-edges
##% The graph MUST contain files, chunks, symbols, subsystems, specifications, sections, requirements, notes, messages
##% and channels.
def artifact_layer(parsed: ParsedArtifact) -> Layer:
    """The nodes and edges of one file, its chunks and its symbols.

    The nodes of subsystems and messages are in the project layer.
    """
    artifact = parsed.artifact
    file_node = artifact_node(artifact)
    nodes = [file_node]
    edges: list[Edge] = []
    for chunk in parsed.chunks:
        nodes.append(
            Node(
                "Chunk",
                chunk.chunk_id,
                {"chunk_id": chunk.chunk_id, "sequence": chunk.sequence, "content_digest": chunk.digest},
            )
        )
        edges.append(Edge(file_node.id, "HAS_CHUNK", nodes[-1].id))
    for symbol in parsed.symbols:
        nodes.append(symbol_node(symbol))
        edges.append(Edge(file_node.id, "DECLARES_SYMBOL", nodes[-1].id))
    relation = TO_SUBSYSTEM.get(artifact.artifact_type)
    if relation is not None and artifact.subsystem:
        edges.append(Edge(file_node.id, relation, node_id("Subsystem", artifact.subsystem)))
    if file_node.label == "SourceFile":
        edges += [Edge(file_node.id, "DECLARES", node_id("IntegrationMessage", name)) for name in artifact.messages]
    return Layer(tuple(nodes), tuple(edges))


def artifact_node(artifact: Artifact) -> Node:
    """The node of a file, with its metadata."""
    return Node(
        ARTIFACT_LABELS[artifact.artifact_type],
        artifact.path,
        {
            "path": artifact.path,
            "artifact_type": artifact.artifact_type,
            "title": artifact.title,
            "subsystem": artifact.subsystem,
            "git_commit": artifact.git.commit if artifact.git else None,
            "git_timestamp": artifact.git.timestamp if artifact.git else None,
        },
    )


def symbol_node(symbol: Symbol) -> Node:
    return Node(
        "Symbol",
        symbol.id,
        {
            "id": symbol.id,
            "name": symbol.name,
            "qualified_name": symbol.qualified_name,
            "kind": symbol.kind,
            "language": symbol.language,
            "line_start": symbol.line_start,
            "line_end": symbol.line_end,
        },
    )


def project_layer(artifacts: Iterable[Artifact], catalog: SubsystemCatalog) -> Layer:
    """Nodes and edges that do not belong to a single file: subsystems, their dependencies, messages and telemetry."""
    names = {subsystem.name for subsystem in catalog.subsystems}
    messages: set[str] = set()
    emitters: dict[str, set[str]] = {}
    edges: set[Edge] = set()
    for artifact in artifacts:
        if artifact.subsystem:
            names.add(artifact.subsystem)
        if ARTIFACT_LABELS[artifact.artifact_type] != "SourceFile":
            continue
        messages.update(artifact.messages)
        for channel in artifact.telemetry:
            emitters.setdefault(channel, set()).update({artifact.subsystem} if artifact.subsystem else ())
        if artifact.subsystem:
            owner = node_id("Subsystem", artifact.subsystem)
            edges.update(Edge(owner, "IMPLEMENTS", node_id("IntegrationMessage", name)) for name in artifact.messages)
            edges.update(Edge(owner, "EMITS", node_id("TelemetryChannel", name)) for name in artifact.telemetry)
    for subsystem in catalog.subsystems:
        for dependency in subsystem.depends_on:
            known = catalog.find(dependency)
            target = known.name if known else dependency
            names.add(target)
            if target != subsystem.name:
                edges.add(Edge(node_id("Subsystem", subsystem.name), "DEPENDS_ON", node_id("Subsystem", target)))
    edges.update(_nesting(names))
    nodes = [Node("Subsystem", name, _subsystem_properties(name, catalog.find(name))) for name in sorted(names)]
    nodes += [Node("IntegrationMessage", name, {"name": name}) for name in sorted(messages)]
    nodes += [
        Node("TelemetryChannel", name, {"name": name, "source_subsystem": min(sources, default=None)})
        for name, sources in sorted(emitters.items())
    ]
    return Layer(tuple(nodes), tuple(sorted(edges)))


##= docs/spec/knowledge.md#nodes-and-edges
##% A subsystem MUST be part of the subsystem whose package it is nested in.
def _nesting(names: Collection[str]) -> Iterator[Edge]:
    for name in names:
        outer = next((outer for outer in outer_names(name) if outer in names), None)
        if outer is not None:
            yield Edge(node_id("Subsystem", name), "PART_OF", node_id("Subsystem", outer))


def _subsystem_properties(name: str, known: Subsystem | None) -> Mapping[str, Any]:
    return {
        "name": name,
        "description": known.description if known else None,
        "criticality": known.criticality if known else None,
        "owner": known.owner if known else None,
        "domain": known.domain if known else None,
        "tags": list(known.tags) if known else [],
        "labels": list(known.labels) if known else [],
    }


_EDGE_ORDER = attrgetter("source", "type", "target", "by_name", "line")
"""The order of edges. Comparing them themselves takes several times as long."""


@dataclass(frozen=True, slots=True)
class ResolvedReferences:
    """The targets of the references of one file."""

    imports: Iterable[str] = ()
    """Paths of files."""
    calls: Iterable[Call] = ()
    exercises: Iterable[Exercise] = ()
    links: Iterable[str] = ()
    """Paths of files, or ids of symbols."""


def link_layer(path: str, resolved: ResolvedReferences, artifacts: Mapping[str, str]) -> Layer:
    """The edges from one file to its targets. `artifacts` maps paths to node ids; unknown paths are skipped."""
    file_node = artifacts[path]
    edges = {Edge(file_node, "IMPORTS", artifacts[target]) for target in resolved.imports if target in artifacts}
    edges |= {
        Edge(
            node_id("Symbol", call.source) if call.source else file_node,
            "CALLS",
            node_id("Symbol", call.target),
            call.by_name,
            call.line,
        )
        for call in resolved.calls
    }
    edges |= {
        Edge(file_node, "EXERCISES", node_id("Symbol", exercise.target), exercise.by_name, exercise.line)
        for exercise in resolved.exercises
    }
    for target in resolved.links:
        if target in artifacts:
            edges.add(Edge(file_node, "LINKS_TO", artifacts[target]))
        elif "::" in target:
            edges.add(Edge(file_node, "LINKS_TO", node_id("Symbol", target)))
    return Layer(edges=tuple(sorted((edge for edge in edges if edge.source != edge.target), key=_EDGE_ORDER)))
