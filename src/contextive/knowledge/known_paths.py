"""The paths of a project, indexed to find the file that a name refers to."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KnownPaths:
    """The paths of a project, indexed by name and by folder."""

    paths: frozenset[str]
    by_name: dict[str, tuple[str, ...]]
    by_folder: dict[str, tuple[str, ...]]
    folders_by_name: dict[str, tuple[str, ...]]
    _endings: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, paths: Iterable[str]) -> KnownPaths:
        by_name: dict[str, list[str]] = {}
        by_folder: dict[str, list[str]] = {}
        known = frozenset(paths)
        for path in sorted(known):
            folder, name = posixpath.split(path)
            by_name.setdefault(name, []).append(path)
            by_folder.setdefault(folder, []).append(path)
        folders: dict[str, list[str]] = {}
        for folder in sorted(by_folder):
            folders.setdefault(posixpath.basename(folder), []).append(folder)
        return cls(known, _freeze(by_name), _freeze(by_folder), _freeze(folders))

    def exact(self, candidates: Iterable[str]) -> str | None:
        """The first candidate that exists."""
        return next((path for path in candidates if path in self.paths), None)

    def ending(self, tail: str) -> tuple[str, ...]:
        """The paths that end with these parts."""
        found = self._endings.get(tail)
        if found is None:
            with_slash = f"/{tail}"
            named = self.by_name.get(posixpath.basename(tail), ())
            found = tuple(path for path in named if path == tail or path.endswith(with_slash))
            self._endings[tail] = found
        return found

    def nearest(self, path: str, tails: Iterable[str]) -> str | None:
        """The single path with one of these endings, or the single one that shares the most folders with `path`."""
        found = sorted({target for tail in tails for target in self.ending(tail)})
        if len(found) > 1:
            shared = [shared_folders(path, target) for target in found]
            most = max(shared)
            found = [target for target, count in zip(found, shared, strict=True) if count == most]
        return found[0] if len(found) == 1 else None


def shared_folders(one: str, other: str) -> int:
    """The number of leading folders that two paths have in common."""
    count = 0
    for left, right in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if left != right:
            break
        count += 1
    return count


def _freeze(lists: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(values) for key, values in lists.items()}
