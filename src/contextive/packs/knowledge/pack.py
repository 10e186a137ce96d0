"""The pack object, and helpers that its modules share."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from contextive.packs.introspect import ServerFacts
from contextive.registry import Context, Pack
from contextive.registry.budget import concise, cut_at_line
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
    default_tools=(
        "km-search",
        "find_usages",
        "km-graph-node",
        "km-storetext",
        "km-ingest-trigger",
        "km-feedback-submit",
    ),
)
LABELS = ("knowledge",)
Cursor = Annotated[str | None, Field(max_length=200, description="From the previous page")]
_MAX_PROPERTY, _MAX_TITLE = 300, 120
_DIGESTS = ("git_commit", "digest", "content_digest")
_TITLES = {"Requirement": ("text",), "Section": ("title",), "Specification": ("name",), "Note": ("title",)}
"""Properties that name a node whose key does not."""


##= docs/spec/knowledge.md#reader-scope
##% The tools in this document MUST be available to readers, except `km-graph-query`.
def load_declarations() -> None:
    """Import the modules of the pack in listing order; each one adds its declarations."""
    for part in (
        "help",
        "search",
        "graph",
        "usages",
        "coverage",
        "maintenance",
        "documents",
        "backups",
        "graph_query",
        "health",
    ):
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


##= docs/spec/host.md#tool-calls
##% A hint MUST name only tools that the caller is offered.
def offers(ctx: Context, tool: str) -> bool:
    """Whether the caller is offered a tool, so that an answer may mention it."""
    return tool in ctx.service(ServerFacts).surface_of(ctx).tools


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


def concise_node(node: Node) -> dict[str, Any]:
    """A node without empty properties and with shorter texts."""
    properties = {
        name: cut_at_line(value, _MAX_PROPERTY)[0] if isinstance(value, str) else value
        for name, value in node.properties.items()
        if value not in (None, [], {}, "") and name not in _DIGESTS
    }
    return {"id": node.id, "labels": [node.label], "properties": concise(properties)}


def named_node(node: Node) -> dict[str, str]:
    """The id of a node, and its title if the id does not say what it is."""
    title = next((node.properties[name] for name in _TITLES.get(node.label, ()) if node.properties.get(name)), None)
    return {"id": node.id} | ({"title": cut_at_line(title, _MAX_TITLE)[0]} if isinstance(title, str) else {})
