"""Notes: a list, a reader with links in both directions, and a form to write."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from contextive.errors import Conflict, ContextiveError, Forbidden, InvalidRequest
from contextive.ingest.notes_editor import NotesEditor
from contextive.ingest.page_journal import PageJournal
from contextive.notes.catalog import problem_lines
from contextive.notes.note import Note
from contextive.packs.notes.page_search import find_pages
from contextive.recipes.recipe import RecipePaths
from contextive.web.addresses import file_address, note_address, with_query
from contextive.web.markdown import render_note
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject

_MOST: int = 500


@dataclass(frozen=True, slots=True)
class NoteLine:
    slug: str
    title: str
    address: str
    path: str
    tags: tuple[str, ...]
    modified: float
    text: str


@dataclass(frozen=True, slots=True)
class TagChoice:
    name: str
    address: str
    number: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class NoteList:
    notes: tuple[NoteLine, ...]
    total: int
    tags: tuple[TagChoice, ...]
    query: str
    problems: tuple[str, ...]
    may_write: bool


@dataclass(frozen=True, slots=True)
class NoteLinkLine:
    text: str
    address: str


@dataclass(frozen=True, slots=True)
class NotePage:
    slug: str
    title: str
    path: str
    source: str
    html: str
    content: str
    tags: tuple[TagChoice, ...]
    modified: float
    backlinks: tuple[NoteLinkLine, ...]
    outlinks: tuple[NoteLinkLine, ...]
    graph: str
    drawing: str
    """The address of the graph around it as JSON; empty if the note is not in the index yet."""
    editor: str | None
    version: str
    may_write: bool


@dataclass(frozen=True, slots=True)
class NoteForm:
    """A form to write a note. After a conflict, it has what both wrote."""

    slug: str
    title: str
    content: str
    tags: str
    version: str
    problem: str = ""
    theirs: str = ""
    """The text that somebody else saved meanwhile."""


def notes(project: SiteProject, given: Parameters) -> Page:
    """All notes, the newest first; those with a tag, or those that a query finds."""
    view = project.notes.view()
    tag, query = given.get("tag", ""), given.get("q", "").strip()[:1_000]
    if query:
        found = [(page.note, page.excerpt) for page in find_pages(project.notes, None, query).pages]
    else:
        found = [(note, "") for note in view.catalog.newest_first]
    chosen = [(note, text) for note, text in found if not tag or tag in note.tags]
    counts = Counter(name for note in view.catalog.notes for name in note.tags)
    content = NoteList(
        notes=tuple(_line(note, text) for note, text in chosen[:_MOST]),
        total=len(chosen),
        tags=tuple(_tag(name, number, tag) for name, number in counts.most_common(60)),
        query=query,
        problems=tuple(problem_lines(view.problems)[:20]),
        may_write=project.may_write,
    )
    return Page("notes.html", "Notes", content, "notes")


def note(project: SiteProject, given: Parameters) -> Page:
    """One note, with the notes that link to it."""
    view, found = project.notes.page(given["slug"])
    catalog = view.catalog
    content = NotePage(
        slug=found.slug,
        title=found.title,
        path=found.path,
        source=file_address(found.path),
        html=render_note(found, catalog),
        content=found.content,
        tags=tuple(_tag(name, 0, "") for name in found.tags),
        modified=found.modified or 0.0,
        backlinks=tuple(NoteLinkLine(other.title, note_address(other.slug)) for other in catalog.linking_notes(found)),
        outlinks=tuple(NoteLinkLine(other.title, note_address(other.slug)) for other in catalog.targets(found)),
        graph=with_query("/graph", {"node": f"Note:{found.slug}"}),
        drawing=_drawing(project, found),
        editor=project.links.link(found.path, 1, 1),
        version=found.version,
        may_write=project.may_write,
    )
    return Page("note.html", found.title, content, "notes")


def _drawing(project: SiteProject, found: Note) -> str:
    try:
        is_known = project.index().store.graph.node(f"Note:{found.slug}") is not None
    except ContextiveError:
        return ""
    return with_query("/graph", {"node": f"Note:{found.slug}", "format": "json"}) if is_known else ""


def note_form(project: SiteProject, given: Parameters) -> Page:
    """The form to change a note, or to write a new one."""
    if not project.may_write:
        raise Forbidden("You may not write notes here.", hint="Sign in with a token that may write.")
    slug = given.get("slug", "")
    if not slug:
        return _form(NoteForm("", given.get("title", "")[:300], "", "", ""))
    _, found = project.notes.page(slug)
    return _form(NoteForm(found.slug, found.title, found.content, ", ".join(found.tags), found.version))


##= docs/spec/site.md#notes
##% When a note changed since the form was opened, the site MUST keep what was written and show what the other one wrote.
def save_note(project: SiteProject, fields: Parameters) -> Page | str:
    """Write a note; returns the address of its page, or the form again with the reason."""
    if not project.may_write:
        raise Forbidden("You may not write notes here.", hint="Sign in with a token that may write.")
    content = fields.get("content", "").replace("\r\n", "\n")
    form = NoteForm(
        fields.get("slug", ""), fields.get("title", ""), content, fields.get("tags", ""), fields.get("version", "")
    )
    tags = [tag for part in form.tags.split(",") if (tag := part.strip().lstrip("#"))]
    journal = PageJournal(project.service(RecipePaths).state, {"caller": project.caller, "client": "site"})
    editor = NotesEditor(project.notes, journal)
    try:
        if not form.slug:
            return note_address(editor.create_page(form.title, content, tags=tags).note.slug)
        _, before = project.notes.page(form.slug)
        changed_tags = tags if tags != list(before.tags) else None
        change = editor.update_page(form.slug, form.version, content=content, tags=changed_tags)
        return note_address(change.note.slug)
    except Conflict as error:
        return _conflict(project, form, error)
    except InvalidRequest as error:
        return _form(NoteForm(form.slug, form.title, content, form.tags, form.version, error.full_message()), 400)


def _conflict(project: SiteProject, form: NoteForm, error: Conflict) -> Page:
    if not form.slug:
        return _form(NoteForm("", form.title, form.content, form.tags, "", error.full_message()), 409)
    _, now = project.notes.page(form.slug)
    problem = "Somebody changed this note while you wrote. Their text is below. Saving again replaces it with yours."
    return _form(NoteForm(now.slug, now.title, form.content, form.tags, now.version, problem, now.content), 409)


def _form(content: NoteForm, status: int = 200) -> Page:
    return Page("note_form.html", f"Edit {content.title}" if content.slug else "New note", content, "notes", status)


def _line(found: Note, text: str) -> NoteLine:
    return NoteLine(
        found.slug, found.title, note_address(found.slug), found.path, found.tags, found.modified or 0.0, text
    )


def _tag(name: str, number: int, chosen: str) -> TagChoice:
    return TagChoice(name, with_query("/notes", {"tag": "" if name == chosen else name}), number, name == chosen)
