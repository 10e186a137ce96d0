"""Which files of a project hold citations, and how each of them is read."""

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
    """A file under one way to read it. A file that two patterns read in different ways is two of these."""

    path: str
    reading: SourcePattern | None
    """The settings of its pattern, without the pattern itself; None reads it as a requirement file."""


@dataclass(frozen=True, slots=True)
class FoundSources:
    """The files that the patterns of a project name at one moment."""

    files: tuple[SourceFile, ...]
    outside: tuple[str, ...]
    """The patterns that would leave the project. Nothing is looked for there."""


def find_sources(files: ProjectFiles, settings: TraceSettings, folders: DirectoryListings) -> FoundSources:
    """Every source file under each way to read it, then every requirement file, each once."""
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
        """The files of guessed sources, which differ in nothing but the ending of their patterns: one walk finds all."""
        readings: dict[str, list[SourcePattern]] = {}
        for source in sources:
            readings.setdefault(source.pattern.rpartition(".")[2], []).append(replace(source, pattern=""))
        for path, ending in walk_by_ending(str(self._files.root), readings.keys(), self._folders):
            yield from (SourceFile(path, reading) for reading in readings[ending])


@lru_cache(maxsize=256)
def _glob(pattern: str) -> Glob:
    return Glob(pattern)
