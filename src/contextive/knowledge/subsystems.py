"""Subsystems, read from a catalog file or inferred from the directories of the code.

A catalog is a JSON object that maps names to descriptions. A catalog or an entry that cannot be read only causes a
warning. Without a catalog the directories decide: below a package (a *source prefix*) every directory is a subsystem,
and a file directly in the package belongs to a subsystem with the name of the package.

Source prefixes are the packages named in pyproject.toml and the directories below `src`. A project with neither uses
all top-level directories with code, except those for documents, tests, examples and tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final

from contextive.errors import ParseError
from contextive.knowledge.classification import DOC_FOLDERS, TEST_FOLDERS, artifact_type_of
from contextive.toml.reader import read_toml

CATALOG_PATHS: Final = (".metadata/subsystems.json", "docs/subsystems.json")
"""Where a catalog may be; the first file that exists is used."""
Criticality = str | float | int
_MAX_SUBSYSTEMS = 2_000
_MAX_ITEMS = 200
_MAX_TEXT = 2_000
_NOT_SUBSYSTEM_FOLDERS: Final = TEST_FOLDERS | {"_generated", "__pycache__"}
_NOT_SOURCE_FOLDERS: Final = (
    DOC_FOLDERS
    | TEST_FOLDERS
    | frozenset(
        {
            "spec", "specs", "example", "examples", "sample", "samples", "demo", "demos", "script", "scripts", "tool", "tools",
            "bench", "benches", "benchmark", "benchmarks", "vendor", "third_party", "build", "dist", "src", "migrations",
        }
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subsystem:
    """One entry of a catalog."""

    name: str
    description: str | None = None
    criticality: Criticality | None = None
    """A word such as `high`, or a number."""
    owner: str | None = None
    domain: str | None = None
    tags: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Prefixes of paths, or globs whose stars also match slashes."""
    depends_on: tuple[str, ...] = ()

    def matches(self, path: str) -> bool:
        return any(_matches(pattern, path) for pattern in self.patterns)


