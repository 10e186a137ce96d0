"""What cannot have changed since the last look at a project, on the word of the kernel.

A look at each of some thousand files costs more than the answer that it is for. Where the kernel tells of every change below a
directory, a file that it said nothing about is as it was, and so are the names in that directory.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from contextive.ingest.change_feed import ChangeFeed
from contextive.workspace.files import real_path

TRUSTED_SECONDS = 10.0
"""How long the kernel's word is taken before everything is looked at again: it does not tell of writes through a memory map."""


class Unchanged(NamedTuple):
    """Files by their paths and directories by their absolute ones that are what they were at the last look."""

    files: AbstractSet[str] = frozenset()
    folders: AbstractSet[str] = frozenset()


NOTHING = Unchanged()


class Witness:
    """Watches the files and directories of a project that were looked at.

    Answered for are only directories below the root and regular files in them, each under its one name: through a link, or by
    another name of the same file, a change can come without a word.
    """

    def __init__(self, root: str) -> None:
        self._prefix = f"{root.rstrip('/')}/"
        self._feed = ChangeFeed()
        self._looked_at = float("-inf")
        self._blind_until = float("-inf")
        """Where the kernel tells nothing, it is not asked at every look."""
        self._is_complete = False
        """Whether everything that the last look saw was watched before it began."""
        self._paths: AbstractSet[str] = frozenset()
        self._places: AbstractSet[str] = frozenset()
        self._watched: AbstractSet[str] = frozenset()
        self._sure: set[str] = set()
        self._unsure: set[str] = set()
        self._real: dict[str, bool] = {}

    def unchanged(self) -> Unchanged:
        """Asked before a look. Until `attend` has agreed to it, nothing is answered for again."""
        changes = self._feed.changes()
        is_recent = time.monotonic() - self._looked_at < TRUSTED_SECONDS
        complete, self._is_complete = self._is_complete, False
        if not complete or not is_recent or changes.unclear or changes.folders:
            self._forget()
            return NOTHING
        touched = {self._path(file) for file in changes.files}
        self._sure -= touched
        self._unsure -= touched
        return Unchanged(self._sure, self._watched - {file.rpartition("/")[0] for file in changes.files})

    def attend(self, paths: AbstractSet[str], places: AbstractSet[str]) -> bool:
        """Told after a look which files it read and which directories it listed. Whether it has to be made again.

        That is so where something was not watched yet: it may have changed between the look and the watch.
        """
        if time.monotonic() < self._blind_until:
            return False
        if paths != self._paths or places != self._places:
            self._paths, self._places = frozenset(paths), frozenset(places)
            self._sure &= self._paths
            self._unsure &= self._paths
            self._watched = frozenset(self._worth_watching())
            if self._feed.watch(self._watched):
                return True
            if not self._feed.works:
                self._blind_until = time.monotonic() + TRUSTED_SECONDS
                return False
        for path in self._paths - self._sure - self._unsure:
            (self._sure if self._is_plain(path) else self._unsure).add(path)
        if self._looked_at == float("-inf"):
            self._looked_at = time.monotonic()
        self._is_complete = True
        return False

    def _forget(self) -> None:
        self._sure.clear()
        self._unsure.clear()
        self._real.clear()
        self._paths = self._places = frozenset()
        self._looked_at = float("-inf")

    def _path(self, file: str) -> str:
        return file.removeprefix(self._prefix)

    def _worth_watching(self) -> Iterator[str]:
        """The directories of all files, and all directories above them: one of those may be put in another's place."""
        root = self._prefix[:-1]
        folders = {(self._prefix + path).rpartition("/")[0] for path in self._paths if not path.startswith("/")}
        folders |= {place.rstrip("/") for place in self._places}
        pending = [folder for folder in folders if folder.startswith(self._prefix)]
        seen = {root}
        yield root
        while pending:
            folder = pending.pop()
            if folder not in seen and self._is_real(folder):
                yield folder
                pending.append(folder.rpartition("/")[0])
            seen.add(folder)

    def _is_real(self, folder: str) -> bool:
        if folder not in self._real:
            self._real[folder] = real_path(folder) == folder and os.path.isdir(folder)  # noqa: PTH112 - strings, for speed
        return self._real[folder]

    def _is_plain(self, path: str) -> bool:
        absolute = self._prefix + path
        if path.startswith("/") or absolute.rpartition("/")[0] not in self._watched:
            return False
        try:
            found = os.lstat(absolute)
        except (OSError, ValueError):
            return False
        return stat.S_ISREG(found.st_mode) and found.st_nlink == 1
