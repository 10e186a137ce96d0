"""Read the files of a project as UTF-8, with a size limit, inside the root, and again only after a change."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from contextive.workspace.directory_listings import DirectoryListings

MAX_TEXT_BYTES = 16 * 1024 * 1024
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CHUNK_BYTES = 64 * 1024
_SETTLING_NS = 50_000_000
_COARSE_SETTLING_NS = 2_100_000_000


class Fingerprint(NamedTuple):
    """The file attributes that show whether a file changed, without reading it."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int

    @staticmethod
    def of(found: os.stat_result) -> Fingerprint:
        return Fingerprint(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)

    def is_settled(self, now_ns: int) -> bool:
        """Whether a change after `now_ns` would be visible, because enough time passed since the last change."""
        coarse = self.changed_ns % 1_000_000_000 == 0
        return now_ns - self.changed_ns > (_COARSE_SETTLING_NS if coarse else _SETTLING_NS)


class FileText(NamedTuple):
    """The text of a file and its fingerprint when it was read."""

    text: str
    fingerprint: Fingerprint


class Unreadable(NamedTuple):
    """The reason why a file cannot be used. It contains no path."""

    reason: str
    fingerprint: Fingerprint | None = None


class ProjectFiles:
    """The files of one project. Files outside `boundary` are refused; None sets no limit."""

    def __init__(self, root: Path, boundary: Path | None = None, max_bytes: int = MAX_TEXT_BYTES) -> None:
        self.root = root
        self.boundary = boundary
        self.max_bytes = max_bytes
        self._prefix = os.path.join(root, "")  # noqa: PTH118 - strings, for speed
        self._inside = os.path.join(boundary or "", "")  # noqa: PTH118
        """The prefix of every path inside the boundary. It ends with a separator."""
        self._cache: dict[str, FileText | Unreadable] = {}
        self._unsettled: set[str] = set()
        """Files that were read so soon after a change that another change could have the same fingerprint."""

    ##= docs/spec/trace.md#bad-input
    ##% The server MUST NOT read files outside the project's repository, or outside the project if it has no
    ##% repository.
    @staticmethod
    def bounded(root: Path) -> ProjectFiles:
        """The files of the project, bounded by its repository, or by the project if it has none."""
        resolved = root.resolve()
        repository = next((folder for folder in (resolved, *resolved.parents) if (folder / ".git").exists()), resolved)
        return ProjectFiles(resolved, repository)

    ##= docs/spec/trace.md#freshness
    ##% An answer MUST reflect every file saved before the call.
    def read(self, path: str) -> FileText | Unreadable:
        """The text of a file. It is read again only if its fingerprint changed."""
        known = self._cache.get(path)
        if known is not None and self._is_unchanged(path, known.fingerprint):
            return known
        now = time.time_ns()
        fresh = self._read(path)
        if fresh.fingerprint is None or fresh.fingerprint.is_settled(now):
            self._unsettled.discard(path)
        else:
            self._unsettled.add(path)
        if known == fresh and type(known) is type(fresh):  # both are tuples, so a text and a reason could be equal
            return known
        self._cache[path] = fresh
        return fresh

    def fingerprint(self, path: str) -> Fingerprint | None:
        try:
            return Fingerprint.of(os.stat(self._absolute(path)))  # noqa: PTH116 - strings, for speed
        except (OSError, ValueError):
            return None

    def _is_unchanged(self, path: str, before: Fingerprint | None) -> bool:
        """Whether the fingerprint is the same. It runs for every file on every call, so it creates no objects."""
        if path in self._unsettled:
            return False
        try:
            found = os.stat(path if path.startswith("/") else self._prefix + path)  # noqa: PTH116
        except (OSError, ValueError):
            return before is None
        return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino) == before

    def is_file(self, path: str, folders: DirectoryListings | None = None) -> bool:
        """Whether a path is a regular file inside the boundary. Listed directories avoid a system call per file."""
        if folders is not None and self._is_listed_file(folders, path):
            return True
        try:
            return os.path.isfile(self._absolute(path)) and self.allows(path)  # noqa: PTH113
        except ValueError:
            return False

    def allows(self, path: str) -> bool:
        """Whether a path stays inside the boundary after following all links."""
        if self.boundary is None:
            return True
        if not path.startswith(("/", "../")) and "/../" not in path and not self._has_link(path):
            return True
        real = real_path(self._absolute(path))
        return real is not None and self._is_in_boundary(real)

    def keep_only(self, paths: set[str]) -> None:
        """Drop the cached texts of all other files."""
        for path in set(self._cache) - paths:
            self._cache.pop(path, None)
        self._unsettled &= paths

    def _is_listed_file(self, folders: DirectoryListings, path: str) -> bool:
        """Whether the listings show a regular file at a path below the root, without links. False means unknown."""
        *parents, name = path.split("/")
        folder = self._prefix
        for part in parents:
            if part in ("", ".", ".."):
                return False
            entry = folders.listing(folder).by_name.get(part)
            if entry is None or entry.is_link or not entry.is_dir:
                return False
            folder = f"{folder}{part}/"
        entry = folders.listing(folder).by_name.get(name)
        return entry is not None and entry.is_file and not entry.is_link

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else self._prefix + path

    def _has_link(self, path: str) -> bool:
        absolute = self._absolute(path)
        return real_path(absolute) != absolute

    def _is_inside(self, path: str, handle: int) -> bool:
        """Whether an open file is inside the boundary. It asks the handle, because the path can change meanwhile."""
        if self.boundary is None:
            return True
        try:
            real = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
        except OSError:
            return self.allows(path)  # not available on this system
        return self._is_in_boundary(real)

    def _is_in_boundary(self, real: str) -> bool:
        """Whether a path without links is inside the boundary. A text comparison, because it runs for every file."""
        return f"{real}{os.sep}".startswith(self._inside)

    def _read(self, path: str) -> FileText | Unreadable:
        found: os.stat_result | None = None
        try:
            found = os.stat(self._absolute(path))  # noqa: PTH116
            if not stat.S_ISREG(found.st_mode):
                return Unreadable("it is not a regular file", Fingerprint.of(found))
            # Non-blocking, in case the file is replaced by a pipe before it is opened.
            handle = os.open(self._absolute(path), _OPEN_FLAGS)
        except (OSError, ValueError):
            return Unreadable("the file cannot be opened", Fingerprint.of(found) if found else None)
        try:
            return self._read_open(path, handle)
        finally:
            os.close(handle)

    def _read_open(self, path: str, handle: int) -> FileText | Unreadable:
        found = os.fstat(handle)
        fingerprint = Fingerprint.of(found)
        if not stat.S_ISREG(found.st_mode):
            return Unreadable("it is not a regular file", fingerprint)
        if not self._is_inside(path, handle):
            return Unreadable("it is outside the project", fingerprint)
        too_large = Unreadable(f"it is larger than {self.max_bytes // (1024 * 1024)} MiB", fingerprint)
        if found.st_size > self.max_bytes:
            return too_large
        try:
            data = _content(handle, found.st_size, self.max_bytes)
        except OSError:
            return Unreadable("the file cannot be read", fingerprint)
        if len(data) > self.max_bytes:
            return too_large
        try:
            return FileText(data.decode("utf-8"), fingerprint)
        except UnicodeDecodeError as failure:
            return Unreadable(f"it is not UTF-8 (byte {failure.start})", fingerprint)


class ReadOnce:
    """Reads each file at most once, for a refresh that needs some files several times. It is used by one thread."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._contents: dict[str, FileText | Unreadable] = {}

    def read(self, path: str) -> FileText | Unreadable:
        content = self._contents.get(path)
        if content is None:
            content = self._contents[path] = self._files.read(path)
        return content


def _content(handle: int, size: int, max_bytes: int) -> bytes:
    """All bytes of an open file, or just over `max_bytes` of one that is too large.

    The first read asks for one byte more than the expected size. If it returns exactly the expected size, that is the
    whole file. A second read, or a buffer for the largest allowed file, would take longer than the first read itself.
    """
    data = os.read(handle, min(size, max_bytes) + 1)
    if 0 < size == len(data):
        return data
    while len(data) <= max_bytes and (more := os.read(handle, _CHUNK_BYTES)):
        data += more
    return data


def real_path(path: str) -> str | None:
    """A path with its links followed, or None if it cannot be resolved because it is changing."""
    try:
        return os.path.realpath(path)
    except OSError:
        return None


def ancestors(path: str) -> Iterator[str]:
    """A relative path and each directory above it, up to the empty path."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
