"""Writes files atomically: under a temporary name first, then synced and renamed. No other module does this.

A file is written as `.<16 hex digits>.tmp` in its target directory and then renamed. A writer holds a shared lock on the
directory, which the system releases when the process dies. So a process that gets the exclusive lock knows that every
temporary file in the directory is a leftover. Without file locks, a temporary file counts as a leftover after an hour.

A directory is passed as a path, or as an open handle, which a symbolic link cannot redirect.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from contextive.errors import TimedOut
from contextive.locks import try_lock, unlock

LOCK_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.02
_OLD_SECONDS: Final = 3600.0
_NAME: Final = re.compile(r"\.[0-9a-f]{16}\.tmp")
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
OPEN_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
HAS_FOLDER_HANDLES: Final = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY") and hasattr(os, "O_NOFOLLOW")
NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class NotRegular(OSError):
    """The target is a link, a directory, a pipe or a device, not a regular file."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


# Writing


def write_file(path: Path, data: bytes, *, overwrite: bool = True, mode: int = 0o666, durable: bool = True) -> None:
    """Write a file atomically. An existing file or link is replaced; without `overwrite`, FileExistsError is raised."""
    with new_file(path.parent, mode=mode, durable=durable) as new:
        new.stream.write(data)
        new.publish(path.name, overwrite=overwrite)


def write_file_in(folder: int, name: str, data: bytes, *, overwrite: bool, mode: int = 0o666) -> bool:
    """Write a file into an open directory atomically; True if it replaced a file, whose permissions it keeps.

    Raises FileExistsError if the file exists and `overwrite` is false, and NotRegular if it is not a regular file.
    """
    with new_file(folder, mode=mode, like=name if overwrite else None) as new:
        new.stream.write(data)
        try:
            new.publish(name, overwrite=False)
        except FileExistsError:
            if not overwrite:
                raise
            new.publish(name)
            return True
    return False


@contextmanager
def new_file(
    folder: Path | int, *, mode: int = 0o666, like: str | None = None, durable: bool = True
) -> Iterator[NewFile]:
    """A file to write to and publish. It is removed if it is not published."""
    with writing_in(folder):
        new = NewFile(folder, mode=mode, like=like, durable=durable)
        try:
            yield new
        finally:
            new.discard()
    if durable:
        sync_folder(folder)


class NewFile:
    """A file with a temporary name, for a caller that holds the lock of the directory and syncs it after publishing.

    `mode` is subject to the umask. With `like`, the file gets the exact permissions of the file with that name, if it
    exists, before anything is written. A file that the next run writes again need not be `durable`.
    """

    def __init__(self, folder: Path | int, *, mode: int = 0o666, like: str | None = None, durable: bool = True) -> None:
        self._handle = folder if isinstance(folder, int) else None
        self._path = Path() if isinstance(folder, int) else folder
        self._durable = durable
        permissions = None if like is None else self._permissions(like)
        self._temporary = self._join(temporary_name())
        self.stream = os.fdopen(os.open(self._temporary, _NEW, mode, dir_fd=self._handle), "wb")
        try:
            if permissions is not None:
                os.chmod(self._temporary, permissions, dir_fd=self._handle)
        except OSError:
            self.discard()
            raise

    def finish(self) -> None:
        """Close the file and sync its content to disk."""
        if not self.stream.closed:
            self.stream.flush()
            if self._durable:
                os.fsync(self.stream.fileno())
            self.stream.close()

    def publish(self, name: str, *, overwrite: bool = True) -> None:
        """Finish the file and rename it to `name`. Without `overwrite`, the second of two writers gets FileExistsError."""
        self.finish()
        target = self._join(name)
        if not overwrite:
            try:
                # A hard link fails if the name exists; a rename would overwrite.
                os.link(
                    self._temporary, target, src_dir_fd=self._handle, dst_dir_fd=self._handle, follow_symlinks=False
                )
            except OSError as failure:
                if failure.errno not in NO_HARD_LINKS:
                    raise
                # No hard links on this file system: create the name first, then replace it.
                os.close(os.open(target, _NEW, 0o666, dir_fd=self._handle))
            else:
                return
        os.replace(self._temporary, target, src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        with suppress(OSError):
            self.stream.close()
        with suppress(OSError):
            os.unlink(self._temporary, dir_fd=self._handle)

    def _join(self, name: str) -> Path:
        return self._path / name

    def _permissions(self, name: str) -> int | None:
        try:
            found = os.stat(self._join(name), dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise NotRegular
        return stat.S_IMODE(found.st_mode) & 0o777


# Directories


def sync_folder(folder: Path | int) -> None:
    """Sync a directory, so that its entries survive a power failure, if the system supports that."""
    with suppress(OSError), _opened(folder) as handle:
        if handle is not None:
            os.fsync(handle)


def make_folders(path: Path, mode: int = 0o777) -> None:
    """Create a directory and its parents durably. `mode` is for the directory; the parents get the default mode."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


@contextmanager
def _opened(folder: Path | int) -> Iterator[int | None]:
    """A handle of the directory; None if the system has no such handles or the directory cannot be read."""
    if isinstance(folder, int):
        yield folder
        return
    handle = None
    if HAS_FOLDER_HANDLES:
        with suppress(OSError):
            handle = os.open(folder, OPEN_FOLDER)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


# Temporary files


def temporary_name() -> str:
    """A random name for a file that is being written."""
    return f".{secrets.token_hex(8)}.tmp"


def is_temporary(name: str) -> bool:
    """Whether this is the name of a file that is being written, or of a leftover."""
    return name.endswith(".tmp") and _NAME.fullmatch(name) is not None


def lock(folder: int, *, exclusive: bool = False, busy: str = "Another process is writing there.") -> bool:
    """Wait for the lock of an open directory; False if the file system has no locks. TimedOut if it stays locked."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            if try_lock(folder, shared=not exclusive):
                return True
        except OSError:
            return False
        if time.monotonic() > deadline:
            raise TimedOut(busy, hint="Try again.")
        time.sleep(_PAUSE_SECONDS)


@contextmanager
def writing_in(folder: Path | int) -> Iterator[None]:
    """Hold the shared lock of a directory, if the file system has locks.

    A directory given as a handle belongs to the project or the server, so leftovers of killed writers are removed first.
    A path may lead to any directory, such as the user's home, so nothing is removed there.
    """
    with _opened(folder) as handle:
        if handle is None:
            yield
            return
        if isinstance(folder, int):
            remove_leftovers(handle)
        lock(handle)
        try:
            yield
        finally:
            unlock(handle)


##= docs/spec/gateway.md#creating-a-backup
##% A backup MUST remove the leftovers of a killed backup.
def remove_leftovers(folder: int) -> None:
    """Remove temporary files of killed writers from an open directory; nothing while another process writes there."""
    if not any(map(is_temporary, os.listdir(folder))):
        return
    # A second handle, because the given one may hold a lock.
    own = os.open(".", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0), dir_fd=folder)
    try:
        try:
            is_alone = try_lock(own)
        except OSError:
            remove_temporary(own, older_than=_OLD_SECONDS)
            return
        if is_alone:
            remove_temporary(own)
    finally:
        unlock(own)
        os.close(own)


def remove_temporary(folder: int, *, older_than: float | None = None) -> None:
    """Remove the temporary files in an open directory: all, or only those older than this many seconds."""
    newest = None if older_than is None else time.time() - older_than
    for name in filter(is_temporary, os.listdir(folder)):
        with suppress(OSError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode) and (newest is None or found.st_mtime < newest):
                os.unlink(name, dir_fd=folder)
