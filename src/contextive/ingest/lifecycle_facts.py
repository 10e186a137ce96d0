"""Reads from the index and from git what the lifecycle report is computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from contextive.knowledge.artifact import Artifact
from contextive.knowledge.classification import is_test_path
from contextive.knowledge.code_changes import is_significant
from contextive.knowledge.exercised_symbols import is_test_symbol
from contextive.knowledge.graph import Direction, Edge
from contextive.knowledge.lifecycle import CONNECTING_EDGES, ISOLATED_LABELS
from contextive.knowledge.node_ids import artifact_node_id, node_id
from contextive.knowledge.stale_documents import CodePlace
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.visibility import DECLARATION_LINES, function_names, is_hidden
from contextive.store.protocol import Store
from contextive.workspace.git import changed_lines

_FRONTIER = 500
_NEIGHBOURS = 2_000
_PAGE = 1_000
_MAX_DIFFERENCES = 300
"""The number of documents per report whose code is compared line by line; for further ones, whole files count."""
_MAX_CACHED_DIFFERENCES = 1_000
_MAX_DECLARATIONS = 1_000
"""The number of symbols per report whose modifiers are read, the most called first; further ones count as hidden."""


def expand_all(
    store: Store, frontier: Sequence[str], types: Sequence[str], direction: Direction, limit: int = _NEIGHBOURS
) -> Iterator[Edge]:
    """The edges of any number of nodes."""
    for start in range(0, len(frontier), _FRONTIER):
        yield from store.graph.expand(frontier[start : start + _FRONTIER], types, direction, limit)


##= docs/spec/gateway.md#km-lifecycle-report
##% A node MUST be reported as isolated only if it has no edges except to its own parts.
def unconnected_nodes(
    store: Store, artifacts: Iterable[Artifact], symbols: Mapping[str, Sequence[Symbol]]
) -> frozenset[str]:
    """Files and messages without an edge except to their own parts. An edge of a symbol counts for its file."""
    candidates: set[str] = set()
    for label in ISOLATED_LABELS:
        after: str | None = None
        while page := store.graph.unconnected(label, CONNECTING_EDGES, after, _PAGE):
            candidates.update(node.id for node in page)
            after = page[-1].key
    files = {node: a.path for a in artifacts if (node := artifact_node_id(a.path, a.artifact_type)) in candidates}
    parts = {node_id("Symbol", symbol.id): file for file, path in files.items() for symbol in symbols.get(path, ())}
    for edge in expand_all(store, sorted(parts), CONNECTING_EDGES, "both"):
        source, target = parts.get(edge.source), parts.get(edge.target)
        if source != target:
            candidates -= {source, target}
    return frozenset(candidates)


def links_of_documents(store: Store, artifacts: Iterable[Artifact]) -> Iterable[Edge]:
    documents = [artifact_node_id(a.path, a.artifact_type) for a in artifacts if a.artifact_type == "doc"]
    return expand_all(store, documents, ("LINKS_TO",), "outgoing")


@dataclass(frozen=True, slots=True)
class CodeUse:
    """How code is used: by tests, and by other code."""

    tests_of: Mapping[str, Collection[str]]
    """Paths of the tests that exercise a symbol, by the symbol's id."""
    imported_by_tests: Collection[str]
    callers: Mapping[str, int]
    """The number of callers outside of tests, by the symbol's id."""

    @classmethod
    def read(cls, store: Store, artifacts: Iterable[Artifact], symbols: Mapping[str, Sequence[Symbol]]) -> CodeUse:
        tests = sorted(node_id("TestCase", a.path) for a in artifacts if a.artifact_type == "test")
        imports = expand_all(store, tests, ("IMPORTS",), "outgoing")
        imported = {edge.target.partition(":")[2] for edge in imports}
        tests_of: dict[str, set[str]] = {}
        callers: dict[str, int] = {}
        used = [node_id("Symbol", symbol.id) for declared in symbols.values() for symbol in declared]
        for edge in expand_all(store, used, ("CALLS", "EXERCISES"), "incoming"):
            source, target = edge.source.partition(":")[2], edge.target.partition(":")[2]
            if edge.type == "EXERCISES" or is_test_symbol(source):
                tests_of.setdefault(target, set()).add(source.partition("::")[0])
            else:
                callers[target] = callers.get(target, 0) + 1
        return cls(tests_of, imported, callers)


