"""Files without a subsystem that are connected to one.

Documents and tests get a subsystem only from the catalog or from their front matter. Without either, a test still
exercises the code of a subsystem, and a document or a note links to it. A subsystem filter includes these files too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from contextive.knowledge.graph import Node
from contextive.store.protocol import Store
from contextive.store.values import AsOf

MEMBERSHIP: Final = ("BELONGS_TO", "DESCRIBES", "VALIDATES")
SUBSYSTEM_EDGES: Final = ("IMPORTS", "EXERCISES", "LINKS_TO")
"""Edges from a file to what it is about."""
MAX_MEMBERS: Final = 5_000
MAX_SYMBOLS: Final = 200
"""Symbols considered per file."""
MAX_CONNECTED: Final = 100
"""Edges followed per node."""
MAX_FILES: Final = 1_000
_FILES: Final = frozenset({"SourceFile", "DesignDoc", "TestCase", "ConfigFile", "Artifact"})


class SubsystemMembers:
    """Finds such files, and caches them until the index changes. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: tuple[AsOf, dict[tuple[str, ...], tuple[str, ...]]] | None = None

    ##= docs/spec/knowledge.md#km-search-requests
    ##% A file without a subsystem MUST pass a subsystem filter if it imports, exercises or links to something in that
    ##% subsystem.
    def unassigned_files(self, names: Sequence[str], as_of: AsOf) -> tuple[str, ...]:
        """The paths of files without a subsystem that have an edge to something in these subsystems."""
        known = self._known
        if known is None or known[0] != as_of:
            known = self._known = (as_of, {})
        key = tuple(sorted({name.casefold() for name in names}))
        if key not in known[1]:
            known[1][key] = self._read(key)
        return known[1][key]

    def _read(self, names: Sequence[str]) -> tuple[str, ...]:
        store = self._store
        subsystems = [node.id for name in names for node in store.graph.nodes_keyed("Subsystem", name)]
        if not subsystems:
            return ()
        members = sorted({edge.source for edge in store.graph.expand(subsystems, MEMBERSHIP, "incoming", MAX_MEMBERS)})
        symbols = {edge.target for edge in store.graph.expand(members, ("DECLARES_SYMBOL",), "outgoing", MAX_SYMBOLS)}
        inside = {*members, *symbols}
        leading = {
            edge.source for edge in store.graph.expand(sorted(inside), SUBSYSTEM_EDGES, "incoming", MAX_CONNECTED)
        }
        found = {
            path
            for node in store.graph.nodes(sorted(leading - inside)).values()
            if (path := self._unassigned_path(node))
        }
        return tuple(sorted(found)[:MAX_FILES])

    def _unassigned_path(self, node: Node) -> str | None:
        """The path of a file or a note, unless it has a subsystem."""
        path = node.properties.get("path")
        if not isinstance(path, str):
            return None
        if node.label in _FILES:
            return None if node.properties.get("subsystem") else path
        row = self._store.files.artifact(path) if node.label == "Note" else None
        return path if row is not None and row.artifact.subsystem is None else None
