"""Stores documents below the content root: copies of files, or texts.

All transports use this module, so all rules are enforced here. A document is written completely or not at all; if two
callers write the same name, one gets an error. The file is written inside the transaction of the audit entry, so
without an audit entry there is no file. A refused call adds an entry too, with nothing but the error code.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from contextive.errors import ContextiveError, Forbidden, InvalidRequest, TooLarge, Unavailable
from contextive.file_writing import NotRegular, write_file_in
from contextive.ingest.document_rules import (
    PROSE_ENDINGS,
    TEXT_ENDINGS,
    UPLOAD_ENDINGS,
    Destination,
    check_destination,
    ending_of,
    name_from_time,
    name_from_title,
    parse_destination,
    split_path,
)
from contextive.ingest.document_text import Draft, compose_document, to_one_line
from contextive.ingest.writing_rules import check_text, is_configuration
from contextive.store.values import AuditEntry
from contextive.workspace.directory_handles import (
    Identity,
    confusable_name,
    identity,
    identity_of,
    open_child_folder,
    open_folder,
    open_regular,
)
from contextive.workspace.discovery import reason_to_leave_out
from contextive.workspace.generated_files import reason_by_content
from contextive.workspace.secrets import is_secret_name

if TYPE_CHECKING:
    from contextive.store.protocol import Store

logger = logging.getLogger(__name__)

UPLOAD = "km-upload"
STORE_TEXT = "km-storetext"
_MAX_UNTITLED = 100
_OTHER_DESTINATION = "Choose another destination."
_LEFT_OUT = {
    "ignored": (
        "git or .contextiveignore ignores it",
        "Choose another destination, or include this one in .contextiveignore, such as !docs/.",
    ),
    "excluded": ("knowledge.exclude excludes it", "Choose another destination, or change the setting."),
    "not_included": ("knowledge.include does not include it", "Choose another destination, or add it to the setting."),
}
_NAMES_EXHAUSTED = "Too many texts without a title were stored this second."


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """Where documents are stored, where they may be copied from, and how large they may be."""

    project: Path
    state_dir: Path
    content_root: str = "."
    docs_subdir: str = "docs"
    upload_roots: tuple[str, ...] = ()
    max_bytes: int = 1_048_576
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """What the index includes and excludes: a document that it leaves out is refused."""
    overwrite: bool = False
    """Whether a file is replaced by default."""
    ingest: bool = False
    """Whether a document is indexed immediately by default."""
    protected_files: tuple[Path, ...] = ()
    """Files that are neither copied nor replaced under any name, such as the configuration."""


@dataclass(frozen=True, slots=True)
class Requester:
    """The caller, for the audit log."""

    name: str
    request_id: str = ""
    client: str | None = None
    """The name of the program that the caller uses, as it introduced itself."""
    ##= docs/spec/host.md#permissions
    ##% Backups, queries of the graph, recipes and uploads from outside the project MUST require the maintainer scope.
    may_read_outside: bool = True
    """Whether the caller may upload files from outside the project."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document that was stored below the content root."""

    path: Path
    relative_path: str
    overwritten: bool
    size: int
    sha256: str
    is_searchable: bool = True
    """Whether search can read this type of file."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to copy: its content, its name, and its path below the root it was found in."""

    data: bytes
    name: str
    relative_path: str


