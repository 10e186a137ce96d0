"""Bare names: in the scopes around the code, in the file, its imports and its package."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from contextive.knowledge.classification import is_test_path
from contextive.knowledge.file_hints import ALL_MEMBERS, all_members_key
from contextive.knowledge.languages import family_of, language_of
from contextive.knowledge.project_names import DeclaredSymbol
from contextive.knowledge.receivers.values import (
    CLASS_KINDS,
    EXTERNAL,
    MAX_DEPTH,
    MAX_PACKAGE_FILES,
    UNKNOWN,
    Class,
    Collection,
    Function,
    Guessed,
    Instance,
    Module,
    Opaque,
    Value,
    value_of,
)
from contextive.knowledge.symbol import Symbol

if TYPE_CHECKING:
    from contextive.knowledge.receivers.resolver import TypeResolver

_BARE_MEMBERS = frozenset({"java", "c family"})
"""Languages in which a member of the class around the code can be used by its bare name."""


class ScopeLookup:
    """Finds bare names for a resolver."""

    def __init__(self, resolver: TypeResolver) -> None:
        self._resolver = resolver
        self._found: dict[tuple[str, str, str, int], Value] = {}

    def find(self, name: str, path: str, owner: str, depth: int) -> Value:
        """The value of a bare name in the code of `owner` in the file at `path`."""
        if depth > MAX_DEPTH:
            return UNKNOWN
        key = (name, path, owner, depth)
        found = None if self._resolver.is_shared else self._found.get(key)
        if found is None:
            found = self._look_up(name, path, owner, depth)
            if not self._resolver.is_shared:
                self._found[key] = found
        return found

    def _look_up(self, name: str, path: str, owner: str, depth: int) -> Value:
        """The value of a name: from the scopes around the owner, the file, its imports, its package."""
        places = self._resolver.named(name).places
        family = family_of(language_of(path) or "")
        prefix = owner
        while prefix and places:
            symbol = places.get((path, f"{prefix}.{name}"))
            if symbol is not None and (symbol.kind != "method" or prefix == owner or family in _BARE_MEMBERS):
                return value_of(path, symbol)
            prefix = prefix.rpartition(".")[0]
        if family in _BARE_MEMBERS and owner:
            around = self.class_around(path, owner, depth)
            member = self._resolver.members.class_member(around, name, depth) if around else None
            if member is not None and not isinstance(member, Opaque):
                return member
        found = self.file_member(name, path, depth)
        if found is None and family in ("go", "java"):
            found = self._package_member(name, path, depth)
        if found is None and family == "c family":
            found = self._linked(name, owner)
        if found is None and family == "rust":
            found = self._resolver.modules.rust_module(name, path)
        if found is None:
            found = self.from_all_members(name, path, depth)
        if found is not None:
            return found
        return EXTERNAL if name[:1].isupper() and family != "c family" else UNKNOWN

    def file_member(self, name: str, path: str, depth: int) -> Value | None:
        """What a file calls by this name: a symbol, a variable or an import."""
        return self._resolver.shared(("file", name, path, depth), lambda: self._file_member(name, path, depth))

    def _file_member(self, name: str, path: str, depth: int) -> Value | None:
        symbol = self._resolver.named(name).places.get((path, name))
        if symbol is not None:
            return value_of(path, symbol)
        hints = self._resolver.project.hints(path)
        values = hints.values.get(("", name))
        if values is not None:
            return self._resolver.first(values, path, "", depth + 1)
        found: Value | None = None
        for origin in hints.imports.get(name, ()):
            if origin == f"self.{name}":  # `mod name;` in Rust declares a module and imports nothing
                continue
            found = self._resolver.modules.origin(origin, path, depth + 1)
            if not isinstance(found, Opaque):
                return found
        return found

    def _package_member(self, name: str, path: str, depth: int) -> Value | None:
        """A name from another file of the same folder."""
        folder, family = posixpath.dirname(path), family_of(language_of(path) or "")
        for other, symbol in self._resolver.named(name).declared:
            is_member = other != path and symbol.qualified_name == name and posixpath.dirname(other) == folder
            if is_member and family_of(symbol.language) == family:
                return value_of(other, symbol)
        if family == "go":
            return self._variable_of_package(name, self._resolver.project.known.by_folder.get(folder, ()), depth)
        return None

    def _variable_of_package(self, name: str, files: tuple[str, ...], depth: int) -> Value | None:
        for other in files[:MAX_PACKAGE_FILES]:
            if other.endswith(".go") and (values := self._resolver.project.hints(other).values.get(("", name))):
                return self._resolver.first(values, other, "", depth + 1)
        return None

    def _linked(self, name: str, owner: str) -> Value | None:
        """A name of C or C++, where every file can call what another one defines."""
        found: dict[tuple[str, str], Symbol] = {}
        for (path, qualified), symbol in self._resolver.named(name).places.items():
            scope = qualified.rpartition(".")[0]
            is_in_scope = not scope or owner.startswith(f"{scope}.")
            if is_in_scope and symbol.kind != "method" and family_of(symbol.language) == "c family":
                found[path, qualified] = symbol
        if len(found) == 1:
            ((path, _), symbol) = next(iter(found.items()))
            return value_of(path, symbol)
        return None

    def from_all_members(self, name: str, path: str, depth: int) -> Value | None:
        """A name from a module of which all members are imported."""
        return self._resolver.shared(("all", name, path, depth), lambda: self._from_all_members(name, path, depth))

    def _from_all_members(self, name: str, path: str, depth: int) -> Value | None:
        self._resolver.depends_on(all_members_key(path))
        if depth >= MAX_DEPTH:
            return None
        for origin in self._resolver.project.hints(path).imports.get(ALL_MEMBERS, ()):
            module = self._resolver.modules.origin(origin, path, depth + 1)
            if isinstance(module, (Module, Class)):
                found = self._resolver.members.member(module, name, depth + 1)
                if not isinstance(found, Opaque):
                    return found
        return None

    def fixture(self, name: str, path: str) -> DeclaredSymbol | None:
        """A pytest fixture of the file, or of the nearest conftest.py above it."""
        places = self._resolver.named(name).places
        folder = posixpath.dirname(path)
        candidates = [path]
        while places:
            candidates.append(f"{folder}/conftest.py" if folder else "conftest.py")
            if not folder:
                break
            folder = posixpath.dirname(folder)
        for candidate in candidates:
            symbol = places.get((candidate, name))
            if symbol is not None and symbol.kind == "function":
                return candidate, symbol
        return None

    def fixture_value(self, name: str, path: str, depth: int) -> Value:
        """What a fixture returns or yields. If that is unknown, its name may be the name of a class."""
        found = self.fixture(name, path)
        result = self._resolver.result(Function(*found), depth) if found is not None else UNKNOWN
        result = result.element if isinstance(result, Collection) else result
        return self.class_called(name, path) if result is UNKNOWN else result

    def class_called(self, parameter: str, path: str) -> Value:
        """An instance of the only class that has the name of a parameter: `sql_query` is an SqlQuery."""
        name = "".join(part[:1].upper() + part[1:] for part in parameter.split("_"))
        declared = [item for item in self.visible(name, path) if item[1].kind in CLASS_KINDS]
        return Guessed(Instance(Class(*declared[0]))) if len(declared) == 1 else UNKNOWN

    def visible(self, name: str, path: str) -> list[DeclaredSymbol]:
        """The symbols with this name that a file could use: code does not use what only tests declare."""
        family = family_of(language_of(path) or "")
        declared = [item for item in self._resolver.named(name).declared if family_of(item[1].language) == family]
        return declared if is_test_path(path) else [item for item in declared if not is_test_path(item[0])]

    def class_around(self, path: str, owner: str, depth: int) -> Class | None:
        """The class in whose code the owner is. Its own declaration may be in another file."""
        prefix = owner
        while prefix:
            name = prefix.rpartition(".")[2]
            symbol = self._resolver.named(name).places.get((path, prefix))
            if symbol is not None and symbol.kind in CLASS_KINDS:
                return Class(path, symbol)
            prefix = prefix.rpartition(".")[0]
            if symbol is None and prefix == "" and name != owner:
                found = self.find(name, path, "", depth + 1)
                return found if isinstance(found, Class) else None
        return None
