"""Tests whether a directory can be written."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
from pathlib import Path

_PROBE_BYTES = 65_536
_LEAST_FREE_BYTES = 16 * 1024 * 1024


def can_write(directory: Path) -> bool:
    """Whether a file can be written there now. It cannot if the disk is full or broken, or no file descriptor is
    free."""
    return write_error(directory, least_free_bytes=0) is None


def write_error(directory: Path, least_free_bytes: int = _LEAST_FREE_BYTES) -> OSError | None:
    """Why a directory cannot be written; None if it can, and at least `least_free_bytes` are left afterwards."""
    try:
        _write_probe(directory)
        if shutil.disk_usage(directory).free < least_free_bytes:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        return error
    return None


def _write_probe(directory: Path) -> None:
    probe = directory / f".probe.{os.getpid()}.{threading.get_ident()}"
    try:
        descriptor = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, bytes(_PROBE_BYTES))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