def unlisted_symbols(store: Store, symbols: Mapping[str, Sequence[Symbol]], use: CodeUse) -> frozenset[str]:
    """Of the symbols with callers but without tests, those that are private, and those whose name a test mentions.

    A test that mentions the name may well exercise the symbol in a way that could not be resolved.
    """
    wanted = sorted(
        use.callers.keys() - use.tests_of.keys(), key=lambda symbol_id: (-use.callers[symbol_id], symbol_id)
    )
    unlisted = set(wanted[_MAX_DECLARATIONS:])
    by_path: dict[str, set[str]] = {}
    for symbol_id in wanted[:_MAX_DECLARATIONS]:
        by_path.setdefault(symbol_id.partition("::")[0], set()).add(symbol_id)
    mentions = _TestMentions(store)
    for path, ids in sorted(by_path.items()):
        declared = symbols.get(path, ())
        functions = function_names(declared)
        lines = _lines_of(store, path)
        for symbol in declared:
            if symbol.id in ids:
                start = symbol.line_start
                declaration = "\n".join(lines.get(start + offset, "") for offset in range(DECLARATION_LINES))
                if is_hidden(symbol, functions, declaration) or mentions.has(symbol.name):
                    unlisted.add(symbol.id)
    return frozenset(unlisted)


class _TestMentions:
    """The names that tests mention, including tests inside of source files."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mentioned: dict[str, bool] = {}
        self._known: dict[str, frozenset[str]] = {}

    def has(self, name: str) -> bool:
        if name not in self._mentioned:
            self._mentioned[name] = self._read(name)
        return self._mentioned[name]

    def _read(self, name: str) -> bool:
        paths = self._store.files.paths_referring_to([name])
        return any(map(is_test_path, paths)) or any(name in self._inside(path) for path in paths)

    def _inside(self, path: str) -> frozenset[str]:
        """The names that the tests inside of a Rust file use."""
        if not path.endswith(".rs"):
            return frozenset()
        if path not in self._known:
            references = self._store.files.references(path)
            names = (ref.name.rpartition(".")[2] for ref in references if ref.source and is_test_symbol(ref.source))
            self._known[path] = frozenset(names)
        return self._known[path]


def _lines_of(store: Store, path: str) -> dict[int, str]:
    """The lines of a file by number, from its chunks."""
    lines: dict[int, str] = {}
    for row in store.files.chunks_of(path):
        lines.update(enumerate(row.chunk.text.split("\n"), start=row.chunk.line_start))
    return lines


class ChangesOfCode:
    """Which code changed up to the commit of the index."""

    def __init__(self, root: Path, head: str | None) -> None:
        self._root = root
        self._head = head
        self._count = 0

    def since(self, commit: str, places: Sequence[CodePlace]) -> Sequence[CodePlace]:
        """The places whose code changed. After many comparisons, a place counts as changed when its file is newer."""
        self._count += 1
        if self._head is None or self._count > _MAX_DIFFERENCES:
            return places
        return _changed_places(self._root, commit, self._head, tuple(places))


@lru_cache(maxsize=_MAX_CACHED_DIFFERENCES)
def _changed_places(root: Path, since: str, head: str, places: tuple[CodePlace, ...]) -> tuple[CodePlace, ...]:
    """Two commits never change, so neither does the difference between them."""
    hunks = changed_lines(root, since, head, {place.path for place in places})
    if hunks is None:
        return places
    return tuple(
        place
        for place in places
        if is_significant(
            (hunk.removed, hunk.added) for hunk in hunks.get(place.path, ()) if place.contains(hunk.start, hunk.end)
        )
    )
