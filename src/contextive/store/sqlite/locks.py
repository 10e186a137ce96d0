"""Locks between processes. The system takes one away from a process that dies, at once and whatever the clock says."""

from __future__ import annotations

import os
import time
from pathlib import Path

from contextive.locks import try_lock

_PAUSE_SECONDS = 0.005


##= docs/spec/knowledge.md#index-updates
##% The lease of a dead process MUST be available to another process within two seconds.
class FileLock:
    """An exclusive lock on a small file. Two of one process exclude each other as those of two processes do."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, timeout_seconds: float) -> bool:
        """Whether the lock could be had in time. OSError when the file cannot be opened at all."""
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
            # The file was taken away between opening and locking; a lock on it would exclude nobody.
            self._descriptor = None
        os.close(descriptor)
        return False

    @property
    def is_held(self) -> bool:
        """Whether we have the lock, on the file that stands at the path now."""
        if self._descriptor is None:
            return False
        try:
            there = self.path.stat()
        except OSError:
            return False
        ours = os.fstat(self._descriptor)
        return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)

    def write(self, content: bytes) -> None:
        """Put a note about the holder into the file."""
        if self._descriptor is None:
            return
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, content)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
