"""The requirement files that `duvet report` writes: extracted and written beside the run's other work, where that pays.

A forked process finds the requirements of all specifications, sends them here, and waits for the file system while hundreds of
files are made. Meanwhile this one reads the sources. It is forked before anything is read: what both processes touch later
would have to be copied page by page. Whatever stops it, the work is then done here, and the error is the one that a user
should see.
"""

from __future__ import annotations

import marshal
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from contextive.ingest.traced_project import GeneratedFile, TracedProject
from contextive.trace.extraction import ExtractedRequirement, extract_requirements
from contextive.trace.level import Level
from contextive.trace.specification import Section, Specification
from contextive.trace.target import Target

_ENOUGH_BYTES = 128 * 1024
"""Specifications of so many bytes are extracted aside. Fewer are done sooner than a process is forked."""
_LEVELS = tuple(Level)
_SentText: TypeAlias = tuple[int, list[tuple[int, list[tuple[int, tuple[str, ...]]]]]]
"""The hash of a specification's text and, by the number of their section, levels and quotes."""
_Sent: TypeAlias = dict[tuple[str, str], _SentText]
"""By path and format. Plain values, which need no pickling to cross a pipe."""


class RequirementFiles:
    """The requirement files of one run. They are on the disk when the block ends without an error."""

    def __init__(self, project: TracedProject, *, write: bool) -> None:
        self._project = project
        self._write = write
        self._child: int | None = None
        self._pipe: int | None = None
        self._sent: _Sent | None = None
        self._agrees = True

    def __enter__(self) -> Self:
        if hasattr(os, "fork") and threading.active_count() == 1 and self._bytes() >= _ENOUGH_BYTES:
            self._fork()
            self._project.extractor = self._received
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._project.extractor = None
        if kind is None:
            self.finish()
        else:
            self._end()

    @property
    def aside(self) -> bool:
        """Whether another process is at work on them."""
        return self._child is not None

    def finish(self) -> None:
        """Wait until all files are written."""
        # What was not asked for yet would keep the other process at its pipe.
        self._receive()
        written = self._end()
        if self._write and not (written and self._agrees):
            write_requirement_files(self._project.files.root, self._project.extract())
        self._write = False

    def _bytes(self) -> int:
        """How much there is to extract from."""
        project = self._project
        targets = [project.configured_target(source) for source in project.settings.specifications]
        found = [project.files.fingerprint(project.stored(target)) for target in targets]
        return sum([fingerprint.size for fingerprint in found if fingerprint is not None])

    def _fork(self) -> None:
        self._pipe, theirs = os.pipe()
        self._child = os.fork()
        if self._child:
            os.close(theirs)
            return
        # Nothing of the parent's must run here: no handlers at exit, no buffers that would be written twice.
        status = 1
        try:
            os.close(self._pipe)
            self._work(theirs)
            status = 0
        finally:
            os._exit(status)

    def _work(self, pipe: int) -> None:
        """What the other process does. It stops where a specification cannot be read: its parent will say so."""
        project = self._project
        if any(project.missing()):
            raise LookupError
        generated = project.extract()
        data = marshal.dumps(_plain(project))
        _widen(pipe, len(data))
        _write_all(pipe, data)
        os.close(pipe)
        if self._write:
            write_requirement_files(project.files.root, generated)

    def _received(
        self, target: Target, specification: Specification
    ) -> list[tuple[Section, list[ExtractedRequirement]]]:
        """The requirements of a specification as the other process found them, if it read the same text."""
        self._receive()
        text, sections = (self._sent or {}).get((target.path, target.format), (None, ()))
        if text != hash(specification.source.text):
            self._agrees = False
            return extract_requirements(specification)
        return [
            (specification.sections[index], [ExtractedRequirement(_LEVELS[level], quote) for level, quote in found])
            for index, found in sections
        ]

    def _receive(self) -> None:
        if self._pipe is None:
            return
        pipe, self._pipe = self._pipe, None
        with os.fdopen(pipe, "rb") as stream:
            data = stream.read()
        self._sent = {}
        with suppress(EOFError, TypeError, ValueError):  # it did not come to its end
            self._sent = marshal.loads(data)  # noqa: S302 - from this very program

    def _end(self) -> bool:
        """Wait for the other process. Whether it did all of its work."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if self._child is None:
            return False
        _, status = os.waitpid(self._child, 0)
        self._child = None
        return status == 0


def _plain(project: TracedProject) -> _Sent:
    """What a project's specifications were found to require, in plain values."""
    found = project.extracted()
    return {(target.path, str(target.format)): _plain_of(read, files) for target, read, files in found}


def _plain_of(specification: Specification, files: Sequence[GeneratedFile]) -> _SentText:
    numbers = {id(section): number for number, section in enumerate(specification.sections)}
    sections = [
        (numbers[id(file.section)], [(int(level), quote) for level, quote in file.requirements]) for file in files
    ]
    return hash(specification.source.text), sections


def _widen(pipe: int, size: int) -> None:
    """Have a pipe hold so much that its writer need not wait for the reader, where the system can do that."""
    import fcntl

    with suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def write_requirement_files(root: Path, generated: Sequence[GeneratedFile]) -> None:
    """Write the requirement files. They can be made again at any time, so they need no detour through a temporary file."""
    for folder in {file.path.rpartition("/")[0] for file in generated}:
        (root / folder).mkdir(parents=True, exist_ok=True)
    # Without Python's file objects: there are hundreds of small files, and each would be asked what it is.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | getattr(os, "O_BINARY", 0)
    for file in generated:
        handle = os.open(f"{root}/{file.path}", flags, 0o666)
        try:
            _write_all(handle, file.text.encode("utf-8", "surrogatepass"))
        finally:
            os.close(handle)