class Documents:
    """Stores documents below the content root of a project. Safe to use from many threads and processes."""

    def __init__(
        self, settings: DocumentSettings, store: Callable[[], Store], clock: Callable[[], float] = time.time
    ) -> None:
        self.settings = settings
        self._store = store
        self._clock = clock
        self._docs = tuple(part for part in settings.docs_subdir.split("/") if part not in ("", "."))

    ##= docs/spec/gateway.md#km-upload
    ##% The tool `km-upload` MUST copy a file from the project, or from `knowledge.uploadRoots`, to a path below the
    ##% content root.
    def upload(
        self,
        source_path: str,
        destination: str | None,
        overwrite: bool | None,
        requester: Requester,
        *,
        must_be_searchable: bool = False,
    ) -> StoredDocument:
        """Copy a file from the project or from an upload root. With `must_be_searchable`, files that search cannot read
        are refused."""
        with self._audit_refusals(UPLOAD, requester):
            target = parse_destination(destination, self._docs)
            source = self._read_source(source_path, requester)
            target = Destination(target.folder, target.name or source.name)
            relative = check_destination(target, self._docs, UPLOAD_ENDINGS)
            self._check_content(source.data, ending_of(relative))
            if must_be_searchable and ending_of(relative) not in TEXT_ENDINGS:
                raise InvalidRequest(
                    f"Files of type .{ending_of(relative)} are not indexed.",
                    hint="Set ingest to false to store it anyway.",
                )
            facts = {"source": source.relative_path}
            return self._put(UPLOAD, requester, target, source.data, overwrite=overwrite, facts=facts)

    ##= docs/spec/gateway.md#km-storetext
    ##% Empty content MUST be refused with `invalid_request`.
    def store_text(
        self, draft: Draft, destination: str | None, overwrite: bool | None, requester: Requester
    ) -> StoredDocument:
        """Store a text as a new document."""
        with self._audit_refusals(STORE_TEXT, requester):
            target = parse_destination(destination, self._docs)
            names = [target.name] if target.name else list(self._names_for(draft))
            relative = check_destination(Destination(target.folder, names[0]), self._docs, TEXT_ENDINGS)
            data = self._document(draft, ending_of(relative))
            is_untitled = len(names) > 1  # never overwrites another document
            for name in names:
                chosen = Destination(target.folder, name)
                try:
                    return self._put(STORE_TEXT, requester, chosen, data, overwrite=False if is_untitled else overwrite)
                except _FileExists:
                    if not is_untitled:
                        raise
            raise InvalidRequest(_NAMES_EXHAUSTED, hint="Give a title.")

    # Content

    def _names_for(self, draft: Draft) -> Iterator[str]:
        if title := to_one_line(draft.title or ""):
            yield name_from_title(title)
            return
        now = self._clock()
        for attempt in range(1, _MAX_UNTITLED):
            yield name_from_time(now, attempt)

    def _document(self, draft: Draft, ending: str) -> bytes:
        if not draft.content.strip():
            raise InvalidRequest("The content is empty.", hint="Pass the text to store.")
        if draft.has_front_matter and ending not in PROSE_ENDINGS:
            raise InvalidRequest(
                f"A .{ending} file has no front matter.", hint="Leave out title, subsystem, tags and metadata."
            )
        try:
            data = compose_document(draft).encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidRequest("The content has an unpaired surrogate.", hint="Send valid Unicode.") from None
        if len(data) > self.settings.max_bytes:
            raise TooLarge(
                f"The document has {len(data)} bytes, {self.settings.max_bytes} are allowed.", hint="Split it."
            )
        self._check_content(data, ending)
        return data

    def _check_content(self, data: bytes, ending: str) -> None:
        """Refuse secrets, and text files that are not text."""
        if ending in TEXT_ENDINGS:
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                raise InvalidRequest(f"The content is not UTF-8 text, as a .{ending} file must be.") from None
            if "\0" in text:
                raise InvalidRequest("The content has a NUL character.")
        else:
            text = data.decode("latin-1")
        check_text(text)

    # Reading the source

    def read_text(self, source_path: str, requester: Requester) -> tuple[str, str] | None:
        """The name and the text of a file that may be copied; None if there is no such file."""
        try:
            source = self._read_source(source_path, requester)
        except _SourceMissing:
            return None
        if ending_of(source.name) not in TEXT_ENDINGS:
            raise InvalidRequest(
                "Only text files can be sent to a gateway.", hint="Convert the file to Markdown first."
            )
        self._check_content(source.data, ending_of(source.name))
        return source.name, source.data.decode("utf-8")

    ##= docs/spec/gateway.md#km-upload
    ##% A missing source MUST be refused with `invalid_request`.
    def _read_source(self, given: str, requester: Requester) -> _Source:
        root, parts = self._locate(given, requester.may_read_outside)
        name = parts[-1]
        if any(part.startswith(".") for part in parts):
            raise Forbidden("Hidden files are not copied.")
        if is_secret_name(name) or is_configuration(name):
            raise Forbidden("Files with this name contain secrets; they are not copied.")
        missing = _SourceMissing(
            "The source does not exist.", hint="Use a path relative to the project or below an upload root."
        )
        try:
            handle = open_folder(root)
            try:
                for part in parts[:-1]:
                    handle = self._open_child(handle, part)
                source = open_regular(handle, name)
            finally:
                os.close(handle)
        except NotRegular:
            raise InvalidRequest(
                "The source is not a regular file.", hint="Links and directories are not copied."
            ) from None
        except FileNotFoundError:
            raise missing from None
        except OSError as failure:
            raise _translate_os_error(failure, "read") from None
        with os.fdopen(source, "rb") as file:
            return _Source(self._read_open(source, file.read), name, "/".join(parts))

    ##= docs/spec/gateway.md#document-rules
    ##% Hidden files, links, secrets, and files outside the project and the upload roots MUST NOT be copied.
    def _locate(self, given: str, may_read_outside: bool) -> tuple[Path, tuple[str, ...]]:
        """The allowed root that contains a path, and the parts of the path below it."""
        if not given.strip() or given.startswith("~"):
            raise InvalidRequest("The source is not a plain path.", hint="Use a path relative to the project.")
        parts = split_path(given, "source")
        if not given.startswith("/"):
            return self.settings.project, parts
        roots = [self.settings.project, *(self._absolute_path(root) for root in self.settings.upload_roots)]
        for number, root in enumerate(roots):
            for known in {root, Path(os.path.realpath(root))}:
                prefix = tuple(part for part in known.parts if part != "/")
                if len(parts) > len(prefix) and parts[: len(prefix)] == prefix:
                    if number > 0 and not may_read_outside:
                        raise Forbidden(
                            "Uploads from outside the project need the maintainer scope.",
                            hint="Set KM_ADMIN_TOKEN, or copy the file into the project first.",
                        )
                    return root, parts[len(prefix) :]
        raise Forbidden(
            "The source is outside the project and outside all upload roots.",
            hint="Add its directory to knowledge.uploadRoots (KM_UPLOAD_ROOTS).",
        )

    def _read_open(self, handle: int, read: Callable[[int], bytes]) -> bytes:
        found = os.fstat(handle)
        if found.st_nlink > 1:
            raise Forbidden("The source has more than one hard link.", hint="Make a copy of it first.")
        if (found.st_dev, found.st_ino) in self._identities(self.settings.protected_files):
            raise Forbidden("The configuration is not copied.")
        limit = self.settings.max_bytes
        try:
            data = read(limit + 1) if found.st_size <= limit else b""
        except OSError as failure:
            raise _translate_os_error(failure, "read") from None
        if found.st_size > limit or len(data) > limit:
            raise TooLarge(f"The source is larger than {limit} bytes.", hint="knowledge.maxFileBytes sets the limit.")
        return data

    # Writing

    ##= docs/spec/gateway.md#document-rules
    ##% An existing file MUST be replaced only with `overwrite`, or if `knowledge.uploadDefaultOverwrite` is true.
    def _put(
        self,
        tool: str,
        requester: Requester,
        target: Destination,
        data: bytes,
        *,
        overwrite: bool | None,
        facts: Mapping[str, str] = MappingProxyType({}),
    ) -> StoredDocument:
        assert target.name is not None
        relative = "/".join((*target.folder, target.name))
        digest = hashlib.sha256(data).hexdigest()
        self._check_is_indexed(relative, data)
        with self._store().transaction() as writer:
            overwritten = self._write_file(
                target.folder, target.name, data, self.settings.overwrite if overwrite is None else overwrite
            )
            body = {"relative_path": relative, "bytes": len(data), "sha256": digest, "overwritten": overwritten}
            writer.put_audit(self._entry(tool, requester, {**body, **facts}))
        searchable = ending_of(relative) in TEXT_ENDINGS
        return StoredDocument(self._content_root() / relative, relative, overwritten, len(data), digest, searchable)

    ##= docs/spec/gateway.md#document-rules
    ##% A document that would not be indexed because of its path or content MUST be refused with the reason.
    def _check_is_indexed(self, relative: str, data: bytes) -> None:
        project, content_root = self.settings.project, self._content_root()
        if not content_root.is_relative_to(project):
            project, content_root = Path(os.path.realpath(project)), Path(os.path.realpath(content_root))
        if not content_root.is_relative_to(project):
            raise InvalidRequest(
                "The content root is outside the project, and only files of the project are indexed.",
                hint="Set knowledge.contentRoot (KM_CONTENT_ROOT) to a directory of the project.",
            )
        settings = self.settings
        path = (content_root / relative).relative_to(project).as_posix()
        reason = reason_to_leave_out(project, path, settings.include, settings.exclude, settings.state_dir)
        if reason in ("image", "binary", "state_directory"):
            return  # an attachment, which gets a warning; or a directory that is forbidden when it is opened
        if reason is None and ending_of(relative) in TEXT_ENDINGS:
            reason = reason_by_content(path, data.decode("utf-8"))
        if reason is not None:
            why, hint = _LEFT_OUT.get(reason, (f"it would be left out ({reason})", _OTHER_DESTINATION))
            raise InvalidRequest(f"{relative} would not be indexed: {why}.", hint=hint)

    ##= docs/spec/gateway.md#document-rules
    ##% A document MUST be written completely or not at all, and if two callers write the same name, one of them is
    ##% refused.
    def _write_file(self, parts: tuple[str, ...], name: str, data: bytes, may_replace: bool) -> bool:
        try:
            with self._folder(parts) as folder:
                self._check_name(folder, name)
                return write_file_in(folder, name, data, overwrite=may_replace)
        except FileExistsError:
            raise _FileExists(
                "The destination already exists.", hint="Choose another destination, or set overwrite."
            ) from None
        except NotRegular:
            raise Forbidden("The destination is not a regular file.") from None
        except OSError as failure:
            raise _translate_os_error(failure, "written") from None

    ##= docs/spec/gateway.md#document-rules
    ##% A document MUST NOT be written outside the content root, through a link, or under a hidden name.
    @contextmanager
    def _folder(self, parts: tuple[str, ...]) -> Iterator[int]:
        """Open the target directory from the content root without following links; create it if it is missing."""
        handle = self._open_content_root()
        try:
            for part in parts:
                if twin := confusable_name(handle, part):
                    raise InvalidRequest(
                        f"There is a directory {twin}, and some systems treat {part} as the same name.",
                        hint="Use its name.",
                    )
                handle = self._open_child(handle, part, make=True)
            yield handle
        finally:
            os.close(handle)

    def _check_name(self, folder: int, name: str) -> None:
        if twin := confusable_name(folder, name):
            raise InvalidRequest(
                f"There is a file {twin}, and some systems treat {name} as the same name.",
                hint="Choose another name.",
            )
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if (found.st_dev, found.st_ino) in self._identities(self.settings.protected_files):
                raise Forbidden("The configuration is not replaced.")

    def _open_child(self, handle: int, part: str, *, make: bool = False) -> int:
        """Open a subdirectory and close its parent. Refuses the state directory and the recipes of the project."""
        child = open_child_folder(handle, part, make=make)
        if identity(child) in self._identities((self.settings.state_dir, self.settings.project / "recipes")):
            os.close(child)
            raise Forbidden("This directory is reserved for the server or for tools.")
        os.close(handle)
        return child

    def _open_content_root(self) -> int:
        """Open the content root. Inside the project no link is followed, because someone else may have written the
        project.

        A root outside the project was chosen by the user, so links in its path are followed.
        """
        given = self.settings.content_root
        parts = [part for part in given.split("/") if part not in ("", ".")]
        if given.startswith(("/", "~")) or ".." in parts:
            return open_folder(self._content_root())
        handle = open_folder(self.settings.project)
        try:
            for part in parts:
                handle = self._open_child(handle, part, make=True)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _content_root(self) -> Path:
        return self._absolute_path(self.settings.content_root)

    def _absolute_path(self, given: str) -> Path:
        return Path(os.path.normpath(self.settings.project / Path(given).expanduser()))

    @staticmethod
    def _identities(paths: tuple[Path, ...]) -> set[Identity]:
        return {found for path in paths if (found := identity_of(path)) is not None}

    # The audit

    @contextmanager
    def _audit_refusals(self, tool: str, requester: Requester) -> Iterator[None]:
        try:
            yield
        except ContextiveError as refusal:
            try:
                with self._store().transaction() as writer:
                    writer.put_audit(self._entry(tool, requester, {"refused": refusal.code}))
            except Unavailable:
                logger.warning("a refused call of %s could not be written to the audit log", tool)
            raise

    ##= docs/spec/gateway.md#document-rules
    ##% Every write and every refusal MUST add one entry to the audit, without content.
    def _entry(self, tool: str, requester: Requester, body: dict[str, object]) -> AuditEntry:
        if requester.request_id:
            body = {**body, "request_id": requester.request_id}
        if requester.client:
            body = {**body, "client": requester.client}
        return AuditEntry(self._clock(), requester.name, tool, body)


class _SourceMissing(InvalidRequest):
    """The file to copy does not exist."""


class _FileExists(InvalidRequest):
    """The destination already exists."""


def _translate_os_error(failure: OSError, participle: str) -> ContextiveError:
    match failure.errno:
        case errno.ELOOP | errno.ENOTDIR:
            return Forbidden(
                f"A part of the path is a link or a file, not a directory; nothing is {participle} through it."
            )
        case errno.ENAMETOOLONG | errno.EINVAL | errno.EILSEQ:
            return InvalidRequest("The file system does not accept this name.", hint="Choose a shorter, plainer one.")
        case errno.EACCES | errno.EPERM:
            return Forbidden(f"The server has no permission for the file, so it is not {participle}.")
        case _:
            return Unavailable(f"The file cannot be {participle}: {failure.strerror or 'system error'}.")
