"""Directory listings, read once per refresh, with cached results for unchanged listings."""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeVar, cast

T = TypeVar("T")


class Entry(NamedTuple):
    """A name in a directory and its type, with links followed. Pipes, sockets and devices have no type."""

    name: str
    is_file: bool
    is_dir: bool
    is_link: bool


class Listing:
    """The entries of one directory by name, and results computed from them."""

    __slots__ = ("_results", "entries", "found")

    def __init__(self, found: list[tuple[str, bool, bool, bool]], entries: list[Entry]) -> None:
        self.found = found
        """The entries in the order of the file system."""
        self.entries = entries
        self._results: dict[object, object] = {}

    @property
    def by_name(self) -> dict[str, Entry]:
        return self.get_or_compute("by name", lambda entries: {entry.name: entry for entry in entries})

    def get_or_compute(self, key: object, make: Callable[[list[Entry]], T]) -> T:
        """The result of `make` for these entries, cached. `key` must include everything else that it depends on."""
        if key not in self._results:
            self._results[key] = make(self.entries)
        return cast("T", self._results[key])


class DirectoryListings:
    """Listings at one point in time. Every refresh lists again, because time stamps of directories are not reliable."""

    __slots__ = ("_before", "_now")

    def __init__(self, before: dict[str, Listing] | None = None) -> None:
        self._before = {} if before is None else before
        self._now: dict[str, Listing] = {}

    def refreshed(self) -> DirectoryListings:
        """New listings for the current state. Unchanged listings keep their results; unused ones are dropped."""
        return DirectoryListings(self._now)

    @property
    def directories(self) -> AbstractSet[str]:
        """The directories that were listed."""
        return self._now.keys()

    def listing(self, directory: str) -> Listing:
        """The entries of a directory. A missing directory has none."""
        known = self._now.get(directory)
        if known is None:
            known = self._before.get(directory)
            found = _scan(directory)
            if known is None or known.found != found:
                known = Listing(found, sorted(map(Entry._make, found)))
            self._now[directory] = known
        return known

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)  # noqa: PTH112 - strings, for speed

    def is_regular_file(self, path: str) -> bool:
        return os.path.isfile(path)  # noqa: PTH113


def _scan(directory: str) -> list[tuple[str, bool, bool, bool]]:
    try:
        with os.scandir(directory or ".") as entries:
            names = list(entries)
    except (OSError, ValueError):
        return []
    try:
        return [(entry.name, entry.is_file(), entry.is_dir(), entry.is_symlink()) for entry in names]
    except OSError:  # a circular link
        return [
            (entry.name, _check_entry(entry.is_file), _check_entry(entry.is_dir), entry.is_symlink()) for entry in names
        ]


def _check_entry(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except OSError:
        return False
