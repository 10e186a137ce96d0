"""The tools that change notes. They write only Markdown files below the notes folder."""

from __future__ import annotations

from pydantic import Field

from contextive.errors import InvalidRequest
from contextive.ingest.notes_editor import NoteChange, NotesEditor
from contextive.ingest.notes_service import NotesService
from contextive.ingest.page_journal import PageJournal
from contextive.packs.notes import pack
from contextive.packs.notes.schemas import ChangeAnswer, Slug, Version
from contextive.recipes.recipe import RecipePaths
from contextive.registry import Annotations, Context, Scope, ToolInput
from contextive.registry.budget import first_that_fit

_LABELS = ("notes", "writing")
_MAX_CONTENT = 1_000_000
_SLUG_TOKENS = 700
"""Tokens for each list of other pages in an answer."""


class CreateInput(ToolInput):
    title: str = Field(min_length=1, max_length=300, description="Title")
    content: str = Field("", max_length=_MAX_CONTENT, description="Markdown with [[slug]] links")
    slug: str | None = Field(None, max_length=200, description="Default: from the title")
    tags: list[str] = Field([], max_length=100, description="Tags")


class UpdateInput(ToolInput):
    slug: Slug
    version: Version
    content: str | None = Field(None, max_length=_MAX_CONTENT, description="The whole new Markdown")
    tags: list[str] | None = Field(None, max_length=100, description="The new tags; replace all")


class RenameInput(ToolInput):
    slug: Slug
    new_title: str | None = Field(None, max_length=300, description="New title")
    new_slug: str | None = Field(None, max_length=200, description="Default: from the title")
    version: Version | None = None


class DeleteInput(ToolInput):
    slug: Slug
    version: Version | None = None
    keep_links: bool = Field(False, description="Do not edit links to it")


##= docs/spec/notes.md#writing-rules
##% The tools `create_page`, `update_page`, `rename_page` and `delete_page` MUST NOT be callable by a reader.
@pack.tool(
    "create_page",
    title="Create a page",
    description="Create a page. Lists similar pages; nothing is merged.",
    scope=Scope.WRITER,
    labels=_LABELS,
    safety_notes="Writes a file below the notes folder; never overwrites one.",
    annotations=Annotations(read_only=False, idempotent=False),
    untrusted=("title", "similar"),
)
def create_page(given: CreateInput, ctx: Context) -> ChangeAnswer:
    return _change_answer(_editor(ctx).create_page(given.title, given.content, slug=given.slug, tags=given.tags))


@pack.tool(
    "update_page",
    title="Update a page",
    description="Replace a page's content or tags. Fails with a conflict if the page changed since `version`.",
    scope=Scope.WRITER,
    labels=_LABELS,
    safety_notes="Replaces the page's file.",
    annotations=Annotations(read_only=False, destructive=True),
    untrusted=("title",),
)
def update_page(given: UpdateInput, ctx: Context) -> ChangeAnswer:
    if given.content is None and given.tags is None:
        raise InvalidRequest("Nothing to update.", hint="Give content, tags or both.")
    return _change_answer(_editor(ctx).update_page(given.slug, given.version, content=given.content, tags=given.tags))


@pack.tool(
    "rename_page",
    title="Rename a page",
    description="Change a page's title or slug. Links in other pages are updated; their labels stay.",
    scope=Scope.WRITER,
    labels=_LABELS,
    safety_notes="Rewrites links in other pages.",
    annotations=Annotations(read_only=False, destructive=True, idempotent=False),
    untrusted=("title", "left"),
)
def rename_page(given: RenameInput, ctx: Context) -> ChangeAnswer:
    if not given.new_title and not given.new_slug:
        raise InvalidRequest("Nothing to rename.", hint="Give new_title, new_slug or both.")
    return _change_answer(
        _editor(ctx).rename_page(given.slug, title=given.new_title, slug=given.new_slug, version=given.version)
    )


@pack.tool(
    "delete_page",
    title="Delete a page",
    description="Delete a page. Links to it become plain text.",
    scope=Scope.WRITER,
    labels=_LABELS,
    safety_notes="Deletes the page's file and edits pages that link to it.",
    annotations=Annotations(read_only=False, destructive=True, idempotent=False),
    untrusted=("title", "left"),
)
def delete_page(given: DeleteInput, ctx: Context) -> ChangeAnswer:
    written = _editor(ctx).delete_page(given.slug, version=given.version, keep_links=given.keep_links)
    return _change_answer(written, deleted=True)


def _editor(ctx: Context) -> NotesEditor:
    facts = {"caller": ctx.caller.name, "client": ctx.client.name, "request_id": ctx.request_id}
    author = {key: value for key, value in facts.items() if value}
    return NotesEditor(ctx.service(NotesService), PageJournal(ctx.service(RecipePaths).state, author))


def _change_answer(written: NoteChange, *, deleted: bool = False) -> ChangeAnswer:
    note = written.note
    others = {"changed": written.changed, "left": written.left, "similar": written.similar}
    shown = {name: first_that_fit((other.slug for other in notes), _SLUG_TOKENS) for name, notes in others.items()}
    omitted = {name: len(notes) - len(shown[name]) for name, notes in others.items() if len(notes) > len(shown[name])}
    return ChangeAnswer(
        slug=note.slug,
        title=note.title,
        version=None if deleted else note.version,
        changed=shown["changed"] or None,
        left=shown["left"] or None,
        similar=shown["similar"] or None,
        omitted=omitted or None,
    )
