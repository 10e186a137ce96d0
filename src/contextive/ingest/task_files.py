"""What is known about the files that tasks name, and the only code that writes to a task list."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from contextive.errors import Conflict, Forbidden
from contextive.file_writing import NewFile, NotRegular, lock, remove_leftovers, sync_folder
from contextive.locks import unlock
from contextive.trace.formats.values import FormatSpecification, Task
from contextive.workspace.directory_handles import open_folder, open_nested_folder, open_regular
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.files import FileText, ProjectFiles
from contextive.workspace.first_commits import first_commits
from contextive.workspace.globs import walk_by_ending
from contextive.workspace.line_commits import last_changes

_SPEC_FOLDERS: Final = frozenset((".kiro", ".specify", "specs", "openspec"))
_TICKED: Final = b"x"


class TaskFiles:
    """The files that the tasks of one specification name. A path may be relative to the folder of the specification's
    tool, or be the end of a longer path."""

    def __init__(self, files: ProjectFiles, specification: FormatSpecification) -> None:
        self._files = files
        self._specification = specification
        self._folders = DirectoryListings()
        parts = specification.path.split("/")
        first = next((number for number, part in enumerate(parts) if part in _SPEC_FOLDERS), 0)
        self._base = "/".join(parts[:first])

    def evidence(self, path: str) -> str:
        """That a file exists, or that it changed since its task was added; else nothing."""
        if self._exists(path):
            return "exists"
        if posixpath.normpath(path) in self._changed_later:
            return "changed after its task was added"
        return ""

    def _exists(self, path: str) -> bool:
        path = posixpath.normpath(path)
        if path.startswith(("/", "../")):
            return False
        candidates = [path, f"{self._base}/{path}"] if self._base else [path]
        return any(self._files.is_file(name, self._folders) for name in candidates) or self._is_end_of_a_path(path)

    def _is_end_of_a_path(self, path: str) -> bool:
        return any(found.endswith(f"/{path}") for found in self._by_name.get(path.rpartition("/")[2], ()))

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        """The files of the project with an ending that some task names, by name."""
        endings = frozenset(path.rpartition(".")[2] for path in self._named())
        found: dict[str, list[str]] = {}
        for path, _ in walk_by_ending(str(self._files.root), endings, self._folders):
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    @cached_property
    def _changed_later(self) -> frozenset[str]:
        """The named files that do not exist and that a commit changed in or after the one that added the tasks."""
        paths = {task.place.path for task in self._specification.tasks}
        missing = {path for path in map(posixpath.normpath, self._named()) if not self._exists(path)}
        added = [time for path in paths for time in _added(self._files.root, path)]
        if not missing or not added:
            return frozenset()
        changes = last_changes(self._files.root, missing)
        return frozenset(path for path, time in changes.items() if time >= min(added))

    def _named(self) -> Iterator[str]:
        return (path for task in self._specification.tasks for path in task.files)


def _added(root: Path, path: str) -> Iterable[float]:
    found = first_commits(root, path.rpartition("/")[0])
    return [found[path]] if path in found else []


def version_of(files: ProjectFiles, path: str) -> str:
    """The digest of a task list, which changes with every edit; empty if it cannot be read."""
    content = files.read(path)
    return _digest(content.text.encode("utf-8")) if isinstance(content, FileText) else ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class TickedBox:
    """A box that was ticked, and the digest of the file since then."""

    path: str
    line: int
    version: str


##= docs/spec/trace.md#spec-driven-formats
##% Ticking a task MUST change exactly one character of its file, which must not have changed since it was read.
def tick(root: Path, task: Task, version: str) -> TickedBox:
    """Tick the box of a task in its file, if the file has this digest."""
    path = task.place.path
    with _opened_folder(root, path.rpartition("/")[0]) as folder:
        name = path.rpartition("/")[2]
        try:
            with os.fdopen(open_regular(folder, name), "rb") as file:
                data = file.read()
        except (NotRegular, OSError):
            raise Forbidden("The task list is not a regular file.") from None
        if _digest(data) != version:
            raise Conflict("The task list changed.", hint="Read it again with list_tasks.")
        offset = len(data.decode("utf-8")[: task.box].encode("utf-8"))
        ticked = data[:offset] + _TICKED + data[offset + 1 :]
        new = NewFile(folder, like=name)
        try:
            new.stream.write(ticked)
            new.publish(name)
        finally:
            new.discard()
        sync_folder(folder)
    return TickedBox(path, task.place.line, _digest(ticked))


@contextmanager
def _opened_folder(root: Path, path: str) -> Iterator[int]:
    """A locked handle of a directory below the root. Links are not followed."""
    top = open_folder(root)
    try:
        try:
            handle = open_nested_folder(top, path.split("/"))
        except OSError:
            raise Forbidden("The task list is outside the project.") from None
    finally:
        os.close(top)
    try:
        remove_leftovers(handle)
        lock(handle, exclusive=True, busy="Another process is writing tasks.")
        yield handle
    finally:
        unlock(handle)
        os.close(handle)
