"""The packages of a project: which directory starts one, and how it is named.

A crate is named by its Cargo.toml, a JavaScript package by its package.json, a Go package by its import path, a Java or
Python package by its dotted name. Code outside of all of them belongs to its top directory, or to the directory below
`src`. A crate or JavaScript package in the root of the project, or the only one of its kind, is divided once more by its
directories of code: otherwise most of the project would have a single name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from contextive.knowledge.artifact import ArtifactType
from contextive.knowledge.classification import DOC_FOLDERS, TEST_FOLDERS, artifact_type_of
from contextive.knowledge.languages import suffix_of
from contextive.knowledge.manifests import crate_name, go_module, npm_name
from contextive.knowledge.support_code import SUPPORT_FOLDERS, SUPPORT_TOP_FOLDERS, is_support_name

MAX_MANIFESTS: Final = 2_000
_MAX_NAME: Final = 200
UnitKind = Literal["rust", "go", "npm"]
_UNIT_SUFFIXES: Final[Mapping[UnitKind, frozenset[str]]] = {
    "rust": frozenset({"rs"}),
    "go": frozenset({"go"}),
    "npm": frozenset({"ts", "tsx", "cts", "mts", "js", "jsx", "mjs", "cjs", "vue", "svelte"}),
}
_KIND_OF_SUFFIX: Final = {suffix: kind for kind, suffixes in _UNIT_SUFFIXES.items() for suffix in suffixes}
_SEPARATORS: Final[Mapping[UnitKind, str]] = {"rust": "::", "go": "/", "npm": "/"}
_SEPARATOR = re.compile(r"::|[./]")
_PYTHON: Final = frozenset({"py", "pyi", "pyx"})
_MARKUP: Final = frozenset({"html", "htm", "css", "scss", "sass", "less"})
"""Files that make no package: they are the assets of the code around them."""
_JVM: Final = frozenset({"java", "kt", "scala", "groovy"})
_JVM_FOLDERS: Final = ("java", "kotlin", "scala", "groovy")
_SOURCE_ROOTS: Final = frozenset({"src", "lib", "source", "sources", "python"})
"""Directories that contain packages and are none."""
_CONTAINERS: Final = frozenset({"apps", "cmd", "crates", "internal", "libs", "modules", "packages", "pkg", "services"})
"""Top directories whose directories are the parts of the project."""
_NOT_PACKAGES: Final = TEST_FOLDERS | SUPPORT_FOLDERS | {"__pycache__", "alembic", "bin", "migrations"}
"""Directories whose code belongs to the package around them."""
_NOT_SOURCE_FOLDERS: Final = DOC_FOLDERS | SUPPORT_TOP_FOLDERS | _NOT_PACKAGES | {
    "assets", "coverage", "htmlcov", "public", "spec", "specs", "static",
}  # fmt: skip
"""Directories in the root of a project that are in no package, unless they have a manifest."""


@dataclass(frozen=True, slots=True)
class Packages:
    """The names of packages by the directory in which they start."""

    names: Mapping[str, str] = field(default_factory=dict)
    root: Mapping[str, str] = field(default_factory=dict)
    """The packages in the root of the project, by kind. They own the code of their kind that no other package owns."""
    loose: frozenset[str] = frozenset()
    """Directories that are packages only because they contain code. Documents in them describe anything."""

    def folder_of(self, path: str, artifact_type: ArtifactType) -> str | None:
        """The directory of the innermost package around a file. A document in a folder for documents is in none."""
        folder = posixpath.dirname(path)
        while folder:
            if folder in self.names and not (artifact_type == "doc" and folder in self.loose):
                return folder
            folder, _, last = folder.rpartition("/")
            if artifact_type == "doc" and last.lower() in DOC_FOLDERS:
                return None
        return None

    def name_of(self, path: str, artifact_type: ArtifactType) -> str | None:
        """The name of the innermost package that a file belongs to."""
        if folder := self.folder_of(path, artifact_type):
            return self.names[folder]
        if artifact_type not in ("code", "proto", "test") or path.partition("/")[0].lower() in _NOT_SOURCE_FOLDERS:
            return None
        return self.root.get(_KIND_OF_SUFFIX.get(suffix_of(path), ""))


def outer_names(name: str) -> Iterator[str]:
    """The names of the packages that a package is nested in, by its name alone, the innermost first."""
    ends = [found.start() for found in _SEPARATOR.finditer(name)]
    return (name[:end] for end in reversed(ends) if end)


def last_name(name: str) -> str:
    """The part of a package's name after the last separator."""
    return _SEPARATOR.split(name)[-1]


