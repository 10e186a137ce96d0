"""A second process for `duvet report`: it takes what the run would otherwise have to wait for, where that pays.

It finds the requirements of all specifications and sends them here. When it is told where citations stand, it makes HTML of the
code around them, and of the last chapters of the report. Then it waits for the file system while hundreds of requirement files
are made. It is forked before anything is read: what both processes touch later would have to be copied page by page. Whatever
stops it, the work is then done here, and the error is the one that a user should see.
"""

from __future__ import annotations

import marshal
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from contextive.ingest.traced_project import GeneratedFile, TracedProject
from contextive.ops.excerpts import NO_BLOCKS, Blocks, Excerpts, places_of
from contextive.ops.requirement_files import make_folders, write_requirement_file, write_requirement_files
from contextive.trace.citation import ParsedFile
from contextive.trace.extraction import ExtractedRequirement, extract_requirements
from contextive.trace.level import Level
from contextive.trace.specification import Section, Specification
from contextive.trace.target import Target

if TYPE_CHECKING:
    from contextive.trace.reports.html import Tail

_ENOUGH_BYTES = 128 * 1024
"""Specifications of so many bytes are extracted aside. Fewer are done sooner than a process is forked."""
_LENGTH_BYTES = 8
_LEVELS = tuple(Level)
_SentText: TypeAlias = tuple[int, list[tuple[int, list[tuple[int, tuple[str, ...]]]]]]
"""The hash of a specification's text and, by the number of their section, levels and quotes."""
_Sent: TypeAlias = dict[tuple[str, str], _SentText]
"""By path and format. Plain values, which need no pickling to cross a pipe."""


class PageLinks(NamedTuple):
    """Where the HTML report leads to: source files and issues on the web."""

    blob: str | None
    issue: str | None


