"""Resolves imports, calls, tests and document links between files; after a change, only those it may affect."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from contextive.ingest.settings import IngestProgress
from contextive.knowledge.artifact import ParsedArtifact
from contextive.knowledge.artifact_layers import ResolvedReferences, link_layer
from contextive.knowledge.calls import resolve_calls
from contextive.knowledge.classification import is_test_path
from contextive.knowledge.exercised_symbols import resolve_exercises
from contextive.knowledge.file_hints import FileHints, changed_names
from contextive.knowledge.graph import Layer
from contextive.knowledge.imports import import_keys, resolve_imports
from contextive.knowledge.known_paths import KnownPaths
from contextive.knowledge.manifests import MANIFESTS, package_keys, packages_of
from contextive.knowledge.node_ids import artifact_node_id
from contextive.knowledge.project_names import NOBODY, DeclaredSymbol, ProjectNames, SameName
from contextive.knowledge.receivers import TypeResolver
from contextive.knowledge.resolved_links import resolve_links
from contextive.knowledge.symbol import Reference, Symbol, last_part
from contextive.store.protocol import Store

_BATCH_FILES = 256


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
        self.names |= changed_names(path, () if is_new else store.files.hints(path), parsed.hints)
        if parsed.artifact.artifact_type == "test" and not is_new:
            self.names |= _changed_helpers(store.files.references(path), parsed.references)
        self.paths.add(path)
        self.removed.discard(path)
        if is_new:
            self.names |= path_keys(path)

    def remove(self, store: Store, path: str) -> None:
        """Record a file that no longer exists."""
        self.names |= {symbol.name for _, symbol in store.files.symbols(path)}
        self.names |= changed_names(path, store.files.hints(path), ())
        self.names |= path_keys(path)
        self.paths.discard(path)
        self.removed.add(path)


def path_keys(path: str) -> set[str]:
    """The last parts (see `last_part`) of all references that may refer to the file at this path."""
    name = posixpath.basename(path)
    return {name.rpartition(".")[2], name, "*", *import_keys(path)}


class Linker:
    """Resolves the references in files to the symbols and paths in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def link(self, changes: LinkChanges | None, progress: IngestProgress) -> None:
        """Resolve the links of every file that the changes may affect, or of all files if `changes` is None."""
        rows = {row.artifact.path: row.artifact for row in self._store.files.artifacts()}
        ids = {path: artifact_node_id(path, artifact.artifact_type) for path, artifact in rows.items()}
        known = KnownPaths.of(rows)
        packages = packages_of(hint for path in _manifests(known) for hint in self._store.files.hints(path))
        affected = sorted(rows if changes is None else self._affected(changes, packages) & rows.keys())
        symbols = _SymbolCache(self._store)
        if 2 * len(affected) > len(rows):
            symbols.load_all()
        references: dict[str, Sequence[Reference]] = {}
        project = ProjectNames(
            known,
            symbols,
            self._hints,
            lambda path: references.get(path) or self._store.files.references(path),
            packages,
        )
        for start in range(0, len(affected), _BATCH_FILES):
            batch = affected[start : start + _BATCH_FILES]
            references.clear()
            references.update((path, self._store.files.references(path)) for path in batch)
            symbols.load(name for group in references.values() for name in _last_parts(group))
            linked = [(path, *_resolve(path, refs, project, ids)) for path, refs in references.items()]
            with self._store.transaction() as writer:
                for path, layer, names in linked:
                    writer.put_links(path, layer, names)
            progress("link", start + len(batch), len(affected))

    def _affected(self, changes: LinkChanges, packages: Mapping[str, str]) -> set[str]:
        """The changed files, and those whose links depend on a changed name."""
        names = set(changes.names)
        for path in changes.paths | changes.removed:
            names |= package_keys(path, packages)
        return changes.paths | self._store.files.paths_referring_to(names)

    def _hints(self, path: str) -> FileHints:
        return FileHints.of(self._store.files.hints(path))


class _SymbolCache(dict[str, SameName]):
    """The symbols of the store by name, read when they are first needed."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._has_all = False

    def __missing__(self, name: str) -> SameName:
        self.load([name])
        return self.setdefault(name, NOBODY)

    def load(self, names: Iterable[str]) -> None:
        """Read the symbols with these names at once."""
        if self._has_all:
            return
        missing = {name for name in names if name not in self}
        if missing:
            self.update(dict.fromkeys(missing, NOBODY))
            self._add(self._store.files.symbols_named(missing))

    def load_all(self) -> None:
        self._add(self._store.files.symbols())
        self._has_all = True

    def _add(self, declared: Iterable[DeclaredSymbol]) -> None:
        by_name: dict[str, list[DeclaredSymbol]] = {}
        for path, symbol in declared:
            by_name.setdefault(symbol.name, []).append((path, symbol))
        self.update({name: SameName.of(same) for name, same in by_name.items()})


def _resolve(
    path: str, references: Sequence[Reference], project: ProjectNames, ids: Mapping[str, str]
) -> tuple[Layer, set[str]]:
    """The edges from a file to others, and the names on which they depend besides the references of the file."""
    resolver = TypeResolver(path, project)
    calls = resolve_calls(references, resolver)
    links = resolve_links(path, references, project.known, lambda name: project.symbols[name].declared)
    resolved = ResolvedReferences(
        imports=resolve_imports(path, references, project.known),
        calls=calls,
        exercises=resolve_exercises(path, references, calls, resolver),
        links=() if is_test_path(path) else tuple(links),
    )
    return link_layer(path, resolved, ids), resolver.names - _last_parts(references)


def _last_parts(references: Iterable[Reference]) -> set[str]:
    names = {reference.name for reference in references}  # a file uses most names several times
    return {last_part(name) for name in names}


def _manifests(known: KnownPaths) -> Iterator[str]:
    for name in MANIFESTS:
        yield from known.by_name.get(name, ())


def _changed_helpers(before: Iterable[Reference], after: Iterable[Reference]) -> set[str]:
    """The names of symbols of a test file whose calls differ. Tests exercise what such helpers call."""
    changed = {(item.name, item.receiver, item.source) for item in before if item.kind == "call"} ^ {
        (item.name, item.receiver, item.source) for item in after if item.kind == "call"
    }
    return {last_part(source.partition("::")[2].partition("#")[0]) for _, _, source in changed if source}


def _link_key(symbol: Symbol) -> tuple[str, str, str, str]:
    """The properties of a symbol that links depend on; line numbers are not among them."""
    return symbol.id, symbol.qualified_name, symbol.kind, symbol.language
