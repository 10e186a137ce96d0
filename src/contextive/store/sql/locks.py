"""Locks between processes. The operating system releases the lock of a process that dies immediately."""

from __future__ import annotations

import os
import time
from pathlib import Path

from contextive.locks import try_lock

_PAUSE_SECONDS = 0.005


##= docs/spec/knowledge.md#index-updates
##% The lease of a dead process MUST be available to another process within two seconds.
class FileLock:
    """An exclusive lock on a small file. Two locks in the same process exclude each other too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, timeout_seconds: float) -> bool:
        """Whether the lock was acquired in time. Raises OSError when the file cannot be opened."""
        deadline = time.monotonic() + timeout_seconds
        while not self._try():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        return True

    def _try(self) -> bool:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        if try_lock(descriptor):
            self._descriptor = descriptor
            if self.is_held:
                return True
            # The file was removed between opening and locking, so a lock on it would exclude nobody.
            self._descriptor = None
        os.close(descriptor)
        return False

    @property
    def is_held(self) -> bool:
        """Whether we hold the lock, and on the file that is at the path now."""
        if self._descriptor is None:
            return False
        try:
            current = self.path.stat()
        except OSError:
            return False
        locked = os.fstat(self._descriptor)
        return (locked.st_dev, locked.st_ino) == (current.st_dev, current.st_ino)

    def write(self, content: bytes) -> None:
        """Write a note about the holder into the lock file."""
        if self._descriptor is None:
            return
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, content)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
