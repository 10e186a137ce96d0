"""Subsystems: those of a catalog file, and the packages of the project.

A catalog is a JSON object that maps names to descriptions. A catalog or an entry that cannot be read only causes a
warning. A file that the catalog does not mention belongs to the subsystem with the name of its package.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final

from contextive.knowledge.classification import artifact_type_of
from contextive.knowledge.packages import Packages, last_name, outer_names

CATALOG_PATHS: Final = (".metadata/subsystems.json", "docs/subsystems.json")
"""Where a catalog may be; the first file that exists is used."""
Criticality = str | float | int
_MAX_SUBSYSTEMS = 2_000
_MAX_ITEMS = 200
_MAX_TEXT = 2_000


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
##% The subsystem of a file MUST be the one that the file names, or else one from the catalog, or else its package.
def assign_subsystem(path: str, catalog: SubsystemCatalog, packages: Packages, named: str | None = None) -> str | None:
    """The subsystem of a file: the one it names, one from the catalog, or the package that it is in."""
    if named:
        known = catalog.find(named)
        return known.name if known else named
    artifact_type = artifact_type_of(path)
    package = packages.name_of(path, artifact_type)
    if not catalog.subsystems:
        return package
    names = _names_to_look_up(path, package, packages.folder_of(path, artifact_type))
    found = next((known for name in names if (known := catalog.find(name))), None) or catalog.find_by_path(path)
    return found.name if found else package


def _names_to_look_up(path: str, package: str | None, folder: str | None) -> Iterator[str]:
    """The names by which a catalog may know the package of a file, the most specific first."""
    if folder is not None:
        below = path[len(folder) + 1 :].split("/")
        if len(below) > 1:
            yield below[0]
    for name in (package, *outer_names(package)) if package else ():
        yield name
        yield last_name(name)


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
