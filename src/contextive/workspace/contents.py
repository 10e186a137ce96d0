"""Read the bytes of a file safely, and check whether they are text that may be indexed."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from contextive.workspace.files import Fingerprint
from contextive.workspace.secrets import contains_secret

SkipReason = Literal[
    "bad_name",
    "binary",
    "dot_directory",
    "excluded",
    "generated",
    "generated_directory",
    "ignored",
    "image",
    "lock_file",
    "minified",
    "not_included",
    "parse_limit",
    "secret",
    "special",
    "state_directory",
    "symlink",
    "temporary",
    "too_large",
    "unreadable",
    "vendored",
]
"""Why a file or a directory is left out of the index."""

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)  # non-blocking, in case the file is replaced by a pipe before it is opened


@dataclass(frozen=True, slots=True)
class Contents:
    """The bytes of a file and its fingerprint when they were read."""

    data: bytes
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is left out of the index, with its fingerprint if the file could be opened."""

    reason: SkipReason
    fingerprint: Fingerprint | None = None


##= docs/spec/knowledge.md#indexed-files
##% Indexing MUST NOT follow links or wait for pipes or devices.
def read_bytes(root: Path, path: str, limit: int) -> Contents | Skipped:
    """The bytes of a regular file below the root. Links are never followed, even if the path changes meanwhile."""
    if not is_inside(path):
        return Skipped("bad_name")
    absolute = os.path.join(root, path)  # noqa: PTH118 - strings, for speed
    try:
        handle = os.open(absolute, _OPEN_FLAGS)
    except (OSError, ValueError):
        return Skipped(_why_not_opened(absolute))
    try:
        return _read_open(handle, limit) if _is_file_at_path(root, path, handle) else Skipped("symlink")
    except OSError:
        return Skipped("unreadable")
    finally:
        os.close(handle)


##= docs/spec/knowledge.md#indexed-files
##% A file whose name or content shows that it holds a secret MUST NOT be indexed.
def decode_text(data: bytes) -> str | Skipped:
    """The text of a file, or the reason why it is not indexed."""
    if b"\0" in data:
        return Skipped("binary")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Skipped("binary")
    return Skipped("secret") if contains_secret(text) else text


def is_inside(path: str) -> bool:
    """Whether a relative path stays below its root, judged by its text only."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _why_not_opened(absolute: str) -> SkipReason:
    try:
        mode = os.lstat(absolute).st_mode
    except (OSError, ValueError):
        return "unreadable"
    if stat.S_ISLNK(mode):
        return "symlink"
    return "unreadable" if stat.S_ISREG(mode) else "special"


##= docs/spec/knowledge.md#indexed-files
##% A file larger than `knowledge.maxFileBytes`, or one that is not text, MUST be left out.
def _read_open(handle: int, limit: int) -> Contents | Skipped:
    found = os.fstat(handle)
    fingerprint = Fingerprint.of(found)
    if not stat.S_ISREG(found.st_mode):
        return Skipped("special", fingerprint)
    if found.st_size > limit:
        return Skipped("too_large", fingerprint)
    with open(handle, "rb", closefd=False) as file:
        data = file.read(limit + 1)
    return Skipped("too_large", fingerprint) if len(data) > limit else Contents(data, fingerprint)


def _is_file_at_path(root: Path, path: str, handle: int) -> bool:
    """Whether an open file is the one at this path, without links. Asks the handle, because the path can change."""
    absolute = os.path.join(root, path)  # noqa: PTH118
    try:
        real = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
    except OSError:
        real = os.path.realpath(absolute)  # not available on this system
    if real == absolute:
        return True
    expected = os.path.join(os.path.realpath(root), path)  # noqa: PTH118
    # If another file was just moved over this one, the handle still refers to the file that was there.
    return real in (expected, f"{expected} (deleted)")
