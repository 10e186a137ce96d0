"""The notes in the graph, with their links to notes, requirements, files and symbols."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping

from contextive.knowledge.graph import Edge, Layer, Node
from contextive.notes.catalog import NoteCatalog
from contextive.notes.slug import link_key
from contextive.notes.wikilink import NoteLink


##= docs/spec/knowledge.md#nodes-and-edges
##% The graph MUST contain files, chunks, symbols, subsystems, specifications, sections, requirements, notes, messages
##% and channels.
def notes_layer(
    catalog: NoteCatalog,
    *,
    requirements: Iterable[str] = (),
    handles: Mapping[str, str] | None = None,
    artifacts: Mapping[str, str] | None = None,
    symbols: Collection[str] = (),
) -> Layer:
    """A node for each note and an edge for each link with an existing target.

    `requirements` are identifiers, `handles` maps handles to identifiers, `artifacts` maps paths to node ids, `symbols`
    are ids such as `src/a.py::Name`.
    """
    identifiers = sorted(set(requirements))
    by_handle = {link_key(handle): identifier for handle, identifier in (handles or {}).items()}
    known_symbols = frozenset(symbols)
    nodes, edges = [], set()
    for note in catalog.notes:
        node = Node("Note", note.slug, {"title": note.title, "path": note.path, "tags": list(note.tags)})
        nodes.append(node)
        for link in note.links:
            target = _target(link, catalog, identifiers, by_handle, artifacts or {}, known_symbols)
            if target is not None and target != node.id:
                edges.add(Edge(node.id, "LINKS_TO", target))
    return Layer(tuple(nodes), tuple(sorted(edges)))


def _target(
    link: NoteLink,
    catalog: NoteCatalog,
    identifiers: list[str],
    by_handle: Mapping[str, str],
    artifacts: Mapping[str, str],
    symbols: frozenset[str],
) -> str | None:
    match link.kind:
        case "note":
            note = catalog.find_link(link)
            return f"Note:{note.slug}" if note else artifacts.get(link.target)
        case "requirement":
            identifier = by_handle.get(link.target) or _only_match(identifiers, link.target)
            return f"Requirement:{identifier}" if identifier else None
        case "file":
            return artifacts.get(link.target.removeprefix("./"))
        case "symbol":
            return f"Symbol:{link.target}" if link.target in symbols else None


def _only_match(identifiers: list[str], prefix: str) -> str | None:
    """The only identifier that starts with `prefix`, or None if there are none or several."""
    first = bisect_left(identifiers, prefix)
    found = [identifier for identifier in identifiers[first : first + 2] if identifier.startswith(prefix)]
    return found[0] if len(found) == 1 or (found and found[0] == prefix) else None
