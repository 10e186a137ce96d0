"""Resolves imports, calls, tests and document links between files; after a change, only those it may affect."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contextive.ingest.settings import IngestProgress
from contextive.knowledge.artifact import ParsedArtifact
from contextive.knowledge.artifact_layers import ResolvedReferences, link_layer
from contextive.knowledge.calls import resolve_calls
from contextive.knowledge.exercised_symbols import resolve_exercises
from contextive.knowledge.graph import Layer
from contextive.knowledge.imports import import_keys, resolve_imports
from contextive.knowledge.known_paths import KnownPaths
from contextive.knowledge.node_ids import artifact_node_id
from contextive.knowledge.symbol import Reference, Symbol
from contextive.store.protocol import Store

_BATCH_FILES = 256

DeclaredSymbol = tuple[str, Symbol]


@dataclass(slots=True)
class LinkChanges:
    """The changes in a run that may affect links."""

    paths: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    """Symbol names that were added, changed or removed, and the `path_keys` of added and removed files."""

    def __bool__(self) -> bool:
        return bool(self.paths or self.removed)

    def change(self, store: Store, parsed: ParsedArtifact, *, is_new: bool) -> None:
        """Record a new or changed file."""
        path = parsed.artifact.path
        before = {} if is_new else {symbol.id: symbol for _, symbol in store.files.symbols(path)}
        after = {symbol.id: symbol for symbol in parsed.symbols}
        for symbol_id in before.keys() | after.keys():
            old, new = before.get(symbol_id), after.get(symbol_id)
            if old is None or new is None or _link_key(old) != _link_key(new):
                self.names.add((old or new).name)  # type: ignore[union-attr]
        self.paths.add(path)
        self.removed.discard(path)
        if is_new:
            self.names |= path_keys(path)

    def remove(self, store: Store, path: str) -> None:
        """Record a file that no longer exists."""
        self.names |= {symbol.name for _, symbol in store.files.symbols(path)}
        self.names |= path_keys(path)
        self.paths.discard(path)
        self.removed.add(path)


def path_keys(path: str) -> set[str]:
    """The last parts (see `last_part`) of all references that may refer to the file at this path."""
    name = posixpath.basename(path)
    return {name.rpartition(".")[2], name, *import_keys(path)}


class Linker:
    """Resolves the references in files to the symbols and paths in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def link(self, changes: LinkChanges | None, progress: IngestProgress) -> None:
        """Resolve the links of every file that the changes may affect, or of all files if `changes` is None."""
        rows = {row.artifact.path: row.artifact for row in self._store.files.artifacts()}
        ids = {path: artifact_node_id(path, artifact.artifact_type) for path, artifact in rows.items()}
        known = KnownPaths.of(rows)
        if changes is None:
            affected = sorted(rows)
            named = _by_name(self._store.files.symbols())
        else:
            affected = sorted((changes.paths | self._store.files.paths_referring_to(changes.names)) & rows.keys())
            named = None
        for start in range(0, len(affected), _BATCH_FILES):
            batch = affected[start : start + _BATCH_FILES]
            references = {path: self._store.files.references(path) for path in batch}
            by_name = named if named is not None else self._symbols_by_name(references.values())
            layers = [
                (path, link_layer(path, _resolve(path, refs, known, by_name, rows[path].artifact_type == "test"), ids))
                for path, refs in references.items()
            ]
            with self._store.transaction() as writer:
                for path, layer in layers:
                    writer.put_layer(f"links:{path}", layer)
                if start == 0 and changes is not None:
                    for path in sorted(changes.removed):
                        writer.put_layer(f"links:{path}", Layer())
            progress("link", start + len(batch), len(affected))
        if not affected and changes is not None and changes.removed:
            with self._store.transaction() as writer:
                for path in sorted(changes.removed):
                    writer.put_layer(f"links:{path}", Layer())

    def _symbols_by_name(self, references: Iterable[Sequence[Reference]]) -> Mapping[str, list[DeclaredSymbol]]:
        names = {last_part(reference.name) for group in references for reference in group}
        return _by_name(self._store.files.symbols_named(names))


def last_part(name: str) -> str:
    """The part of a reference after the last dot or slash, which is its lookup key."""
    return name[max(name.rfind("."), name.rfind("/")) + 1 :]


def _resolve(
    path: str,
    references: Sequence[Reference],
    known: KnownPaths,
    by_name: Mapping[str, Sequence[DeclaredSymbol]],
    is_test: bool,
) -> ResolvedReferences:
    imported = resolve_imports(path, references, known)
    exercised: tuple[str, ...] = ()
    if is_test:
        names = {last_part(reference.name) for reference in references if reference.kind == "mention"}
        candidates = [declared for name in sorted(names) for declared in by_name.get(name, ())]
        exercised = resolve_exercises(path, references, candidates)
    return ResolvedReferences(
        imports=imported,
        calls=resolve_calls(path, references, imported, by_name),
        exercises=exercised,
        links=() if is_test else tuple(_links(references, known, by_name)),
    )


def _links(
    references: Iterable[Reference], known: KnownPaths, by_name: Mapping[str, Sequence[DeclaredSymbol]]
) -> Iterable[str]:
    """Files and symbols that a document links to or mentions. Ambiguous names are skipped."""
    for reference in references:
        if reference.kind not in ("link", "mention"):
            continue
        if reference.name in known.paths:
            yield reference.name
        elif reference.kind == "mention":
            wanted = reference.name.replace("::", ".").replace("#", ".")
            candidates = [
                symbol
                for _, symbol in by_name.get(last_part(wanted), ())
                if symbol.qualified_name == wanted or symbol.qualified_name.endswith(f".{wanted}")
            ]
            if len(candidates) == 1:
                yield candidates[0].id


def _by_name(symbols: Iterable[DeclaredSymbol]) -> dict[str, list[DeclaredSymbol]]:
    found: dict[str, list[DeclaredSymbol]] = {}
    for path, symbol in symbols:
        found.setdefault(symbol.name, []).append((path, symbol))
    for declared in found.values():
        declared.sort(key=lambda item: (item[0], item[1].line_start, item[1].id))
    return found


def _link_key(symbol: Symbol) -> tuple[str, str, str, str]:
    """The properties of a symbol that links depend on; line numbers are not among them."""
    return symbol.id, symbol.qualified_name, symbol.kind, symbol.language
