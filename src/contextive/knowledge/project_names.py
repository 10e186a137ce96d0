"""Everything that the names in one file can refer to in the rest of the project."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextive.knowledge.file_hints import NO_HINTS, FileHints
from contextive.knowledge.imports import resolve_import
from contextive.knowledge.known_paths import KnownPaths
from contextive.knowledge.manifests import go_package
from contextive.knowledge.symbol import Reference, Symbol

DeclaredSymbol = tuple[str, Symbol]
"""A symbol with the path of the file that declares it."""


@dataclass(frozen=True, slots=True)
class SameName:
    """All symbols of the project with one name."""

    declared: tuple[DeclaredSymbol, ...] = ()
    """Sorted by path and line."""
    places: Mapping[tuple[str, str], Symbol] = field(default_factory=dict)
    """The first declaration by path and qualified name."""

    @classmethod
    def of(cls, declared: Iterable[DeclaredSymbol]) -> SameName:
        ordered = sorted(declared, key=lambda item: (item[0], item[1].line_start, item[1].id))
        places: dict[tuple[str, str], Symbol] = {}
        for path, symbol in ordered:
            places.setdefault((path, symbol.qualified_name), symbol)
        return cls(tuple(ordered), places)


MAX_LOOKUPS = 50_000
NOBODY = SameName()


class ProjectNames:
    """The paths, symbols and type hints of a project. Nothing in it changes while files are linked."""

    def __init__(
        self,
        known: KnownPaths,
        symbols: Mapping[str, SameName],
        hints: Callable[[str], FileHints],
        references: Callable[[str], Sequence[Reference]],
        packages: Mapping[str, str],
    ) -> None:
        """`symbols` has a value for every name. `packages` maps the name of a package to the file or folder that is
        imported under this name."""
        self.known = known
        self.symbols = symbols
        self.packages = packages
        self.helpers: dict[str, Any] = {}
        """The calls of helpers of tests, which many tests share. Filled by `calls_of_helper`."""
        self.lookups: dict[Hashable, tuple[Any, frozenset[str]]] = {}
        """Results that files share, each with the names that it depends on. Filled by `TypeResolver.shared`."""
        self._references = references
        self._by_source: dict[str, dict[str | None, list[Reference]]] = {}
        self._hints = hints
        self._cached: dict[str, FileHints] = {}
        self._imports: dict[tuple[str, str], tuple[str, ...]] = {}

    def remember(self, key: Hashable, found: tuple[Any, frozenset[str]]) -> None:
        """Keep the result of a lookup. Large projects start again from time to time, to use less memory."""
        if len(self.lookups) >= MAX_LOOKUPS:
            self.lookups.clear()
        self.lookups[key] = found

    def hints(self, path: str) -> FileHints:
        found = self._cached.get(path)
        if found is None:
            found = self._cached[path] = self._hints(path) if path in self.known.paths else NO_HINTS
        return found

    def references_of(self, symbol_id: str) -> Sequence[Reference]:
        """The references in a symbol."""
        path = symbol_id.partition("::")[0]
        by_source = self._by_source.get(path)
        if by_source is None:
            by_source = self._by_source[path] = {}
            for reference in self._references(path):
                if reference.kind == "call":
                    by_source.setdefault(reference.source, []).append(reference)
        return by_source.get(symbol_id, ())

    def files_of(self, path: str, module: str) -> tuple[str, ...]:
        """The files of a module that is imported by the file at `path`."""
        key = (path, module)
        found = self._imports.get(key)
        if found is None:
            found = go_package(module, self.packages, self.known) if path.endswith(".go") else ()
            found = self._imports[key] = found or resolve_import(path, module, self.known)
        return found