@dataclass(frozen=True)
class SubsystemCatalog:
    """The subsystems in the catalog of a project, in its order."""

    subsystems: tuple[Subsystem, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def _by_name(self) -> Mapping[str, Subsystem]:
        return {subsystem.name.casefold(): subsystem for subsystem in self.subsystems}

    def find(self, name: str | None) -> Subsystem | None:
        """The subsystem with a name, case-insensitively."""
        return self._by_name.get(name.casefold()) if name else None

    def find_by_path(self, path: str) -> Subsystem | None:
        """The first subsystem with a pattern that matches a path."""
        return next((subsystem for subsystem in self.subsystems if subsystem.matches(path)), None)


NO_CATALOG: Final = SubsystemCatalog()


##= docs/spec/knowledge.md#file-metadata
##% The subsystem of a file MUST be the one that the file names, or else one from the catalog, or else one inferred
##% from its path.
def assign_subsystem(
    path: str, catalog: SubsystemCatalog, prefixes: Iterable[str], named: str | None = None
) -> str | None:
    """The subsystem of a file: the one it names, one from the catalog, or one inferred from its path."""
    if named:
        known = catalog.find(named)
        return known.name if known else named
    inferred = infer_subsystem(path, prefixes)
    found = catalog.find(inferred) or catalog.find_by_path(path)
    if found:
        return found.name
    return inferred.capitalize() if inferred and inferred.islower() else inferred


def infer_subsystem(path: str, prefixes: Iterable[str]) -> str | None:
    """The directory below the longest source prefix; for a file directly in the package, the name of the package."""
    matching = [prefix for prefix in prefixes if path.startswith(f"{prefix}/")]
    if not matching:
        return None
    prefix = max(matching, key=len)
    below = path[len(prefix) + 1 :].split("/")
    if len(below) > 1 and below[0].lower() not in _NOT_SUBSYSTEM_FOLDERS:
        return below[0]
    return prefix.rpartition("/")[2]


def source_prefixes(paths: Iterable[str], pyproject: str | None = None) -> tuple[str, ...]:
    """The directories of a project's packages, from the paths of its files and the text of its pyproject.toml."""
    folders: set[str] = set()
    packages: set[str] = set()
    for path in paths:
        parts = path.split("/")
        if len(parts) < 2:
            continue
        if parts[0] == "src" and len(parts) > 2:
            folders.add(f"src/{parts[1]}")
        elif parts[0].lower() not in _NOT_SOURCE_FOLDERS and artifact_type_of(path) in ("code", "proto"):
            packages.add(parts[0])
    named = {name for name in _packages(pyproject) if name in folders or name in packages or _is_above(name, packages)}
    folders = {name for name in folders if _may_be_prefix(name.rpartition("/")[2])}
    return tuple(sorted(folders | named or packages))


def _may_be_prefix(folder: str) -> bool:
    return folder.lower() not in TEST_FOLDERS and not folder.endswith((".egg-info", ".dist-info"))


##= docs/spec/knowledge.md#file-metadata
##% A catalog that cannot be read MUST cause a warning, not a failure.
def parse_catalog(text: str, path: str) -> SubsystemCatalog:
    """Parse a catalog. Anything wrong in it becomes a warning."""
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return SubsystemCatalog(warnings=(f"{path} is not valid JSON, so it is ignored.",))
    if not isinstance(data, dict):
        return SubsystemCatalog(warnings=(f"{path} is not a JSON object that maps names to subsystems.",))
    warnings: list[str] = []
    found: dict[str, Subsystem] = {}
    for name, entry in list(data.items())[:_MAX_SUBSYSTEMS]:
        clean = _one_line(name)
        if not clean or not isinstance(entry, dict):
            warnings.append(f"{path}: {clean or 'a name without letters'} is not a JSON object.")
        elif clean.casefold() in found:
            warnings.append(f"{path}: {clean} appears twice; the first entry is used.")
        else:
            found[clean.casefold()] = _subsystem(clean, entry, path, warnings)
    if len(data) > _MAX_SUBSYSTEMS:
        warnings.append(f"{path} has more than {_MAX_SUBSYSTEMS} subsystems; the rest are ignored.")
    return SubsystemCatalog(tuple(found.values()), tuple(warnings))


def _subsystem(name: str, entry: Mapping[str, Any], path: str, warnings: list[str]) -> Subsystem:
    def strings(*keys: str) -> tuple[str, ...]:
        key = next((key for key in keys if entry.get(key) is not None), keys[0])
        value = entry.get(key, [])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            warnings.append(f"{path}: {key} of {name} is not a list of strings.")
            return ()
        return tuple(dict.fromkeys(line for item in items[:_MAX_ITEMS] if (line := _one_line(item))))

    def string(key: str) -> str | None:
        value = entry.get(key)
        if value is not None and not isinstance(value, str):
            warnings.append(f"{path}: {key} of {name} is not a string.")
            return None
        return _one_line(value) or None if value else None

    return Subsystem(
        name=name,
        description=string("description"),
        criticality=_criticality(entry.get("criticality"), name, path, warnings),
        owner=", ".join(strings("owner", "owners")) or None,
        domain=string("domain"),
        tags=strings("tags"),
        labels=strings("labels"),
        patterns=strings("paths", "includes"),
        depends_on=strings("dependencies", "depends_on", "depends_on_subsystems"),
    )


def _criticality(value: Any, name: str, path: str, warnings: list[str]) -> Criticality | None:
    if isinstance(value, str):
        return _one_line(value).lower() or None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1_000_000:
        return value
    if value is not None:
        warnings.append(f"{path}: criticality of {name} is neither a word nor a number.")
    return None


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text[:_MAX_TEXT]).split())


def _matches(pattern: str, path: str) -> bool:
    pattern = pattern.removeprefix("./").removeprefix("/")
    if not pattern:
        return False
    if any(character in pattern for character in "*?["):
        return fnmatchcase(path, pattern)
    following = path[len(pattern) : len(pattern) + 1]
    # `docs/ingest` matches `docs/ingest/x.md` and `docs/ingest-plan.md`, but not `docs/ingestion.md`.
    return path.startswith(pattern) and (pattern.endswith("/") or not (following.isalnum() or following == "_"))


def _is_above(name: str, packages: set[str]) -> bool:
    return name.partition("/")[0] in packages


def _packages(pyproject: str | None) -> Iterator[str]:
    """The package directories that the settings of common build tools name in a pyproject.toml."""
    try:
        data: Mapping[str, Any] = read_toml(pyproject) if pyproject else {}
    except ParseError:
        return
    for item in _list(_at(data, "tool", "poetry", "packages")):
        if isinstance(item, dict) and isinstance(item.get("include"), str):
            yield _folder(item.get("from"), item["include"])
    for tool in ("hatch", "pdm"):
        for item in _list(_at(data, "tool", tool, "build", "targets", "wheel", "packages")):
            if isinstance(item, str):
                yield _folder(item)
    setuptools = _at(data, "tool", "setuptools")
    base = _at(setuptools, "package-dir", "")
    for item in _list(_at(setuptools, "packages")):
        if isinstance(item, str):
            yield _folder(base, item.replace(".", "/"))
    module = _at(data, "tool", "flit", "module", "name")
    if isinstance(module, str):
        yield _folder(module)


def _at(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _list(value: Any) -> list[Any]:
    return value[:_MAX_ITEMS] if isinstance(value, list) else []


def _folder(*parts: Any) -> str:
    return "/".join(text for part in parts if isinstance(part, str) and (text := part.removeprefix("./").strip("/")))
