"""Open files step by step from an open directory, so no link can lead elsewhere.

Every step opens one name inside an open directory and refuses links. This also refuses a link that is created between
a check and its use.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from contextive.errors import ProjectMissing, UnsupportedOperation
from contextive.file_writing import HAS_FOLDER_HANDLES, OPEN_FOLDER, NotRegular, remove_leftovers, sync_folder

Identity = tuple[int, int]
"""The device and inode number, which identify a file or directory regardless of its name."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
READ_REGULAR = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | _NO_LINK


##= docs/spec/host.md#errors
##% A tool MUST fail with the code `project_missing` if the project directory no longer exists.
def require_project(root: Path) -> None:
    """Raise if the directory of a project does not exist, which is not the same as a project without files."""
    if not root.is_dir():
        raise ProjectMissing


def open_folder(path: Path) -> int:
    """Open a directory that its owner named. It may be a link.

    All writes into a project start here. A system without directory handles, such as Windows, cannot exclude that a
    link is created between a check and its use, so writing is refused there.
    """
    if not HAS_FOLDER_HANDLES:
        raise UnsupportedOperation(
            "Project files cannot be written safely on this system.",
            hint="Use Linux or macOS, or a Linux container, for tools that write.",
        )
    return os.open(path, OPEN_FOLDER)


def open_child_folder(folder: int, name: str, *, make: bool = False, mode: int = 0o777) -> int:
    """Open a directory inside an open one. With `make`, it is created if it is missing. Links are not followed."""
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=folder)
            sync_folder(folder)
    return os.open(name, OPEN_FOLDER | _NO_LINK, dir_fd=folder)


def open_nested_folder(top: int, parts: Iterable[str], *, make: bool = False, mode: int = 0o777) -> int:
    """Open a directory several levels below an open one."""
    handle = os.dup(top)
    for part in parts:
        try:
            following = open_child_folder(handle, part, make=make, mode=mode)
        finally:
            os.close(handle)
        handle = following
    return handle


def identity(handle: int) -> Identity:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino


def identity_of(path: Path) -> Identity | None:
    """The identity of the file or directory at a path, or None if there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def open_regular(folder: int, name: str) -> int:
    """Open a regular file for reading. Pipes and devices are never opened."""
    if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise NotRegular
    handle = os.open(name, READ_REGULAR, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotRegular
    return handle


##= docs/spec/knowledge.md#indexed-files
##% The next run MUST remove temporary files whose writer was killed, but never one that is still being written.
def remove_leftovers_below(root: Path, folders: Iterable[str]) -> None:
    """Remove temporary files of killed writers from some directories of a project, without following links."""
    for folder in folders:
        with suppress(OSError):  # they stay in a directory that cannot be written
            top = open_folder(root)
            try:
                handle = open_nested_folder(top, filter(None, folder.split("/")))
            finally:
                os.close(top)
            try:
                remove_leftovers(handle)
            finally:
                os.close(handle)


def confusable_name(folder: int, name: str) -> str | None:
    """Another name in a directory that some file systems or readers cannot distinguish from this one."""
    folded = fold_name(name)
    return next((other for other in os.listdir(folder) if other != name and fold_name(other) == folded), None)


def fold_name(name: str) -> str:
    """A name in a form that is equal for names that file systems or readers may confuse."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", visible.casefold()).rstrip(". ")