##= docs/spec/knowledge.md#file-metadata
##% A package MUST have the name under which other code knows it: that of its crate, its package.json, its import path
##% in Go, or its dotted name in Java and Python.
def find_packages(paths: Iterable[str], manifests: Mapping[str, str]) -> Packages:
    """The packages of a project, from the paths of its files and the texts of its manifests by path."""
    finder = _PackageFinder(_units(manifests))
    code = _code_folders(paths)
    finder.initialised = {folder for folder, kinds in code.items() if "__init__" in kinds}
    for folder, kinds in code.items():
        finder.add_language_package(folder, kinds)
    finder.divide_large_units(code)
    for folder, kinds in code.items():
        finder.add_top_directory(folder, kinds)
    return finder.packages()


@dataclass(frozen=True, slots=True)
class _Unit:
    """A directory with a manifest."""

    name: str
    kind: UnitKind


@dataclass(frozen=True, slots=True)
class _Found:
    """A package: its name, and the directory that tells it from another one of the same name."""

    name: str
    qualifier: str

    @property
    def qualified_name(self) -> str:
        if not self.qualifier or self.qualifier.endswith(f"/{self.name}"):
            return self.qualifier or self.name
        return f"{self.qualifier}/{self.name}"


class _PackageFinder:
    """Collects the packages of a project by directory."""

    def __init__(self, units: Mapping[str, tuple[_Unit, ...]]) -> None:
        self._units = units
        self._found: dict[str, _Found] = {
            folder: _Found(those[0].name, folder) for folder, those in units.items() if folder
        }
        self._loose: set[str] = set()
        self.initialised: set[str] = set()
        """Directories with an `__init__.py`."""

    def add_language_package(self, folder: str, suffixes: frozenset[str]) -> None:
        """Add the package that the language of some files in a directory defines, if it does."""
        if any(part.lower() in _NOT_PACKAGES for part in folder.split("/")[1:]):
            return
        if not suffixes.isdisjoint(_PYTHON):
            self._add_python(folder)
        if not suffixes.isdisjoint(_JVM):
            self._add_jvm(folder)
        if "go" in suffixes:
            self._add_go(folder)

    def _add_python(self, folder: str) -> None:
        packages = [above for above in _and_above(folder) if above in self.initialised]
        while packages and posixpath.basename(packages[-1]).lower() in {"", *_SOURCE_ROOTS}:
            packages.pop()
        if not packages:
            self._add_plain_python(folder)
        elif not _is_outside_source(packages[-1]):
            above = posixpath.dirname(packages[-1])
            self._found[folder] = _Found(folder[len(above) :].lstrip("/").replace("/", "."), above)

    def _add_plain_python(self, folder: str) -> None:
        """A directory of modules without `__init__.py`."""
        root, below = _split_at_root(folder)
        is_contained = folder.partition("/")[0].lower() in _CONTAINERS
        if below and not (is_contained or _is_outside_source(folder)) and self._unit_above(folder) is None:
            self._found.setdefault(folder, _Found(below.replace("/", "."), root))

    def _add_jvm(self, folder: str) -> None:
        parts = folder.split("/")
        at = next((i for i, part in enumerate(parts) if part in _JVM_FOLDERS and parts[i - 2 : i - 1] == ["src"]), None)
        if at is not None and parts[at + 1 :]:
            module = "/".join(parts[: at - 2])
            found = _Found(".".join(parts[at + 1 :]), module)
            tests = "/".join([*parts[: at - 1], "test", *parts[at:]])
            self._found[folder] = self._found[tests] = found
        elif at is None and not _is_outside_source(folder):
            root, below = _split_at_root(folder)
            if below:
                self._found.setdefault(folder, _Found(below.replace("/", "."), root))

    def _add_go(self, folder: str) -> None:
        for above in _and_above(folder):
            for unit in self._units.get(above, ()):
                if unit.kind == "go":
                    below = folder[len(above) :].lstrip("/")
                    if below and (below in DOC_FOLDERS or not _is_outside_source(below)):
                        self._found.setdefault(folder, _Found(f"{unit.name}/{below}", above))
                    return
        if not _is_outside_source(folder) and (name := _split_at_root(folder)[1]):
            self._found.setdefault(folder, _Found(name, ""))

    def _unit_above(self, folder: str) -> str | None:
        """The innermost directory above the root of the project that has a manifest."""
        return next((above for above in _and_above(folder) if above and above in self._units), None)

    def divide_large_units(self, code: Mapping[str, frozenset[str]]) -> None:
        """Divide a crate or JavaScript package that is the only one, or in the root, by its directories of code."""
        for kind in ("rust", "npm"):
            of_kind = [
                (folder, unit)
                for folder, those in self._units.items()
                for unit in those
                if unit.kind == kind and not (is_support_name(last_name(unit.name)) or _is_support_folder(folder))
            ]
            for folder, unit in of_kind:
                if not folder or len(of_kind) == 1:
                    self._divide(folder, unit, code)

    def _divide(self, top: str, unit: _Unit, code: Mapping[str, frozenset[str]]) -> None:
        start = f"{top}/" if top else ""
        for folder, suffixes in code.items():
            if not folder.startswith(start) or suffixes.isdisjoint(_UNIT_SUFFIXES[unit.kind]):
                continue
            if any(above in self._found and above != top for above in _and_above(folder)):
                continue
            parts = folder[len(start) :].split("/")
            roots = _leading_roots(parts)
            inner = parts[roots : roots + 1]
            if inner and inner[0] and not _is_outside_source(inner[0]):
                name = f"{unit.name}{_SEPARATORS[unit.kind]}{inner[0]}"
                self._add_loose(start + "/".join(parts[: roots + 1]), _Found(name, top))

    def add_top_directory(self, folder: str, suffixes: frozenset[str]) -> None:
        """Name a directory of code that is in no package after its top directory."""
        if not folder or any(above in self._found for above in _and_above(folder)):
            return
        in_root = {unit.kind for unit in self._units.get("", ())}
        if all(_KIND_OF_SUFFIX.get(suffix) in in_root for suffix in suffixes) or _is_outside_source(folder):
            return
        parts = folder.split("/")
        roots = _leading_roots(parts)
        named = parts[roots : roots + 2 if parts[roots:] and parts[roots].lower() in _CONTAINERS else roots + 1]
        if named:
            self._add_loose("/".join(parts[: roots + len(named)]), _Found("/".join(named), ""))

    def _add_loose(self, folder: str, found: _Found) -> None:
        self._found[folder] = found
        self._loose.add(folder)

    def packages(self) -> Packages:
        """All packages. Of several with the same name, those in a directory of their own get it as a prefix."""
        places: dict[str, set[str]] = {}
        for found in self._found.values():
            places.setdefault(found.name.casefold(), set()).add(found.qualifier)
        names = {
            folder: found.name if len(places[found.name.casefold()]) == 1 else found.qualified_name
            for folder, found in sorted(self._found.items())
        }
        root = {unit.kind: unit.name for unit in self._units.get("", ())}
        return Packages(names, dict(sorted(root.items())), frozenset(self._loose))


