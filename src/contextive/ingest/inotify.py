"""Reports changes in directories since the last call, with inotify on Linux.

The kernel queues an event before the system call that made the change returns, so a call sees every save that
finished before it, like a check of each file would. inotify does not report writes through a memory map, or by
another machine on a network file system. So it is used on local file systems only, and the caller still scans all
files now and then.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from contextive.workspace.files import real_path

_LOCAL = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "tmpfs", "xfs", "zfs"})
_MAX_WATCHES = 4096
_NONBLOCKING, _CLOSED_ON_EXEC = getattr(os, "O_NONBLOCK", 0), getattr(os, "O_CLOEXEC", 0)
_MODIFIED, _ATTRIBUTES, _WRITTEN, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATED, _DELETED, _SELF_DELETED, _SELF_MOVED = 0x100, 0x200, 0x400, 0x800
_ONLY_FOLDERS = 0x0100_0000
_UNMOUNTED, _OVERFLOWED, _IGNORED, _IS_FOLDER = 0x2000, 0x4000, 0x8000, 0x4000_0000
_EVENT_MASK = (
    _MODIFIED | _ATTRIBUTES | _WRITTEN | _MOVED_FROM | _MOVED_TO | _CREATED | _DELETED | _SELF_DELETED | _SELF_MOVED
)
_EVENT = struct.Struct("iIII")


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Absolute paths of changed files and folders. `is_unknown` means that anything may have changed."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    is_unknown: bool = False


UNKNOWN_CHANGES = FileChanges(is_unknown=True)


class InotifyWatcher:
    """Watches a set of directories. If one of them cannot be watched, all changes are unknown."""

    def __init__(self) -> None:
        self._handle = _open()
        self._folders: dict[int, str] = {}
        self._watched: frozenset[str] = frozenset()
        self._unwatchable: frozenset[str] = frozenset()
        self.is_watching = False
        """Whether all directories are watched."""
        self._close = weakref.finalize(self, os.close, self._handle) if self._handle is not None else None

    def watch(self, folders: Iterable[str]) -> bool:
        """Watch exactly these directories. Returns whether any of them is new, so its files must be read again."""
        wanted = frozenset(folder.rstrip("/") or "/" for folder in folders)
        if wanted == self._unwatchable:
            return False
        new = wanted - self._watched
        self.is_watching = self._handle is not None and len(wanted) <= _MAX_WATCHES and self._add_all(new)
        self._watched = wanted if self.is_watching else frozenset()
        self._unwatchable = frozenset() if self.is_watching else wanted
        return self.is_watching and bool(new)

    def changes(self) -> FileChanges:
        """The changes since the last call. Events of directories that are no longer watched are left out."""
        if not self.is_watching or self._handle is None:
            return UNKNOWN_CHANGES
        files: set[str] = set()
        folders: set[str] = set()
        is_unknown = False
        while data := _read(self._handle):
            position = 0
            while position < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, position)
                position += _EVENT.size
                name = os.fsdecode(data[position : position + length].rstrip(b"\0"))
                position += length
                folder = self._folders.get(watch)
                if mask & _OVERFLOWED:
                    is_unknown = True
                elif folder in self._watched:
                    gone = mask & (_SELF_DELETED | _SELF_MOVED | _UNMOUNTED | _IGNORED)
                    is_unknown = is_unknown or bool(gone)
                    (folders if mask & _IS_FOLDER else files).add(f"{folder}/{name}")
                    if gone:
                        self._watched -= {folder}
        return UNKNOWN_CHANGES if is_unknown else FileChanges(frozenset(files), frozenset(folders))

    def _add_all(self, folders: Iterable[str]) -> bool:
        return all(_is_local(folder) and self._add(folder) for folder in folders)

    def _add(self, folder: str) -> bool:
        number = _library().inotify_add_watch(self._handle, os.fsencode(folder), _EVENT_MASK | _ONLY_FOLDERS)
        if number >= 0:
            self._folders[number] = folder
        elif ctypes.get_errno() == errno.ENOSPC:
            self._release_watches()
        return bool(number >= 0)

    def _release_watches(self) -> None:
        """The watch limit of the user is reached: release all watches for other programs."""
        if self._close is not None:
            self._close()
        self._handle, self._close = None, None
        self._folders.clear()


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _open() -> int | None:
    if not sys.platform.startswith("linux") or not _NONBLOCKING:
        return None
    try:
        handle = int(_library().inotify_init1(_NONBLOCKING | _CLOSED_ON_EXEC))
    except (OSError, AttributeError):
        return None
    return handle if handle >= 0 else None


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # no more events
        return b""


def _is_local(folder: str) -> bool:
    mounts = _mounts()
    mount_point = real_path(folder)
    if mount_point is None:
        return False
    while mount_point not in mounts and mount_point != "/":
        mount_point = str(Path(mount_point).parent)
    return mounts.get(mount_point) in _LOCAL


@cache
def _mounts() -> dict[str, str]:
    """File system types by mount point."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        left, _, right = line.partition(" - ")
        if len(fields := left.split()) > 4 and right:
            found[fields[4].replace("\\040", " ")] = right.split()[0]
    return found
