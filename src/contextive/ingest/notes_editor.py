"""Creates, changes, renames and deletes notes. Each change is made completely or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from contextive.errors import Conflict, Forbidden, InvalidRequest, UnsupportedOperation
from contextive.ingest.notes_service import NotesService, NotesView
from contextive.ingest.notes_writer import FolderWriter, is_below, open_writer
from contextive.ingest.page_journal import PageJournal
from contextive.ingest.writing_rules import may_write
from contextive.notes.front_matter import parse_front_matter, text_value, text_values, write_values
from contextive.notes.link_edits import NoteNames, rename_heading, rename_links, unlink
from contextive.notes.note import Note, parse_note, version_of
from contextive.notes.similarity import similar_notes
from contextive.notes.slug import file_stem, first_slug, is_safe_name, slugify, truncate_slug
from contextive.workspace.files import FileText
from contextive.workspace.globs import Glob

_FOLDER_ENDINGS = ("**/*.md", "*.md")


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A note after a change, and other notes: those changed with it, those left with old links, and similar ones."""

    note: Note
    changed: tuple[Note, ...] = ()
    left: tuple[Note, ...] = ()
    similar: tuple[Note, ...] = ()


class NotesEditor:
    """Writes the notes of one project. Every change is checked against the current files."""

    def __init__(self, service: NotesService, journal: PageJournal | None = None) -> None:
        self._service = service
        self._journal = journal

    ##= docs/spec/notes.md#page-changes
    ##% In a vault that is the whole project, a new page MUST be created in the vault's folder for new notes, or in its
    ##% root.
    @property
    def folder(self) -> str:
        """The folder for new notes: that of the first pattern for all Markdown files of a folder."""
        for pattern in self._service.patterns:
            base = Glob(pattern).base
            if pattern.removeprefix(f"{base}/") in _FOLDER_ENDINGS and _is_notes_folder(base):
                return base or self._vault_folder()
        raise UnsupportedOperation(
            "There is no folder for new notes.", hint="Add a pattern such as notes/**/*.md to notes.paths."
        )

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders in which notes may be changed; the empty one is the project."""
        bases = (Glob(pattern).base for pattern in self._service.patterns)
        return tuple(dict.fromkeys([self.folder, *filter(_is_notes_folder, bases)]))

    def _vault_folder(self) -> str:
        """The folder that Obsidian is configured to create notes in, or the root of the vault."""
        settings = self._service.files.read(".obsidian/app.json")
        try:
            values = json.loads(settings.text) if isinstance(settings, FileText) else {}
        except (ValueError, RecursionError):
            values = {}
        folder = values.get("newFileFolderPath") if isinstance(values, dict) else None
        if not isinstance(folder, str) or values.get("newFileLocation") != "folder":
            return ""
        parts = [part for part in folder.split("/") if part]
        return "/".join(parts) if all(is_safe_name(part) and _is_notes_folder(part) for part in parts) else ""

    ##= docs/spec/notes.md#page-changes
    ##% The tool `create_page` MUST write a new file with the title and never overwrite an existing one.
    def create_page(
        self, title: str, content: str = "", *, slug: str | None = None, tags: Sequence[str] = ()
    ) -> NoteChange:
        """Create a note. The front matter has its title, and its slug if it differs from that of the title."""
        title = _clean_title(title)
        wanted = _check_slug(slug) if slug else truncate_slug(first_slug(title))
        path = _join(self.folder, f"{file_stem(wanted)}.md")
        values: dict[str, str | Sequence[str]] = {"title": title}
        if parse_note(path, write_values("", values)).slug != wanted:
            values["slug"] = wanted
        if tags:
            values["tags"] = _clean_tags(tags)
        values["created_at"] = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        text = write_values("", values) + (content if content.endswith("\n") or not content else f"{content}\n")
        with self._writing() as (writer, view):
            _check_slug_free(view, wanted)
            writer.create(path, text)
            self._commit(writer, "create", path)
        return self._result(wanted)

    def update_page(
        self, name: str, version: str, *, content: str | None = None, tags: Sequence[str] | None = None
    ) -> NoteChange:
        """Replace the content or the tags. Raises Conflict if the note changed since `version` was read."""
        with self._writing() as (writer, _):
            note = self._current(writer, name, version)
            head = note.head if tags is None else write_values(note.head, {"tags": _clean_tags(tags)})
            text = head + (note.content if content is None else content)
            if parse_note(note.path, text).slug != parse_note(note.path, note.text).slug:
                raise InvalidRequest("The new content would rename the note.", hint="Use rename_page for that.")
            if text != note.text:
                writer.replace(note.path, text)
                self._commit(writer, "update", note.path)
        return self._result(note.slug)

    ##= docs/spec/notes.md#page-changes
    ##% A rename to a name that is already in use MUST change nothing.
    def rename_page(
        self, name: str, *, title: str | None = None, slug: str | None = None, version: str | None = None
    ) -> NoteChange:
        """Change the title, the slug or both. Links in other notes are updated in the style they are written in."""
        with self._writing() as (writer, view):
            note = self._current(writer, name, version)
            new_title = _clean_title(title) if title else note.title
            wanted = _check_slug(slug) if slug else truncate_slug(first_slug(new_title)) if title else note.slug
            if wanted != note.slug:
                _check_slug_free(view, wanted)
            renamed = _renamed(note, new_title, wanted)
            names = NoteNames.of(renamed)
            text = renamed.head + rename_links(renamed.content, view.catalog, note, names, note.path)
            if renamed.path == note.path:
                writer.replace(note.path, text)
            else:
                writer.create(renamed.path, text)
                writer.remove(note.path)
            edit = partial(rename_links, catalog=view.catalog, note=note, to=names)
            changed, left = self._edit_links(writer, view, note, edit)
            self._commit(writer, "rename", note.path)
        return replace(self._result(wanted), changed=changed, left=left)

    ##= docs/spec/notes.md#page-changes
    ##% The tool `delete_page` MUST turn links to the page into plain text, unless `keep_links` is true.
    def delete_page(self, name: str, *, version: str | None = None, keep_links: bool = False) -> NoteChange:
        """Delete a note. Links to it become plain text, unless `keep_links` is true."""
        with self._writing() as (writer, view):
            note = self._current(writer, name, version)
            changed: tuple[Note, ...] = ()
            left: tuple[Note, ...] = ()
            if not keep_links:
                edit = partial(unlink, catalog=view.catalog, note=note)
                changed, left = self._edit_links(writer, view, note, edit)
            writer.remove(note.path)
            self._commit(writer, "delete", note.path)
        return NoteChange(note, changed, left=left)

    ##= docs/spec/notes.md#page-changes
    ##% The command `notes restore` MUST write a kept text back to its page.
    def restore(self, path: str, text: str) -> NoteChange:
        """Write an earlier text of a page back, whether the page still exists or not."""
        slug = parse_note(path, text).slug
        with self._writing() as (writer, view):
            other = view.catalog.get(slug)
            if other is not None and other.path != path:
                _check_slug_free(view, slug)
            if writer.read(path) is None:
                writer.create(path, text)
            else:
                writer.replace(path, text)
            self._commit(writer, "restore", path)
        return self._result(slug)

    def _commit(self, writer: FolderWriter, action: str, path: str) -> None:
        """Keep what is replaced, write the changes, and record them."""
        if self._journal is None:
            writer.commit()
            return
        self._journal.keep(writer.replaced)
        writer.commit()
        self._journal.record(action, path, writer.replaced)

    @contextmanager
    def _writing(self) -> Iterator[tuple[FolderWriter, NotesView]]:
        with open_writer(self._service.root, self.folders) as writer:
            yield writer, self._service.view()

    ##= docs/spec/notes.md#page-changes
    ##% The tool `update_page` MUST refuse to change a page that has changed since the given `version`.
    def _current(self, writer: FolderWriter, name: str, version: str | None) -> Note:
        """The note, if its file is still the version that the caller has read."""
        _, note = self._service.page(name)
        if not self._is_editable(note):
            raise Forbidden("This note is not in a notes folder, so it cannot be changed.")
        current = writer.read(note.path)
        if current is None or version_of(current) != (note.version if version is None else version):
            raise Conflict(f"Page '{note.slug}' changed since it was read.", hint="Read it again with get_page.")
        return note

    def _edit_links(
        self, writer: FolderWriter, view: NotesView, note: Note, edit: Callable[..., str]
    ) -> tuple[tuple[Note, ...], tuple[Note, ...]]:
        """Stage the notes that link to this one; returns those that are changed, and those that cannot be."""
        changed, left = [], []
        for other in view.catalog.linking_notes(note):
            content = edit(other.content, path=other.path)
            if content == other.content:
                continue
            text = other.head + content
            may_change = self._is_editable(other) and may_write(other.path.rpartition("/")[2], text)
            if not may_change or writer.read(other.path) != other.text:
                left.append(other)
                continue
            writer.replace(other.path, text)
            changed.append(other)
        return tuple(changed), tuple(left)

    def _is_editable(self, note: Note) -> bool:
        return any(is_below(note.path, folder) for folder in self.folders)

    def _result(self, slug: str) -> NoteChange:
        view, note = self._service.page(slug)
        return NoteChange(note, similar=tuple(similar_notes(note, view.catalog.notes)))


def _renamed(note: Note, title: str, slug: str) -> Note:
    """The note with a new title and slug, each written where it was, and its file named by the same rule."""
    values: dict[str, str] = {}
    content, stem = note.content, note.stem
    front = parse_front_matter(note.head).values
    by_slug = stem in (note.slug, file_stem(note.slug)) or not (text_value(front, "slug") or text_value(front, "title"))
    match note.title_source:
        case "file name" if title == stem or is_safe_name(title):
            stem, by_slug = title, False
        case "front matter" | "file name":
            if title != note.title:
                values["title"] = title
        case "heading":
            content = rename_heading(content, title)
    if by_slug:
        stem = file_stem(slug)
    elif note.title_source == "front matter" and note.stem == note.title and is_safe_name(title):
        stem = title
    if text_value(front, "slug"):
        values["slug"] = slug
    folder, ending = note.path.rpartition("/")[0], note.path.rpartition(".")[2]
    path = _join(folder, f"{stem}.{ending}")
    head = write_values(note.head, values) if values else note.head
    renamed = parse_note(path, head + content)
    if renamed.slug != slug:
        renamed = parse_note(path, write_values(head, {"slug": slug}) + content)
    return renamed


def _is_notes_folder(base: str) -> bool:
    """Whether a folder is the project or below it, and not hidden."""
    return not base.startswith("/") and not any(part.startswith(".") for part in base.split("/"))


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _check_slug_free(view: NotesView, slug: str) -> None:
    if view.catalog.get(slug) is not None:
        raise Conflict(
            f"A page with the slug '{slug}' already exists.", hint="Choose another slug, or update that page."
        )


def _clean_title(title: str) -> str:
    text = text_value({"title": title}, "title")
    if not text:
        raise InvalidRequest("A page needs a title.")
    return text


def _check_slug(slug: str) -> str:
    valid = slugify(slug)
    if not valid or valid != slug:
        hint = f"Write it as {valid!r}." if valid else "Use letters, digits and single dashes."
        raise InvalidRequest("This is not a valid slug.", hint=hint)
    return slug


def _clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    return text_values({"tags": list(tags)}, "tags")
