"""Files under temporary names: how they are named, and how those of writers that were killed are removed.

A file is written as `.<16 hex digits>.tmp` beside its place and then renamed. A writer holds a shared lock on the
directory, which the system takes away from a process that dies. So the holder of the exclusive lock of a directory knows that
every temporary file in it was left behind. On a file system without locks a file has to be an hour old.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from contextive.errors import TimedOut
from contextive.workspace.locks import try_lock, unlock

LOCK_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.02
_OLD_SECONDS: Final = 3600.0
_NAME: Final = re.compile(r"\.[0-9a-f]{16}\.tmp")


def temporary_name() -> str:
    """A new name for a file that is being written."""
    return f".{secrets.token_hex(8)}.tmp"


def is_temporary(name: str) -> bool:
    """Whether a file of this name is being written by us, or was left behind."""
    return name.endswith(".tmp") and _NAME.fullmatch(name) is not None


def lock(folder: int, *, exclusive: bool = False, busy: str = "Another process is writing there.") -> bool:
    """Wait for the lock of an open directory; False where the file system knows none. TimedOut when others do not let go."""
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
def writing_in(folder: int) -> Iterator[None]:
    """Holds the shared lock of an open directory, after removing what others left behind there."""
    remove_leftovers(folder)
    lock(folder)
    try:
        yield
    finally:
        unlock(folder)


##= docs/spec/gateway.md#making-a-backup
##% A backup MUST remove what a backup that was killed left behind.
def remove_leftovers(folder: int) -> None:
    """Remove the temporary files in an open directory whose writers are gone. Nothing while somebody writes there."""
    if not any(map(is_temporary, os.listdir(folder))):
        return
    own = os.open(".", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0), dir_fd=folder)  # the given handle may hold a lock
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
    """Remove the temporary files in an open directory, all or those of a certain age in seconds."""
    newest = None if older_than is None else time.time() - older_than
    for name in filter(is_temporary, os.listdir(folder)):
        with suppress(OSError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode) and (newest is None or found.st_mtime < newest):
                os.unlink(name, dir_fd=folder)
