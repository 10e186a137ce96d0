"""Imports notes from a directory or zip file of another program, and exports all notes as a zip file."""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contextive.errors import ContextiveError, Forbidden, InvalidRequest, NotFound, TooLarge
from contextive.ingest.notes_editor import NotesEditor
from contextive.ingest.notes_service import NotesService
from contextive.ingest.notes_writer import MAX_NOTE_BYTES, is_below, open_writer
from contextive.notes.note import parse_note
from contextive.notes.slug import is_safe_name
from contextive.workspace.directory_handles import READ_REGULAR

MAX_FILES = 50_000
MAX_TOTAL_BYTES = 512 * 1024 * 1024
_MAX_COMPRESSION_RATIO = 200
_MAX_DEPTH = 32
_NOTE_ENDINGS = (".md", ".markdown")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class ImportFailure:
    """A file that was not imported, and why."""

    filename: str
    error: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import: the paths of new notes, the failures, and the number of skipped files."""

    imported: tuple[str, ...]
    errors: tuple[ImportFailure, ...]
    skipped: int


##= docs/spec/notes.md#vaults
##% The command `notes import` MUST import the Markdown files of a directory or a zip file with their folders and
##% content.
##= docs/spec/notes.md#vaults
##% An import MUST NOT replace a note, and it names the files that it did not import.
def import_vault(service: NotesService, source: Path) -> ImportReport:
    """Import the Markdown files of a vault with their folders, without changing their text.

    Nothing is overwritten: a file whose path or slug already exists counts as a failure. An archive with paths that
    lead outside it, with links, or with a disproportionate unpacked size is refused as a whole.
    """
    if source.is_dir():
        entries, skipped = _from_directory(source)
    elif source.is_file():
        entries, skipped = _from_zip(source)
    else:
        raise NotFound("The vault does not exist.", hint="Pass a directory or a zip file.")
    editor = NotesEditor(service)
    folder = editor.folder
    imported: list[str] = []
    errors: list[ImportFailure] = []
    with open_writer(service.root, editor.folders) as writer:
        taken = {note.slug: note.path for note in service.view().catalog.notes}
        for name, data in entries:
            path = f"{folder}/{name}" if folder else name
            try:
                text = _checked_text(name, data)
                slug = parse_note(path, text).slug
                if slug in taken:
                    raise InvalidRequest(f"Its slug '{slug}' is already used by {taken[slug]}.")
                writer.create(path, text)
            except ContextiveError as error:
                errors.append(ImportFailure(name, error.message))
            else:
                taken[slug] = path
                imported.append(path)
        writer.commit()
    return ImportReport(tuple(imported), tuple(errors), skipped)


##= docs/spec/notes.md#vaults
##% The command `notes export` MUST write all notes as a zip file that can be imported again.
def export_vault(service: NotesService) -> bytes:
    """All notes as a zip file, with their text unchanged. The same notes always produce the same bytes."""
    notes = sorted(service.view().catalog.notes, key=lambda note: note.path)
    bases = NotesEditor(service).folders
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for note in notes:
            base = next((base for base in bases if is_below(note.path, base)), "")
            entry = zipfile.ZipInfo(note.path.removeprefix(f"{base}/") if base else note.path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, note.text.encode("utf-8"), compresslevel=6)
    return buffer.getvalue()


def _from_directory(source: Path) -> tuple[list[tuple[str, bytes]], int]:
    """The notes of a directory. Links, and hidden files and folders, are skipped."""
    found: list[tuple[str, bytes]] = []
    skipped, total = 0, 0
    for path in _walk(source, 0):
        name = path.relative_to(source).as_posix()
        if not name.lower().endswith(_NOTE_ENDINGS):
            skipped += 1
            continue
        data = _read_regular(path)
        total += len(data or b"")
        if len(found) >= MAX_FILES or total > MAX_TOTAL_BYTES:
            raise _too_large()
        if data is None:
            skipped += 1
        else:
            found.append((name, data))
    return found, skipped


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth < _MAX_DEPTH:
                yield from _walk(Path(entry.path), depth + 1)
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def _read_regular(path: Path) -> bytes | None:
    try:
        handle = os.open(path, READ_REGULAR)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return file.read(MAX_NOTE_BYTES + 1)


def _from_zip(source: Path) -> tuple[list[tuple[str, bytes]], int]:
    """The notes of an archive. Its declared sizes are not trusted: reading stops at the limits."""
    found: list[tuple[str, bytes]] = []
    skipped, total = 0, 0
    seen: set[str] = set()
    try:
        with zipfile.ZipFile(source) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_FILES:
                raise _too_large()
            for entry in entries:
                _check_entry(entry, seen)
            for entry in sorted(entries, key=lambda entry: entry.filename):
                hidden = any(part.startswith(".") for part in entry.filename.split("/"))
                if entry.is_dir():
                    continue
                if hidden or not entry.filename.lower().endswith(_NOTE_ENDINGS):
                    skipped += 1
                    continue
                with archive.open(entry) as file:
                    data = file.read(MAX_NOTE_BYTES + 1)
                total += len(data)
                if total > MAX_TOTAL_BYTES:
                    raise _too_large()
                found.append((entry.filename, data))
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError):
        raise InvalidRequest("The vault is not a readable zip file.") from None
    return found, skipped


##= docs/spec/notes.md#vaults
##% An archive with paths that lead outside it, with links, or with a disproportionate unpacked size MUST be refused
##% as a whole.
def _check_entry(entry: zipfile.ZipInfo, seen: set[str]) -> None:
    """Refuse the whole archive if an entry looks malicious or cannot be read."""
    name = entry.orig_filename.rstrip("/")
    parts = name.split("/")
    if not name or "\\" in name or "\0" in name or ":" in parts[0] or any(part in ("", ".", "..") for part in parts):
        raise Forbidden("The vault has a path that leads outside of it.")
    if len(parts) > _MAX_DEPTH:
        raise _too_large()
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Forbidden("The vault contains a link.")
    if entry.flag_bits & _ENCRYPTED:
        raise InvalidRequest("The vault is encrypted.")
    if entry.file_size > MAX_NOTE_BYTES and entry.file_size > _MAX_COMPRESSION_RATIO * max(entry.compress_size, 1):
        raise TooLarge("A file in the vault is far larger unpacked than packed, as in a zip bomb.")
    if name.casefold() in seen:
        raise InvalidRequest("The vault has two files with the same name.")
    seen.add(name.casefold())


def _checked_text(name: str, data: bytes) -> str:
    if len(data) > MAX_NOTE_BYTES:
        raise TooLarge(f"It has more than {MAX_NOTE_BYTES} bytes.")
    if not all(map(is_safe_name, name.split("/"))):
        raise InvalidRequest("Some systems do not allow its name.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest("It is not UTF-8.") from None


def _too_large() -> TooLarge:
    return TooLarge(
        f"The vault has more than {MAX_FILES} files, {MAX_TOTAL_BYTES} bytes or {_MAX_DEPTH} levels of folders."
    )
