"""Modules, packages and crates: what an import refers to, and the members of a module."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from contextive.knowledge.file_hints import ALL_MEMBERS
from contextive.knowledge.languages import family_of, language_of
from contextive.knowledge.receivers.values import (
    EXTERNAL,
    MAX_DEPTH,
    MAX_PACKAGE_FILES,
    UNKNOWN,
    Class,
    Module,
    Opaque,
    Value,
)
from contextive.knowledge.rust_modules import child_modules, crate_root, parent_module
from contextive.knowledge.symbol import last_part

if TYPE_CHECKING:
    from contextive.knowledge.receivers.resolver import TypeResolver


class ModuleLookup:
    """Finds modules and their members for a resolver."""

    def __init__(self, resolver: TypeResolver) -> None:
        self._resolver = resolver

    def origin(self, origin: str, path: str, depth: int) -> Value:
        """What an import refers to."""
        if depth > MAX_DEPTH:
            return UNKNOWN
        if language_of(path) == "rust":
            return self._rust_path(origin, path, depth)
        module_name, _, member = origin.partition(":")
        files = self._resolver.project.files_of(path, module_name)
        self._resolver.depends_on(last_part(module_name))
        if language_of(path) == "java" and len(files) == 1 and not member:
            return self._resolver.scopes.file_member(last_part(module_name), files[0], depth) or UNKNOWN
        module = Module(files, module_name, path)
        if not member or member == ALL_MEMBERS:
            return module if files or language_of(path) == "python" else EXTERNAL
        return self.member(module, member, depth)

    def member(self, module: Module, name: str, depth: int) -> Value:
        if depth > MAX_DEPTH:
            return UNKNOWN
        family = family_of(language_of(module.importer) or "")
        if family == "java" and len(module.files) == 1:
            outer = self._resolver.scopes.file_member(
                posixpath.basename(module.files[0]).partition(".")[0], module.files[0], depth
            )
            return self._resolver.members.member(outer, name, depth) if isinstance(outer, Class) else UNKNOWN
        for path in module.files[:MAX_PACKAGE_FILES]:
            found = self._resolver.scopes.file_member(name, path, depth)
            if found is not None:
                return found
        if family == "python":
            separator = "/" if "/" in module.name else "."
            inner = self.origin(f"{module.name}{separator}{name}", module.importer, depth)
            if isinstance(inner, Module) and inner.files:
                return inner
        elif family == "rust" and len(module.files) == 1:
            self._resolver.depends_on(name)
            for child in child_modules(module.files[0], name):
                if child in self._resolver.project.known.paths:
                    return Module((child,), name, child)
        elif family == "ecmascript" and name == "default" and module.files:
            return module
        for path in module.files[:MAX_PACKAGE_FILES]:
            found = self._resolver.scopes.from_all_members(name, path, depth)
            if found is not None:
                return found
        return UNKNOWN if module.files else EXTERNAL

    def module_at(self, path: str | None, name: str, importer: str) -> Value:
        return Module((path,), name, importer) if path is not None else EXTERNAL

    def _rust_path(self, origin: str, path: str, depth: int) -> Value:
        """The item at a dotted path, as `use` names it."""
        first, *rest = origin.split(".")
        known = self._resolver.project.known
        value: Value
        match first:
            case "crate":
                value = self.module_at(crate_root(path, known), first, path)
            case "super":
                value = self.module_at(parent_module(path, known), first, path)
            case "self":
                value = Module((path,), first, path)
            case _:
                value = (
                    self._crate(first)
                    if first in self._resolver.project.packages
                    else self._own_item(first, path, depth)
                )
        self._resolver.depends_on(first)
        for part in rest:
            if isinstance(value, Opaque):
                break
            value = self._resolver.members.member(value, part, depth)
        return value

    def rust_module(self, name: str, path: str) -> Value | None:
        """A crate, or a module that the file declares."""
        if name == "crate":
            return self.module_at(crate_root(path, self._resolver.project.known), name, path)
        if name in self._resolver.project.packages:
            return self._crate(name)
        child = self._resolver.project.known.exact(child_modules(path, name))
        return Module((child,), name, child) if child else None

    def _crate(self, name: str) -> Value:
        root = self._resolver.project.packages[name]
        return Module((root,), name, root)

    def _own_item(self, name: str, path: str, depth: int) -> Value:
        """The first part of a path that is neither a keyword nor a crate: an item of the file that uses it."""
        imports = self._resolver.project.hints(path).imports.get(name, ())
        origins = [origin for origin in imports if origin != f"self.{name}"]
        others = [origin for origin in origins if origin.partition(".")[0] != name]
        if others:
            return self.origin(others[0], path, depth + 1)
        found = self.member(Module((path,), "self", path), name, depth + 1) if not origins else EXTERNAL
        return EXTERNAL if isinstance(found, Opaque) else found
