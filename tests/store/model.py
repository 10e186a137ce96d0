"""A simple model of a store, made of dicts. Every implementation must agree with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from contextive.knowledge.artifact import ParsedArtifact
from contextive.knowledge.graph import Edge, Layer
from contextive.knowledge.tokeniser import tokenise
from contextive.store.values import LedgerEntry

Owner = tuple[int, str]


@dataclass
class ModelStore:
    """Files, ledger, layers and vectors, and the graph and search results that follow from them."""

    files: dict[str, ParsedArtifact] = field(default_factory=dict)
    ledger: dict[str, LedgerEntry] = field(default_factory=dict)
    layers: dict[Owner, Layer] = field(default_factory=dict)
    vectors: dict[str, str] = field(default_factory=dict)
    """The digest of each chunk, by id, when its vector was stored."""

    def put(self, file: ParsedArtifact, entry: LedgerEntry, layer: Layer) -> None:
        path = file.artifact.path
        self.files[path], self.ledger[path], self.layers[0, path] = file, entry, layer
        self._drop_stale_vectors()

    def remove(self, path: str) -> None:
        self.files.pop(path, None)
        self.ledger.pop(path, None)
        self.layers.pop((0, path), None)
        self.layers.pop((1, f"links:{path}"), None)
        self._drop_stale_vectors()

    def _drop_stale_vectors(self) -> None:
        current = {chunk.chunk_id: chunk.digest for file in self.files.values() for chunk in file.chunks}
        self.vectors = {key: digest for key, digest in self.vectors.items() if current.get(key) == digest}

    def nodes(self) -> dict[str, dict[str, Any]]:
        merged: dict[str, dict[str, Any]] = {}
        for owner in sorted(self.layers):
            for node in self.layers[owner].nodes:
                known = merged.setdefault(node.id, {})
                for name, value in node.properties.items():
                    known.setdefault(name, value)
        return merged

    def edges(self) -> list[Edge]:
        nodes = self.nodes()
        stated: dict[tuple[str, ...], Edge] = {}
        for edge in sorted({edge for layer in self.layers.values() for edge in layer.edges}):
            if edge.source in nodes and edge.target in nodes:
                stated.setdefault((edge.source, edge.type, edge.target), edge)
        return sorted(stated.values())

    def chunks_containing(self, term: str) -> set[str]:
        return {
            chunk.chunk_id
            for file in self.files.values()
            for chunk in file.chunks
            if term in tokenise(chunk.text) or term in tokenise(f"{chunk.title}\n{file.artifact.path}")
        }