def _code_folders(paths: Iterable[str]) -> dict[str, frozenset[str]]:
    """The suffixes of the code in each directory, and `__init__` for a Python package."""
    found: dict[str, set[str]] = {}
    for path in paths:
        folder, name = posixpath.split(path)
        suffix = suffix_of(name)
        kinds = found.setdefault(folder, set())
        if name == "__init__.py":
            kinds.add("__init__")
        if suffix and suffix not in kinds and suffix not in _MARKUP and artifact_type_of(path) in ("code", "proto"):
            kinds.add(suffix)
    return {folder: frozenset(kinds) for folder, kinds in sorted(found.items()) if kinds}


def _units(manifests: Mapping[str, str]) -> dict[str, tuple[_Unit, ...]]:
    """The manifests that name something, by directory."""
    found: dict[str, list[_Unit]] = {}
    for path, text in sorted(manifests.items()):
        folder, file_name = posixpath.split(path)
        kind, read_name = _MANIFESTS[file_name]
        if name := _printable(read_name(text) or ""):
            found.setdefault(folder, []).append(_Unit(name, kind))
    return {folder: tuple(those) for folder, those in found.items()}


_MANIFESTS: Final[Mapping[str, tuple[UnitKind, Callable[[str], str | None]]]] = {
    "Cargo.toml": ("rust", crate_name),
    "go.mod": ("go", go_module),
    "package.json": ("npm", npm_name),
}
MANIFEST_NAMES: Final = frozenset(_MANIFESTS)


def _printable(name: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in name[:_MAX_NAME]).split())


def _and_above(folder: str) -> Iterator[str]:
    """A directory and all those above it, the innermost first, with the root of the project as an empty string."""
    yield folder
    while folder:
        folder = posixpath.dirname(folder)
        yield folder


def _split_at_root(folder: str) -> tuple[str, str]:
    """The directories up to the last one that contains packages, and those below it."""
    parts = folder.split("/")
    end = next((at for at in range(len(parts), 0, -1) if parts[at - 1].lower() in _SOURCE_ROOTS), 0)
    return "/".join(parts[:end]), "/".join(parts[end:])


def _leading_roots(parts: Sequence[str]) -> int:
    return next((count for count, part in enumerate(parts) if part.lower() not in _SOURCE_ROOTS), len(parts))


def _is_outside_source(folder: str) -> bool:
    """Whether the first directory that names something is not one for the code of packages."""
    parts = folder.split("/")
    first = next(iter(parts[_leading_roots(parts) :]), "").lower()
    return first in _NOT_SOURCE_FOLDERS or is_support_name(first)


def _is_support_folder(folder: str) -> bool:
    return any(is_support_name(part) for part in folder.split("/") if part)
