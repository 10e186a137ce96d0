"""The notes of a project, as the files are at each call."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.errors import NotFound
from contextive.ingest.inotify import UNKNOWN_CHANGES, FileChanges, InotifyWatcher
from contextive.notes.catalog import NoteCatalog, NoteProblem
from contextive.notes.note import Note, parse_note
from contextive.workspace.directory_handles import require_project
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.files import FileText, ProjectFiles, ancestors
from contextive.workspace.first_commits import first_commits, history_fingerprint
from contextive.workspace.globs import Glob

if TYPE_CHECKING:  # only searches need it
    from contextive.knowledge.note_words import NoteWords

DEFAULT_PATHS = ("notes/**/*.md",)
_FULL_SCAN_SECONDS = 30.0
"""How long inotify is trusted before all files are scanned again."""
_MAX_NAME_IN_ERROR = 200
_WILDCARD = re.compile(r"[*?\]]")


@dataclass(frozen=True)
class NotesView:
    """The notes at one moment, and the problems of their files."""

    catalog: NoteCatalog
    problems: tuple[NoteProblem, ...]
    generation: int


@dataclass(slots=True)
class _CachedNote:
    """The text of a file, its note, and the note with its creation time."""

    source: FileText
    note: Note
    dated: Note


class NotesService:
    """Returns the current notes. One refresh runs at a time; concurrent callers wait for it."""

    def __init__(self, root: Path, *, paths: tuple[str, ...] = DEFAULT_PATHS) -> None:
        self.files = ProjectFiles.bounded(root)
        self.patterns = paths or DEFAULT_PATHS
        # A pattern for the whole project skips generated directories. In a folder for notes, all files count.
        self._globs = [Glob(pattern, skip_generated=not Glob(pattern).base) for pattern in self.patterns]
        self._lock = threading.Lock()
        self._folders = DirectoryListings()
        self._watcher = InotifyWatcher()
        self._scanned_at = float("-inf")
        self._cached: dict[str, _CachedNote] = {}
        self._unreadable: dict[str, NoteProblem] = {}
        self._undated: set[str] = set()
        self._pending: set[str] = set()
        """Undated notes that are new or changed."""
        self._commits: tuple[object, Mapping[str, float]] | None = None
        self._view: NotesView | None = None
        self._words_lock = threading.Lock()
        self._words: tuple[int, NoteWords] | None = None

    @property
    def root(self) -> Path:
        return self.files.root

    def has_notes(self) -> bool:
        """Whether a file matches a pattern for notes. Cheaper than `view`: no file is read."""
        require_project(self.root)
        root, folders = str(self.root), DirectoryListings()
        globs = (glob for glob in self._globs if self.files.allows(glob.base))
        return any(not _is_hidden(path) for glob in globs for path in glob.walk(root, self.files.allows, folders))

    ##= docs/spec/notes.md#note-files
    ##% An answer MUST reflect every note saved before the call.
    def view(self) -> NotesView:
        """The current notes. Cheap if nothing changed."""
        require_project(self.root)
        with self._lock:
            changed = self._refresh()
            changed |= self._set_created_times()
            if self._view is None or changed:
                before = self._view.catalog if self._view else None
                catalog = NoteCatalog((cached.dated for cached in self._cached.values()), before)
                problems = (*(self._unreadable[path] for path in sorted(self._unreadable)), *catalog.problems)
                self._view = NotesView(catalog, problems, self._view.generation + 1 if self._view else 1)
            return self._view

    def words(self) -> NoteWords:
        """The words of the current notes."""
        from contextive.knowledge.note_words import NoteWords

        view = self.view()
        with self._words_lock:
            if self._words is None or self._words[0] < view.generation:
                words = self._words[1] if self._words is not None else NoteWords()
                words.update(view.catalog.newest_first)
                self._words = view.generation, words
            return self._words[1]

    ##= docs/spec/notes.md#get-page
    ##% A request for a page that does not exist MUST be refused with a message that names the page and says that it
    ##% was not found.
    def page(self, name: str) -> tuple[NotesView, Note]:
        """The note with this slug or title, and the view it was found in."""
        view = self.view()
        note = view.catalog.find(name)
        if note is None:
            raise NotFound(f"Page '{name[:_MAX_NAME_IN_ERROR]}' not found")
        return view, note

    def _refresh(self) -> bool:
        """Read changed files; returns whether anything changed."""
        is_recent = time.monotonic() - self._scanned_at < _FULL_SCAN_SECONDS
        changes = self._watcher.changes() if is_recent else UNKNOWN_CHANGES
        if changes.is_unknown or any(map(self._may_hold_notes, changes.folders)):
            return self._scan()
        touched = set(self._relevant(changes))
        new = touched - self._cached.keys() - self._unreadable.keys()
        if not all(map(self._is_certainly_note, new)) or any(map(self._is_link, touched)):
            return self._scan()
        return self._read_all(touched)

    def _relevant(self, changes: FileChanges) -> Iterator[str]:
        """The changed files that are or could be notes."""
        prefix = f"{self.root}/"
        for file in changes.files:
            path = file.removeprefix(prefix)
            if path in self._cached or path in self._unreadable or (not _is_hidden(path) and self._could_match(path)):
                yield path

    def _could_match(self, path: str) -> bool:
        for glob in self._globs:
            ending = _WILDCARD.split(glob.pattern.rpartition("/")[2])[-1]
            if path.startswith(f"{glob.base}/" if glob.base else "") and path.endswith(ending):
                return True
        return False

    def _is_certainly_note(self, path: str) -> bool:
        """Whether a new file in a watched folder is a note for certain, so that no scan is needed."""
        return any(
            glob.pattern == f"{glob.base}/**/*.md" and path.startswith(f"{glob.base}/") and path.endswith(".md")
            for glob in self._globs
        )

    def _is_link(self, path: str) -> bool:
        return os.path.islink(f"{self.root}/{path}")  # noqa: PTH114 - strings, for speed

    def _may_hold_notes(self, folder: str) -> bool:
        path = folder.removeprefix(f"{self.root}/")
        if _is_hidden(path):
            return False
        bases = [glob.base for glob in self._globs]
        return any(
            not base or base == path or base.startswith(f"{path}/") or path.startswith(f"{base}/") for base in bases
        )

    def _scan(self) -> bool:
        """Find and read all notes again. The directories are watched before the final read."""
        self._watcher.changes()  # drop events older than this scan
        found = self._find_notes()
        parents = {f"{self.root}/{folder}" for glob in self._globs for folder in ancestors(glob.base)}
        if self._watcher.watch(self._folders.directories | {folder for folder in parents if Path(folder).is_dir()}):
            found = self._find_notes()
        changed = self._read_all(found)
        for gone in (self._cached.keys() | self._unreadable.keys()) - found:
            changed = True
            self._forget(gone)
        self.files.keep_only(found)
        self._scanned_at = time.monotonic()
        return changed

    ##= docs/spec/notes.md#note-files
    ##% The notes of a project MUST be the files that match the patterns in `notes.paths`.
    ##= docs/spec/notes.md#note-files
    ##% A hidden file, a symbolic link or a file outside the project MUST NOT count as a note.
    def _find_notes(self) -> set[str]:
        """The paths of all notes. Links do not count: a link could expose another file as a note."""
        self._folders = self._folders.refreshed()
        found: set[str] = set()
        for glob in self._globs:
            if not self.files.allows(glob.base):
                continue
            for path in glob.walk(str(self.root), self.files.allows, self._folders):
                folder, _, name = path.rpartition("/")
                entry = self._folders.listing(f"{self.root}/{folder}/" if folder else f"{self.root}/").by_name.get(name)
                if not _is_hidden(path) and (entry is None or not entry.is_link):
                    found.add(path)
        return found

    def _read_all(self, paths: Iterable[str]) -> bool:
        changed = False
        for path in paths:
            changed |= self._read(path)
        return changed

    ##= docs/spec/notes.md#note-files
    ##% A file that cannot be read MUST be reported as a problem, and other notes are not affected.
    def _read(self, path: str) -> bool:
        """Read one file; returns whether it changed."""
        content = self.files.read(path)
        cached = self._cached.get(path)
        if isinstance(content, FileText):
            self._unreadable.pop(path, None)
            if cached is not None and cached.source.text == content.text:
                cached.source = content
                return False
            self._forget(path)
            note = replace(parse_note(path, content.text), modified=content.fingerprint.modified_ns / 1e9)
            self._cached[path] = _CachedNote(content, note, note)
            if note.created is None:
                self._undated.add(path)
                self._pending.add(path)
            return True
        if content.fingerprint is None:
            return self._forget(path)
        problem = NoteProblem(path, f"it is left out: {content.reason}")
        changed = cached is not None or self._unreadable.get(path) != problem
        self._forget(path)
        self._unreadable[path] = problem
        return changed

    def _forget(self, path: str) -> bool:
        known = path in self._cached or path in self._unreadable
        self._cached.pop(path, None)
        self._unreadable.pop(path, None)
        self._undated.discard(path)
        self._pending.discard(path)
        return known

    ##= docs/spec/notes.md#list-pages
    ##% The creation time MUST be the one given in the note, or else that of the first commit with its file, or else
    ##% that of the file.
    def _set_created_times(self) -> bool:
        """Set the creation time of notes without one: the time of the first commit, or else that of the file."""
        if not self._undated:
            return False
        history = history_fingerprint(self.root)
        if self._commits is None or self._commits[0] != history:
            bases = dict.fromkeys(glob.base for glob in self._globs) if history else {}
            self._commits = history, {path: t for base in bases for path, t in first_commits(self.root, base).items()}
            self._pending = set(self._undated)
        changed = False
        for path in self._pending:
            cached = self._cached[path]
            created = self._commits[1].get(path) or _file_time(f"{self.root}/{path}")
            if cached.dated.created != created:
                cached.dated = replace(cached.note, created=created)
                changed = True
        self._pending = set()
        return changed


def _file_time(path: str) -> float | None:
    """The birth time of a file if Python knows it, else its modification time; None if the file does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return getattr(found, "st_birthtime", None) or found.st_mtime


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path