class SecondProcess:
    """The second process of one run, where it pays. Requirement files are on the disk when the block ends without an error."""

    def __init__(self, project: TracedProject, *, write: bool, page: PageLinks | None = None) -> None:
        """`write` asks for requirement files, `page` for parts of the HTML report."""
        self._project = project
        self._write = write
        self._page = page
        self._child: int | None = None
        self._ours = self._theirs = -1
        """The end that we read what it says from, and the one that we tell it with."""
        self._made_file: int | None = None
        """Where the other process leaves what it has made of the page."""
        self._sent: _Sent | None = None
        self._told = False
        self._share: tuple[int, tuple[str, ...]] | None = None
        """The number of the first chapter that the other process makes, and the specifications from there on."""
        self._taken_bytes = 0
        self._agrees = True

    def __enter__(self) -> Self:
        if hasattr(os, "fork") and threading.active_count() == 1 and self._bytes() >= _ENOUGH_BYTES:
            self._fork()
            self._project.extractor = self._received
            self._project.listener = self._tell if self._made_file is not None else None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._project.extractor = self._project.listener = None
        if kind is None:
            self.finish()
        else:
            self._end()

    @property
    def is_at_work(self) -> bool:
        return self._child is not None

    def finish(self) -> None:
        """Wait until all requirement files are written."""
        self._receive()  # what was not asked for yet would keep the other process at its pipe
        written = self._end()
        if self._write and not (written and self._agrees):
            write_requirement_files(self._project.files.root, self._project.extract())
        self._write = False

    def code(self) -> Blocks:
        """The code around citations as HTML, as far as it was made; ask for it once, and before the chapters."""
        made: Blocks = self._made() or NO_BLOCKS
        return made

    def tail(self, specifications: Iterable[Target]) -> Tail:
        """The last chapters of a page on these specifications, if they are made."""
        from contextive.trace.reports.html import NO_TAIL, Tail

        if self._share is None or not self._agrees:
            return NO_TAIL
        first, paths = self._share
        is_same = tuple([target.path for target in specifications][first - 1 :]) == paths
        return Tail(first, lambda: self._made() or {}) if is_same else NO_TAIL

    # -- here ----------------------------------------------------------------------------------------------------------

    def _bytes(self) -> int:
        """How much there is to extract from."""
        project = self._project
        targets = [project.configured_target(source) for source in project.settings.specifications]
        found = [project.files.fingerprint(project.stored(target)) for target in targets]
        return sum([fingerprint.size for fingerprint in found if fingerprint is not None])

    def _tell(self, generated: Sequence[GeneratedFile], parsed: Sequence[ParsedFile]) -> None:
        """Say what the sources say, so that a part of the page can be made while they are matched."""
        if self._child is None or self._told:
            return
        from contextive.ops.page_share import page_share

        self._receive()  # the other process says all that it has to say before it listens
        share = page_share(self._project, generated, parsed)
        others = frozenset(share.paths) if share else frozenset[str]()
        ours = places_of([c for file in parsed for c in file.citations if c.target_path not in others])
        told: Any = {path: list(lines) for path, lines in ours.items()}, tuple(share) if share else None
        with suppress(BrokenPipeError):
            _send(self._theirs, marshal.dumps(told))
            self._told = True
            self._share = (share.first, share.paths) if share else None

    def _made(self) -> Any:
        """The next part of the page that the other process has made; None where it has not."""
        if self._child is None or self._made_file is None or not self._told:
            return None
        size = _taken(self._ours)
        if size is None:
            return None
        data = os.pread(self._made_file, int.from_bytes(size), self._taken_bytes)
        self._taken_bytes += len(data)
        return _loaded(data)

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
        if self._sent is None and self._child is not None:
            self._sent = _loaded(_taken(self._ours))

    def _end(self) -> bool:
        """Wait for the other process. Whether it did all of its work."""
        if self._child is None:
            return False
        for handle in (self._ours, self._theirs, self._made_file):
            if handle is not None:
                os.close(handle)
        _, status = os.waitpid(self._child, 0)
        self._child = None
        return status == 0

    # -- there ---------------------------------------------------------------------------------------------------------

    def _fork(self) -> None:
        if self._page is not None and hasattr(os, "memfd_create"):
            # Pipes hold little, so what is made is left in a file in memory. And both need what the page is made with.
            import contextive.ops.page_share  # noqa: F401

            self._made_file = os.memfd_create("page")
        (ours, says), (hears, theirs) = os.pipe(), os.pipe()
        self._child = os.fork()
        if self._child:
            os.close(says)
            os.close(hears)
            self._ours, self._theirs = ours, theirs
            return
        # Nothing of the parent's must run here: no handlers at exit, no buffers that would be written twice.
        status = 1
        try:
            os.close(ours)
            os.close(theirs)
            self._work(says, hears)
            status = 0
        finally:
            os._exit(status)

    def _work(self, says: int, hears: int) -> None:
        """What the other process does. It stops where a specification cannot be read: its parent will say so."""
        project = self._project
        if any(project.missing()):
            raise LookupError
        generated = project.extract()
        _send(says, marshal.dumps(_plain(project)))
        if self._write:
            make_folders(project.files.root, generated)
            # The page is waited for, files are not: so whenever it can be made, it comes first.
            waits = self._made_file is not None
            for file in generated:
                if waits and _is_readable(hears):
                    self._make_page(says, hears)
                    waits = False
                write_requirement_file(project.files.root, file)
            if not waits:
                return
        self._make_page(says, hears)

    def _make_page(self, says: int, hears: int) -> None:
        """Make the parts of the page that are asked for, if any are."""
        asked = _taken(hears)
        if asked is None or self._made_file is None or self._page is None:
            return
        from contextive.ops.page_share import PageShare, make_share

        places, share = _loaded(asked)
        self._leave(says, Excerpts(self._project.files, places).all())
        if share is not None:
            blob, issue = self._page
            self._leave(says, make_share(self._project, PageShare(*share), blob_link=blob, issue_link=issue))

    def _leave(self, says: int, made: Mapping[Any, Any]) -> None:
        assert self._made_file is not None
        data = marshal.dumps(dict(made))
        _write_all(self._made_file, data)
        _send(says, len(data).to_bytes(_LENGTH_BYTES))


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


# -- messages: their length, then their bytes ---------------------------------------------------------------------------


def _send(pipe: int, data: bytes) -> None:
    _widen(pipe, len(data) + _LENGTH_BYTES)
    _write_all(pipe, len(data).to_bytes(_LENGTH_BYTES) + data)


def _taken(pipe: int) -> bytes | None:
    """The next message; None where the other side ended before it was whole."""
    head = _read_all(pipe, _LENGTH_BYTES)
    return None if head is None else _read_all(pipe, int.from_bytes(head))


def _read_all(pipe: int, size: int) -> bytes | None:
    parts, missing = [], size
    while missing and (part := os.read(pipe, missing)):
        parts.append(part)
        missing -= len(part)
    return None if missing else b"".join(parts)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _loaded(data: bytes | None) -> Any:
    """What a message says; nothing where none came."""
    return marshal.loads(data) if data is not None else {}  # noqa: S302 - from this very program


def _widen(pipe: int, size: int) -> None:
    """Have a pipe hold so much that its writer need not wait for the reader, where the system can do that."""
    import fcntl

    with suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)


def _is_readable(pipe: int) -> bool:
    import select

    return bool(select.select([pipe], [], [], 0)[0])
