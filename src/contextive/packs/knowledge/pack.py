"""The pack object, and helpers that its modules share."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from contextive.registry import Context, Pack
from contextive.search.index import Index

if TYPE_CHECKING:
    from contextive.ingest.documents import Documents
    from contextive.knowledge.graph import Node
    from contextive.store.backup import Backups
    from contextive.store.values import AsOf

pack = Pack(
    "knowledge",
    title="Project knowledge",
    description="Hybrid search, a typed graph and reports over the project's documents, code, requirements and notes.",
)
LABELS = ("knowledge",)


##= docs/spec/knowledge.md#reader-scope
##% The tools in this document MUST be available to readers, except `km-graph-query`.
def load_declarations() -> None:
    """Import the modules of the pack in listing order; each one adds its declarations."""
    for part in ("help", "search", "graph", "coverage", "maintenance", "documents", "backups", "graph_query", "health"):
        import_module(f"contextive.packs.knowledge.{part}")
    import_module("contextive.packs.knowledge_recipes").declare(pack)


class DocumentsAndBackups:
    """The document and backup services, created on first use because few servers need them."""

    def __init__(self, documents: Callable[[], Documents], backups: Callable[[], Backups]) -> None:
        self._documents = documents
        self._backups = backups

    def documents(self) -> Documents:
        return self._documents()

    def backups(self) -> Backups:
        return self._backups()


def index_of(ctx: Context) -> Index:
    return ctx.service(Index)


##= docs/spec/knowledge.md#index-updates
##% An answer MUST say which state of the index it is based on.
def as_of_to_dict(as_of: AsOf) -> dict[str, Any]:
    """The state of the index as a JSON object, without empty fields."""
    state: dict[str, Any] = {"generation": as_of.generation}
    if as_of.committed_at:
        state["indexed_at"] = round(as_of.committed_at, 3)
    if as_of.repo_head:
        state["repo_head"] = as_of.repo_head
    for name in ("pending_files", "pending_vectors", "skipped_files"):
        if value := getattr(as_of, name):
            state[name] = value
    return state


def node_to_dict(node: Node) -> dict[str, Any]:
    """A node as a JSON object."""
    return {"id": node.id, "labels": [node.label], "properties": dict(node.properties)}
