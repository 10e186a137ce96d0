"""Finds the files of a project that may have citations, and how to parse each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from contextive.trace.duvet_config import SourcePattern, TraceSettings
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.files import ProjectFiles
from contextive.workspace.globs import Glob, walk_by_ending


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file and how to parse it. A file that two patterns parse differently is two of these."""

    path: str
    reading: SourcePattern | None
    """The settings of its pattern, without the pattern itself; None means a requirement file."""


@dataclass(frozen=True, slots=True)
class FoundSources:
    """The files that match the patterns of a project at one moment."""

    files: tuple[SourceFile, ...]
    outside: tuple[str, ...]
    """Patterns that lead outside the project. They are not searched."""


def find_sources(files: ProjectFiles, settings: TraceSettings, folders: DirectoryListings) -> FoundSources:
    """All source files with each way to parse them, then all requirement files, without duplicates."""
    search = _SourceFinder(files, folders)
    found: dict[SourceFile, None] = {}
    if settings.automatic:
        found |= dict.fromkeys(search.by_ending(settings.sources))
    else:
        for source in settings.sources:
            reading = replace(source, pattern="")
            found |= dict.fromkeys(SourceFile(path, reading) for path in search.matches(source.pattern))
    for pattern in settings.requirement_patterns:
        found |= dict.fromkeys(SourceFile(path, None) for path in search.matches(pattern))
    return FoundSources(tuple(found), tuple(search.outside))


class _SourceFinder:
    def __init__(self, files: ProjectFiles, folders: DirectoryListings) -> None:
        self._files = files
        self._folders = folders
        self.outside: dict[str, None] = {}

    def matches(self, pattern: str) -> Iterator[str]:
        glob = _glob(pattern)
        if not self._files.allows(glob.base):
            self.outside[pattern] = None
            return iter(())
        return glob.walk(str(self._files.root), self._files.allows, self._folders)

    def by_ending(self, sources: tuple[SourcePattern, ...]) -> Iterator[SourceFile]:
        """The files of default sources. Their patterns differ only in the extension, so one walk finds them all."""
        readings: dict[str, list[SourcePattern]] = {}
        for source in sources:
            readings.setdefault(source.pattern.rpartition(".")[2], []).append(replace(source, pattern=""))
        for path, ending in walk_by_ending(str(self._files.root), readings.keys(), self._folders):
            yield from (SourceFile(path, reading) for reading in readings[ending])


@lru_cache(maxsize=256)
def _glob(pattern: str) -> Glob:
    return Glob(pattern)
