"""Leases: file locks with a note in the file that names the holder.

A lock needs no heartbeat. It ends when its process ends, whatever the clock says, and cannot be taken from a holder
that was only suspended.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
from pathlib import Path

from contextive.errors import Unavailable
from contextive.store.sql.locks import FileLock

_ATTEMPT_SECONDS = 0.05
"""Long enough to wait for a process that only checks whether the lease is free (see `lease_holder`)."""


class FileLease:
    """A held lease."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock
        self._guard = threading.Lock()

    @property
    def is_held(self) -> bool:
        return self._lock.is_held

    def release(self) -> None:
        with self._guard:
            try:
                if self._lock.is_held:
                    with contextlib.suppress(OSError):  # release the lock even if the note cannot be erased
                        self._lock.write(b"")
            finally:
                self._lock.release()


def acquire_lease(directory: Path, name: str, holder: str) -> FileLease | None:
    """The lease of that name, or None while another process holds it."""
    lock = FileLock(_path_of(directory, name))
    try:
        if not lock.acquire(_ATTEMPT_SECONDS):
            return None
        note = {"holder": holder, "pid": os.getpid(), "host": socket.gethostname()}
        lock.write(json.dumps(note).encode())
    except OSError as error:
        lock.release()
        raise Unavailable(
            "The lease file of the index cannot be written.", hint="Check the state directory and its disk."
        ) from error
    return FileLease(lock)


def lease_holder(directory: Path, name: str) -> str | None:
    """The holder of the lease; None when it is free."""
    path = _path_of(directory, name)
    lock = FileLock(path)
    try:
        if not path.exists():
            return None
        if lock.acquire(0):
            return None
        note = json.loads(path.read_text(encoding="utf-8") or "{}")
    except (OSError, ValueError):
        return None
    finally:
        lock.release()
    holder = note.get("holder")
    return holder if isinstance(holder, str) else None


def _path_of(directory: Path, name: str) -> Path:
    return directory / f"{re.sub(r'[^A-Za-z0-9_-]', '_', name)}.lease"
