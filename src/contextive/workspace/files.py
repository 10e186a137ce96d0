"""Reading a project's files: under a size limit, as UTF-8, inside the root, and only again when they changed."""

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
    """What tells one state of a file from another without reading it."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int

    @staticmethod
    def of(found: os.stat_result) -> Fingerprint:
        return Fingerprint(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)

    def is_settled(self, now_ns: int) -> bool:
        """Whether a change after `now_ns` would show: the file system's clock has moved on since the last one."""
        coarse = self.changed_ns % 1_000_000_000 == 0
        return now_ns - self.changed_ns > (_COARSE_SETTLING_NS if coarse else _SETTLING_NS)


class FileText(NamedTuple):
    """A file's text, and the state of the file that it was read from."""

    text: str
    fingerprint: Fingerprint


class Unreadable(NamedTuple):
    """Why a file cannot be used, in words that show no path."""

    reason: str
    fingerprint: Fingerprint | None = None


class ProjectFiles:
    """The files of one project. `boundary` is as far up as its own settings may reach; None sets no limit."""

    def __init__(self, root: Path, boundary: Path | None = None, max_bytes: int = MAX_TEXT_BYTES) -> None:
        self.root = root
        self.boundary = boundary
        self.max_bytes = max_bytes
        self._prefix = os.path.join(root, "")  # noqa: PTH118 - strings, for speed
        self._inside = os.path.join(boundary or "", "")  # noqa: PTH118
        """How every path begins that leads into the boundary, the boundary itself with a separator behind it too."""
        self._cache: dict[str, FileText | Unreadable] = {}
        self._unsettled: set[str] = set()
        """Files that were read so soon after a change that another one could have left the same fingerprint."""

    ##= docs/spec/trace.md#bad-input
    ##% The server MUST NOT read files outside the project's repository, or outside the project if it has no
    ##% repository.
    @staticmethod
    def bounded(root: Path) -> ProjectFiles:
        """Files up to the repository that the project belongs to, and no further."""
        resolved = root.resolve()
        repository = next((folder for folder in (resolved, *resolved.parents) if (folder / ".git").exists()), resolved)
        return ProjectFiles(resolved, repository)

    ##= docs/spec/trace.md#freshness
    ##% An answer MUST reflect every file saved before the call.
    def read(self, path: str) -> FileText | Unreadable:
        """The text of a file. Asks the file system whether it changed, and reads it again only then."""
        known = self._cache.get(path)
        if known is not None and self._is_unchanged(path, known.fingerprint):
            return known
        now = time.time_ns()
        fresh = self._read(path)
        if fresh.fingerprint is None or fresh.fingerprint.is_settled(now):
            self._unsettled.discard(path)
        else:
            self._unsettled.add(path)
        if known == fresh and type(known) is type(fresh):  # as tuples, a text and a reason could be equal
            return known
        self._cache[path] = fresh
        return fresh

    def fingerprint(self, path: str) -> Fingerprint | None:
        try:
            return Fingerprint.of(os.stat(self._absolute(path)))  # noqa: PTH116 - strings, for speed
        except (OSError, ValueError):
            return None

    def _is_unchanged(self, path: str, before: Fingerprint | None) -> bool:
        """Whether a file has the fingerprint that it had. Asked for every file at every call, so nothing is built for it."""
        if path in self._unsettled:
            return False
        try:
            found = os.stat(path if path.startswith("/") else self._prefix + path)  # noqa: PTH116
        except (OSError, ValueError):
            return before is None
        return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino) == before

    def is_file(self, path: str, folders: DirectoryListings | None = None) -> bool:
        """Whether a regular file stands there, inside the boundary. Known directories spare a look at each of them."""
        if folders is not None and self._is_listed_file(folders, path):
            return True
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
        real = real_path(self._absolute(path))
        return real is not None and self._is_in_boundary(real)

    def keep_only(self, paths: set[str]) -> None:
        """Forget the texts of files that are no longer of interest."""
        for path in set(self._cache) - paths:
            self._cache.pop(path, None)
        self._unsettled &= paths

    def _is_listed_file(self, folders: DirectoryListings, path: str) -> bool:
        """Whether a path leads below the root to a regular file without a single link. If not, nothing is said."""
        *above, name = path.split("/")
        place = self._prefix
        for part in above:
            if part in ("", ".", ".."):
                return False
            entry = folders.listing(place).by_name.get(part)
            if entry is None or entry.is_link or not entry.is_dir:
                return False
            place = f"{place}{part}/"
        entry = folders.listing(place).by_name.get(name)
        return entry is not None and entry.is_file and not entry.is_link

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else self._prefix + path

    def _has_link(self, path: str) -> bool:
        absolute = self._absolute(path)
        return real_path(absolute) != absolute

    def _is_inside(self, path: str, handle: int) -> bool:
        """Whether an open file lies inside the boundary. Its name is asked of the handle: a path can change meanwhile."""
        if self.boundary is None:
            return True
        try:
            real = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
        except OSError:
            return self.allows(path)  # a system that does not tell
        return self._is_in_boundary(real)

    def _is_in_boundary(self, real: str) -> bool:
        """Whether a path without links lies inside the boundary. Asked for every file, so it is told from the text."""
        return f"{real}{os.sep}".startswith(self._inside)

    def _read(self, path: str) -> FileText | Unreadable:
        found: os.stat_result | None = None
        try:
            found = os.stat(self._absolute(path))  # noqa: PTH116
            if not stat.S_ISREG(found.st_mode):
                return Unreadable("it is not a regular file", Fingerprint.of(found))
            # Non-blocking, so that a pipe that takes the file's place this very moment cannot hold us up.
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
            return Unreadable("it lies outside the project", fingerprint)
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


def _content(handle: int, size: int, max_bytes: int) -> bytes:
    """All that an open file holds, and of one that grew too large as much as shows it.

    The first look asks for what the file should hold and one byte more: whoever gets what it should hold has all of it. A
    second look, or a buffer for the largest file allowed, takes longer than the reading.
    """
    data = os.read(handle, min(size, max_bytes) + 1)
    if 0 < size == len(data):
        return data
    while len(data) <= max_bytes and (more := os.read(handle, _CHUNK_BYTES)):
        data += more
    return data


def real_path(path: str) -> str | None:
    """A path with its links followed; None where something on the way is turned into something else this very moment."""
    try:
        return os.path.realpath(path)
    except OSError:
        return None


def ancestors(path: str) -> Iterator[str]:
    """A relative path and each directory above it, down to the empty one."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
