"""Writes files below the notes folders: completely or not at all, one writer at a time, never through a link.

Each directory on the way down from the project root is opened relative to its parent, and links are refused. So no
link can lead outside, not even one created between a check and its use.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from contextive.errors import Conflict, Forbidden, TooLarge, Unavailable
from contextive.file_writing import NewFile, NotRegular, lock, remove_leftovers, remove_temporary, sync_folder
from contextive.ingest.writing_rules import check_name, check_text
from contextive.locks import unlock
from contextive.workspace.directory_handles import READ_REGULAR, open_folder, open_nested_folder

MAX_NOTE_BYTES = 4 * 1024 * 1024
_BUSY = "Another process is writing notes."


@dataclass(frozen=True, slots=True)
class _Staged:
    """A file that is written under a temporary name."""

    folder: int
    new: NewFile
    name: str
    replaces: bool


@dataclass(slots=True)
class FolderWriter:
    """Stages changes one by one and then commits them together. Created by `open_writer`."""

    root: int
    bases: tuple[str, ...]
    _folders: dict[str, int] = field(default_factory=dict)
    _staged: list[_Staged] = field(default_factory=list)
    _removed: list[tuple[int, str]] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    """The current texts of the files that will be replaced or removed."""

    def read(self, path: str) -> str | None:
        """The current text of a file; None if it does not exist."""
        folder, name = self._open_parent(path)
        try:
            handle = os.open(name, READ_REGULAR, dir_fd=folder)
        except FileNotFoundError:
            return None
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise Forbidden("The note is not a regular file.")
            return file.read().decode("utf-8", "surrogateescape")

    def create(self, path: str, text: str) -> None:
        """Stage a file that must not exist yet."""
        folder, name = self._open_parent(path, make=True)
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            raise Conflict(f"The file {path} already exists.", hint="Choose another name.")
        self._stage(folder, name, text, replaces=False)

    def replace(self, path: str, text: str) -> None:
        """Stage a new text for an existing file."""
        folder, name = self._open_parent(path)
        self._stage(folder, name, text, replaces=True)
        self._remember(path)

    def remove(self, path: str) -> None:
        """Stage the removal of a file."""
        self._removed.append(self._open_parent(path))
        self._remember(path)

    def commit(self) -> None:
        """Publish new files first, then changed ones, and remove files last, so nothing is lost."""
        for staged in sorted(self._staged, key=lambda staged: staged.replaces):
            try:
                staged.new.publish(staged.name, overwrite=staged.replaces)
            except FileExistsError:
                raise Conflict("A file with this name already exists.", hint="Choose another name.") from None
        for folder in {staged.folder for staged in self._staged}:
            sync_folder(folder)  # before removals: after a power cut only the removal might remain
        for folder, name in self._removed:
            os.unlink(name, dir_fd=folder)
        for folder in {folder for folder, _ in self._removed}:
            sync_folder(folder)

    def close(self) -> None:
        for staged in self._staged:
            staged.new.discard()
        for handle in self._folders.values():
            unlock(handle)
            os.close(handle)

    def _remember(self, path: str) -> None:
        current = self.read(path)
        if current is not None:
            self.replaced[path] = current

    def _open_parent(self, path: str, *, make: bool = False) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        parts = path.split("/")
        inside = any(is_below(path, base) for base in self.bases)
        if not inside or any(part in ("", ".", "..") or part.startswith(".") or "\0" in part for part in parts):
            raise Forbidden("Notes are written below the notes folder only.")
        if folder not in self._folders:
            self._folders[folder] = handle = open_below(self.root, folder, make=make)
            remove_leftovers(handle)
            lock(handle, busy=_BUSY)
        return self._folders[folder], name

    ##= docs/spec/notes.md#writing-rules
    ##% A note MUST be written completely or not at all.
    def _stage(self, folder: int, name: str, text: str, *, replaces: bool) -> None:
        check_name(name)
        check_text(text)
        data = text.encode("utf-8", "surrogateescape")
        if len(data) > MAX_NOTE_BYTES:
            raise TooLarge(f"A note has at most {MAX_NOTE_BYTES} bytes.", hint="Split it.")
        new = NewFile(folder, like=name if replaces else None)
        self._staged.append(_Staged(folder, new, name, replaces))
        new.stream.write(data)
        new.finish()


##= docs/spec/notes.md#writing-rules
##% Each of several concurrent writers MUST either succeed or get an error.
@contextmanager
def open_writer(root: Path, bases: tuple[str, ...]) -> Iterator[FolderWriter]:
    """A writer for some folders of the project. The first is created if missing. Other processes wait meanwhile."""
    writer: FolderWriter | None = None
    try:
        top = open_folder(root)
        try:
            handle = open_below(top, bases[0], make=True)
            writer = FolderWriter(top, bases, _folders={bases[0]: handle})
            if lock(handle, exclusive=True, busy=_BUSY):
                remove_temporary(handle)
            yield writer
        finally:
            if writer is not None:
                writer.close()
            os.close(top)
    except OSError as failure:
        raise _translate_os_error(failure) from None


##= docs/spec/notes.md#writing-rules
##% A note MUST NOT be written through a symbolic link or outside the note folders.
def open_below(top: int, folder: str, *, make: bool = False) -> int:
    """A handle of a directory below another one, opened without following links."""
    return open_nested_folder(top, filter(None, folder.split("/")), make=make)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is inside a folder; the empty folder is the project."""
    return not folder or path.startswith(f"{folder}/")


def _translate_os_error(failure: OSError) -> Unavailable | Forbidden:
    if isinstance(failure, NotRegular):
        return Forbidden("The note is not a regular file.")
    if failure.errno in (errno.ELOOP, errno.ENOTDIR):
        return Forbidden("Notes are not written through links.")
    return Unavailable(f"The notes cannot be written: {failure.strerror or 'system error'}.")
