"""Reading a project's files: under a size limit, as UTF-8, inside the root, and only again when they changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

MAX_TEXT_BYTES = 16 * 1024 * 1024


class Fingerprint(NamedTuple):
    """What tells one state of a file from another without reading it."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text, and the state of the file that it was read from."""

    text: str
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file cannot be used, in words that show no path."""

    reason: str
    fingerprint: Fingerprint | None = None


@dataclass
class ProjectFiles:
    """The files of one project. `boundary` is as far up as its own settings may reach; None sets no limit."""

    root: Path
    boundary: Path | None = None
    max_bytes: int = MAX_TEXT_BYTES
    _cache: dict[str, FileText | Unreadable] = field(default_factory=dict)

    @staticmethod
    def bounded(root: Path) -> ProjectFiles:
        """Files up to the repository that the project belongs to, and no further."""
        resolved = root.resolve()
        repository = next((folder for folder in (resolved, *resolved.parents) if (folder / ".git").exists()), resolved)
        return ProjectFiles(resolved, repository)

    def read(self, path: str) -> FileText | Unreadable:
        """The text of a file. Asks the file system whether it changed, and reads it again only then."""
        known = self._cache.get(path)
        fingerprint = self.fingerprint(path)
        if known is not None and known.fingerprint is not None and known.fingerprint == fingerprint:
            return known
        self._cache[path] = fresh = self._read(path)
        return fresh

    def fingerprint(self, path: str) -> Fingerprint | None:
        try:
            found = os.stat(self._absolute(path))  # noqa: PTH116 - strings, for speed
        except (OSError, ValueError):
            return None
        return Fingerprint(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)

    def is_file(self, path: str) -> bool:
        try:
            return os.path.isfile(self._absolute(path)) and self.allows(path)  # noqa: PTH113
        except ValueError:
            return False

    def allows(self, path: str) -> bool:
        """Whether a path, with every link in it followed, stays inside the boundary."""
        if self.boundary is None:
            return True
        if not path.startswith(("/", "../")) and "/../" not in path and not self._has_link(path):
            return True
        real = Path(os.path.realpath(self._absolute(path)))
        return real.is_relative_to(self.boundary)

    def keep_only(self, paths: set[str]) -> None:
        """Forget the texts of files that are no longer of interest."""
        for path in self._cache.keys() - paths:
            del self._cache[path]

    def _absolute(self, path: str) -> str:
        return os.path.join(self.root, path)  # noqa: PTH118

    def _has_link(self, path: str) -> bool:
        absolute = self._absolute(path)
        return os.path.realpath(absolute) != absolute

    def _read(self, path: str) -> FileText | Unreadable:
        try:
            # Non-blocking, so that a pipe in the place of a file cannot hold us up before we see that it is one.
            handle = os.open(self._absolute(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | os.O_CLOEXEC)
        except (OSError, ValueError):
            return Unreadable("the file cannot be opened")
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            fingerprint = Fingerprint(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
            if not stat.S_ISREG(found.st_mode):
                return Unreadable("it is not a regular file", fingerprint)
            if not self.allows(path):
                return Unreadable("it lies outside the project", fingerprint)
            if found.st_size > self.max_bytes:
                return Unreadable(f"it is larger than {self.max_bytes // (1024 * 1024)} MiB", fingerprint)
            data = file.read(self.max_bytes + 1)
        if len(data) > self.max_bytes:
            return Unreadable(f"it is larger than {self.max_bytes // (1024 * 1024)} MiB", fingerprint)
        try:
            return FileText(data.decode("utf-8"), fingerprint)
        except UnicodeDecodeError as failure:
            return Unreadable(f"it is not UTF-8 (byte {failure.start})", fingerprint)


def ancestors(path: str) -> Iterator[str]:
    """A relative path and each directory above it, down to the empty one."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
