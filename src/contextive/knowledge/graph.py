"""Nodes and edges of the project graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Label = Literal[
    "Subsystem",
    "SourceFile",
    "DesignDoc",
    "TestCase",
    "ConfigFile",
    "Artifact",
    "Chunk",
    "Symbol",
    "IntegrationMessage",
    "TelemetryChannel",
    "Specification",
    "Section",
    "Requirement",
    "Task",
    "Note",
]
LABELS: tuple[Label, ...] = get_args(Label)

EdgeType = Literal[
    "BELONGS_TO",
    "DESCRIBES",
    "VALIDATES",
    "DEPENDS_ON",
    "IMPLEMENTS",
    "EMITS",
    "DECLARES",
    "DECLARES_SYMBOL",
    "EXERCISES",
    "HAS_CHUNK",
    "IMPORTS",
    "CALLS",
    "CITES",
    "TESTS",
    "LINKS_TO",
    "PART_OF",
]
EDGE_TYPES: tuple[EdgeType, ...] = get_args(EdgeType)

Direction = Literal["outgoing", "incoming", "both"]


@dataclass(frozen=True, slots=True)
class Node:
    """A node with an id of the form `Label:key`."""

    label: Label
    key: str
    properties: Mapping[str, Any] = field(default_factory=dict)

    ##= docs/spec/knowledge.md#nodes-and-edges
    ##% The id of a node MUST be its label and its key, separated by a colon.
    @property
    def id(self) -> str:
        return f"{self.label}:{self.key}"


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """A typed connection from one node to another, by their ids."""

    source: str
    type: EdgeType
    target: str
    by_name: bool = False
    """Whether the target of a call was found by its name alone, not by the type of its receiver or an import."""
    line: int = 0
    """The line of the first call; 0 for edges of other types."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Nodes and edges that are derived together and replaced together."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
