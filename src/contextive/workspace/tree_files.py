"""The files of a project as they are in a commit: those on disk, except where the commit differs."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from contextive.workspace.directory_listings import DirectoryListings, Entry, Listing
from contextive.workspace.files import MAX_TEXT_BYTES, FileText, Fingerprint, ProjectFiles, Unreadable

ReadObject = Callable[[str], bytes | None]
"""The content of an object, or None if it is missing or too large."""


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """How a commit differs from the files on disk."""

    other: Mapping[str, str]
    """The files with other content than on disk, or missing there, and their object names."""
    absent: frozenset[str]
    """The files of the working tree that the commit does not have."""

    @property
    def paths(self) -> frozenset[str]:
        return self.absent.union(self.other)


class TreeTexts:
    """The texts of objects. An object never changes, so its text is the same value at each call."""

    def __init__(self, max_characters: int = 64_000_000) -> None:
        self._texts: dict[str, FileText | Unreadable] = {}
        self._left = self._most = max_characters

    def text(self, name: str, read: ReadObject) -> FileText | Unreadable:
        known = self._texts.get(name)
        if known is None:
            known = _decoded(read(name))
            self._left -= len(known.text) if isinstance(known, FileText) else 0
            if self._left < 0:
                self._texts.clear()
                self._left = self._most
            self._texts[name] = known
        return known


class TreeFiles(ProjectFiles):
    """The files of a commit. Files in which it does not differ are read from disk, through `disk` and its cache."""

    def __init__(self, disk: ProjectFiles, difference: TreeDifference, texts: TreeTexts, read: ReadObject) -> None:
        super().__init__(disk.root, disk.boundary, disk.max_bytes)
        self._disk = disk
        self._difference = difference
        self._texts = texts
        self._read_object = read

    def read(self, path: str) -> FileText | Unreadable:
        name = self._difference.other.get(path)
        if name is not None:
            return self._texts.text(name, self._read_object)
        if path in self._difference.absent:
            return Unreadable("the file cannot be opened")
        return self._disk.read(path)

    def is_file(self, path: str, folders: DirectoryListings | None = None) -> bool:
        if path in self._difference.other:
            return True
        return path not in self._difference.absent and self._disk.is_file(path)

    def fingerprint(self, path: str) -> Fingerprint | None:
        found = self.read(path)
        return found.fingerprint

    def keep_only(self, paths: set[str]) -> None:
        """Nothing is cached here."""


class TreeListings(DirectoryListings):
    """The directories of a commit."""

    __slots__ = ("_added", "_prefix", "_removed")

    def __init__(self, root: str, difference: TreeDifference) -> None:
        super().__init__()
        self._prefix = os.path.join(root, "")  # noqa: PTH118 - strings, for speed
        self._removed = _by_directory(difference.absent)
        self._added: dict[str, dict[str, Entry]] = {}
        for path in difference.other:
            self._add(path)

    def refreshed(self) -> DirectoryListings:
        return self

    def is_directory(self, path: str) -> bool:
        return self._relative(path) in self._added or super().is_directory(path)

    def is_regular_file(self, path: str) -> bool:
        relative = self._relative(path)
        folder, _, name = relative.rpartition("/")
        if name in self._added.get(folder, {}):
            return self._added[folder][name].is_file
        return name not in self._removed.get(folder, frozenset()) and super().is_regular_file(path)

    def listing(self, directory: str) -> Listing:
        known = self._now.get(directory)
        if known is None:
            known = super().listing(directory)
            relative = self._relative(directory)
            added, removed = self._added.get(relative, {}), self._removed.get(relative, frozenset())
            if added or removed:
                entries = {entry.name: entry for entry in known.entries if entry.name not in removed} | added
                ordered = sorted(entries.values())
                known = Listing([(one.name, one.is_file, one.is_dir, one.is_link) for one in ordered], ordered)
                self._now[directory] = known
        return known

    def _relative(self, directory: str) -> str:
        """A directory relative to the root; outside of it, the directory as it is."""
        path = f"{directory.rstrip('/')}/"
        return path.removeprefix(self._prefix).rstrip("/") if path.startswith(self._prefix) else directory

    def _add(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self._added.setdefault(folder, {})[name] = Entry(name, True, False, False)
        while folder:
            folder, _, name = folder.rpartition("/")
            entries = self._added.setdefault(folder, {})
            if name in entries:
                return
            entries[name] = Entry(name, False, True, False)


def _by_directory(paths: Collection[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        found.setdefault(folder, set()).add(name)
    return {folder: frozenset(names) for folder, names in found.items()}


def _decoded(data: bytes | None) -> FileText | Unreadable:
    # The fingerprint of an object says only that it exists. Nobody compares it, because objects do not change.
    if data is None or len(data) > MAX_TEXT_BYTES:
        return Unreadable("it is missing in this clone or too large", Fingerprint(0, 0, 0, 0))
    try:
        return FileText(data.decode("utf-8"), Fingerprint(0, 0, len(data), 0))
    except UnicodeDecodeError as failure:
        return Unreadable(f"it is not UTF-8 (byte {failure.start})", Fingerprint(0, 0, len(data), 0))
