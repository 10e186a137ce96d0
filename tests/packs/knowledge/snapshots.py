"""All derived rows of a store, as plain values that can be compared."""

from __future__ import annotations

from typing import Any

from contextive.knowledge.graph import LABELS
from contextive.store.protocol import Store

_PAGE = 500


def rows_of(store: Store) -> dict[str, Any]:
    """Rows by kind, without row numbers, index times and generations: these depend on the history, not on the content."""
    artifacts = list(store.files.artifacts())
    nodes: dict[str, Any] = {}
    for label in LABELS:
        after: str | None = None
        while page := store.graph.nodes_labelled(label, after, _PAGE):
            nodes |= {node.id: dict(node.properties) for node in page}
            after = page[-1].key
    edges = set()
    ids = sorted(nodes)
    for start in range(0, len(ids), _PAGE):
        edges |= set(store.graph.expand(ids[start : start + _PAGE], (), "both", 100_000))
    return {
        "artifacts": [(row.artifact, row.chunk_count, row.symbol_count) for row in artifacts],
        "chunks": {row.artifact.path: [c.chunk for c in store.files.chunks_of(row.artifact.path)] for row in artifacts},
        "symbols": list(store.files.symbols()),
        "references": {row.artifact.path: set(store.files.references(row.artifact.path)) for row in artifacts},
        "ledger": {path: (entry.digest, entry.size, entry.parser) for path, entry in store.files.ledger().items()},
        "nodes": nodes,
        "edges": edges,
    }
