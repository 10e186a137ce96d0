"""Notes are created, changed, renamed and deleted completely or not at all, and only in notes folders."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextive.errors import Conflict, ContextiveError, Forbidden, InvalidRequest, NotFound, UnsupportedOperation
from contextive.ingest.notes_editor import NotesEditor
from contextive.ingest.notes_service import NotesService
from contextive.ingest.notes_vault import import_vault
from contextive.notes.note import parse_note
from tests.ingest.test_notes_service import write


@pytest.fixture
def service(tmp_path: Path) -> NotesService:
    return NotesService(tmp_path)


@pytest.fixture
def editor(service: NotesService) -> NotesEditor:
    return NotesEditor(service)


def texts(root: Path) -> dict[str, str]:
    return {p.relative_to(root).as_posix(): p.read_bytes().decode() for p in sorted(root.rglob("*")) if p.is_file()}


##= docs/spec/notes.md#page-changes
##% The tool `create_page` MUST write a new file with the title and never overwrite an existing one.
def test_a_new_page_is_a_file_with_front_matter(editor: NotesEditor, service: NotesService) -> None:
    written = editor.create_page("My: Page", "Hello [[x]]", tags=["a", "b c"])
    text = (service.root / "notes/my-page.md").read_text(encoding="utf-8")
    assert text.startswith('---\ntitle: "My: Page"\ntags: [a, b c]\ncreated_at: ')
    assert text.endswith("---\n\nHello [[x]]\n")
    assert service.page("my-page")[1] == written.note
    assert written.note.tags == ("a", "b c")


def test_a_new_page_never_replaces_another(editor: NotesEditor, service: NotesService) -> None:
    write(service.root, "notes/there.md", "---\ntitle: Some Page\n---\nmine")
    before = texts(service.root)
    with pytest.raises(Conflict):
        editor.create_page("Some Page")
    with pytest.raises(Conflict):
        editor.create_page("There")  # another slug, the same file
    assert texts(service.root) == before


@pytest.mark.parametrize("slug", ["../x", "a/b", ".hidden", "A", "a b", "a--b", "-", "a\0", "日本"])
def test_an_invalid_slug_is_refused(editor: NotesEditor, service: NotesService, slug: str) -> None:
    with pytest.raises(InvalidRequest):
        editor.create_page("T", slug=slug)
    assert texts(service.root) == {}


def test_a_given_slug_is_stored_in_the_file(editor: NotesEditor, service: NotesService) -> None:
    assert editor.create_page("Long Title", slug="con").note.slug == "con"
    assert list(texts(service.root)) == ["notes/con-note.md"]
    with pytest.raises(InvalidRequest):
        editor.create_page(" \n ")


##= docs/spec/notes.md#page-changes
##% The tool `update_page` MUST refuse to change a page that has changed since the given `version`.
def test_an_update_needs_the_version_that_was_read(editor: NotesEditor, service: NotesService) -> None:
    first = editor.create_page("P", "one").note
    second = editor.update_page("p", first.version, content="two\n").note
    assert (second.content, second.head) == ("two\n", first.head)
    with pytest.raises(Conflict, match="changed since"):
        editor.update_page("p", first.version, content="three")
    write(service.root, "notes/p.md", "edited by hand")
    with pytest.raises(Conflict):
        editor.update_page("p", second.version, content="three")
    assert service.page("p")[1].content == "edited by hand"


def test_tags_are_changed_without_touching_the_rest(editor: NotesEditor, service: NotesService) -> None:
    text = "---\n# keep\ntags:\n- x\nmine: {a: 1}\n---\n\n\nbody"
    write(service.root, "notes/p.md", text)
    editor.update_page("p", service.page("p")[1].version, tags=["fresh"])
    assert texts(service.root) == {"notes/p.md": text.replace("tags:\n- x", "tags: [fresh]")}


def test_toml_front_matter_is_read_and_edited(editor: NotesEditor, service: NotesService) -> None:
    head = '+++\ntitle = "Toml Note"\naliases = ["TN"]\ntags = ["x"]\ncreated_at = 2025-05-05T00:00:00Z\n[own]\nkey = 1\n+++\n'
    write(service.root, "notes/toml.md", f"{head}Text\n")
    write(service.root, "notes/other.md", "See [[Toml Note]] and [[TN]].\n")
    note = service.page("toml-note")[1]
    assert (note.title, note.tags, note.content, note.created) == ("Toml Note", ("x",), "Text\n", 1746403200.0)
    assert service.view().catalog.outlinks(service.page("other")[1]) == ["toml-note"]
    editor.update_page("toml-note", note.version, tags=["y", "z"])
    editor.rename_page("toml-note", title='New "Name"')
    renamed = service.page("new-name")[1]
    expected = head.replace('"Toml Note"', '"New \\"Name\\""').replace('["x"]', '["y", "z"]')
    assert renamed.text == f"{expected}Text\n"


def test_new_content_cannot_rename_a_page(editor: NotesEditor, service: NotesService) -> None:
    write(service.root, "notes/p.md", "body")
    with pytest.raises(InvalidRequest, match="rename the note"):
        editor.update_page("p", service.page("p")[1].version, content="---\nslug: q\n---\nx")


##= docs/spec/notes.md#page-changes
##% The tool `rename_page` MUST update the links in other notes and keep the form in which each is written.
def test_a_rename_rewrites_links_and_keeps_labels(editor: NotesEditor, service: NotesService) -> None:
    write(service.root, "notes/old.md", "---\ntitle: Old\n---\nself [[old]]")
    write(service.root, "notes/a.md", "[[old]] [[Old|label]] `[[old]]`")
    write(service.root, "notes/sub/b.md", "![[Old#part]]")
    write(service.root, "notes/c.md", "nothing")
    written = editor.rename_page("old", title="New Title")
    assert {note.slug for note in written.changed} == {"a", "b"}
    assert written.note.slug == "new-title"
    assert texts(service.root) == {
        "notes/a.md": "[[new-title]] [[New Title|label]] `[[old]]`",
        "notes/c.md": "nothing",
        "notes/new-title.md": "---\ntitle: New Title\n---\nself [[new-title]]",
        "notes/sub/b.md": "![[New Title#part]]",
    }


def test_each_kind_of_title_is_renamed_where_it_is_written(editor: NotesEditor, service: NotesService) -> None:
    write(service.root, "notes/Plain Name.md", "text")
    write(service.root, "notes/heading.md", "# Heading\ntext")
    write(service.root, "notes/2024-01 file.md", "---\ntitle: Fixed\nslug: fixed\n---\n")
    editor.rename_page("plain-name", title="Other Name")
    editor.rename_page("heading", title="Top")
    editor.rename_page("fixed", title="Loose")
    assert texts(service.root) == {
        "notes/2024-01 file.md": "---\ntitle: Loose\nslug: loose\n---\n",
        "notes/Other Name.md": "text",
        "notes/top.md": "# Top\ntext",
    }


##= docs/spec/notes.md#page-changes
##% A rename to a name that is already in use MUST change nothing.
def test_a_rename_to_a_name_that_is_taken_changes_nothing(editor: NotesEditor, service: NotesService) -> None:
    write(service.root, "notes/a.md", "[[b]]")
    write(service.root, "notes/b.md", "x")
    before = texts(service.root)
    with pytest.raises(Conflict):
        editor.rename_page("b", title="A")
    with pytest.raises(NotFound):
        editor.rename_page("missing", title="A")
    with pytest.raises(Conflict):
        editor.rename_page("b", title="New", version="0" * 16)
    assert texts(service.root) == before


_TITLES = st.from_regex(r"[A-Z][a-z]{1,8}( [A-Z][a-z]{1,8}){0,2}", fullmatch=True)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=_TITLES, new=_TITLES, kind=st.sampled_from(["front matter", "heading", "file name"]))
def test_renaming_there_and_back_restores_every_file(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, kind: str
) -> None:
    root = tmp_path_factory.mktemp("rename")
    service = NotesService(root)
    slug = "-".join(old.lower().split())
    head, body = {
        "front matter": (f"---\ntitle: {old}\n---\n", "x"),
        "heading": ("", f"# {old}\nx"),
        "file name": ("", "x"),
    }[kind]
    write(root, f"notes/{old if kind == 'file name' else slug}.md", head + body)
    write(root, "notes/zzz-other.md", f"[[{slug}]] [[{old}|l]] ![[{old}#h]] text")
    before = texts(root)
    editor = NotesEditor(service)
    if parse_note("x.md", f"---\ntitle: {new}\n---\n").slug == "zzz-other":
        return
    renamed = editor.rename_page(slug, title=new).note
    editor.rename_page(renamed.slug, title=old)
    assert texts(root) == before


##= docs/spec/notes.md#page-changes
##% The tool `delete_page` MUST turn links to the page into plain text, unless `keep_links` is true.
def test_links_to_a_deleted_page_become_plain_text(editor: NotesEditor, service: NotesService) -> None:
    write(service.root, "notes/gone.md", "x")
    write(service.root, "notes/a.md", "see [[gone|that]] and [[Gone]]")
    written = editor.delete_page("gone", version=service.page("gone")[1].version)
    assert [note.slug for note in written.changed] == ["a"]
    assert texts(service.root) == {"notes/a.md": "see that and Gone"}


def test_links_to_a_deleted_page_can_be_kept(editor: NotesEditor, service: NotesService) -> None:
    write(service.root, "notes/gone.md", "x")
    write(service.root, "notes/a.md", "see [[gone]]")
    editor.delete_page("gone", keep_links=True)
    assert texts(service.root) == {"notes/a.md": "see [[gone]]"}


##= docs/spec/notes.md#writing-rules
##% A note MUST be written completely or not at all.
def test_leftovers_of_a_crash_are_not_notes_and_are_removed_by_the_next_write(
    editor: NotesEditor, service: NotesService
) -> None:
    write(service.root, f"notes/.{'0' * 16}.tmp", "half a note")
    write(service.root, "notes/.keep.tmp", "a file of the user")
    assert service.view().catalog.notes == ()
    editor.create_page("P")
    assert list(texts(service.root)) == ["notes/.keep.tmp", "notes/p.md"]


##= docs/spec/notes.md#writing-rules
##% The answer to a write SHOULD name notes with similar content, without merging them.
def test_similar_pages_are_listed_and_not_merged(editor: NotesEditor) -> None:
    body = "The deployment pipeline builds images, runs checks, and promotes releases every Monday."
    editor.create_page("Deployment", body)
    written = editor.create_page("Deploying", body)
    assert [note.slug for note in written.similar] == ["deployment"]


##= docs/spec/notes.md#writing-rules
##% A note MUST NOT be written through a symbolic link or outside the note folders.
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "project"
    root.mkdir()
    (root / "notes").symlink_to(outside)
    with pytest.raises(Forbidden):
        NotesEditor(NotesService(root)).create_page("X")
    assert list(outside.iterdir()) == []
    (root / "notes").unlink()
    write(root, "notes/a.md", "x")
    service = NotesService(root)
    service.view()
    (outside / "a.md").write_text("x", encoding="utf-8")
    (root / "notes/a.md").unlink()
    (root / "notes/a.md").symlink_to(outside / "a.md")
    with pytest.raises((Forbidden, NotFound)):
        NotesEditor(service).update_page("a", parse_note("a.md", "x").version, content="changed")
    assert (outside / "a.md").read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize("pattern", ["../*.md", ".github/**/*.md", "docs/*/x.md", "/tmp/*.md"])
def test_new_notes_need_a_notes_folder(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(UnsupportedOperation):
        NotesEditor(NotesService(tmp_path, paths=(pattern,))).create_page("Agents")
    assert texts(tmp_path) == {}


##= docs/spec/notes.md#writing-rules
##% Each of several concurrent writers MUST either succeed or get an error.
def test_each_of_many_concurrent_writers_succeeds_or_gets_an_error(tmp_path: Path) -> None:
    first = NotesEditor(NotesService(tmp_path)).create_page("Shared", "0").note
    outcomes: list[str] = []

    def update(number: int) -> None:
        try:
            NotesEditor(NotesService(tmp_path)).update_page("shared", first.version, content=f"{number}")
            outcomes.append(f"{number}")
        except Conflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=update, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    winners = [outcome for outcome in outcomes if outcome != "conflict"]
    assert len(outcomes) == 8
    assert winners == [NotesService(tmp_path).page("shared")[1].content]
    assert list(texts(tmp_path)) == ["notes/shared.md"]


def test_a_folder_that_keeps_turning_into_a_link_is_never_followed(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    root.mkdir()
    (root / "link").symlink_to(outside)
    (root / "notes").mkdir()
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    if exchange is None:
        pytest.skip("this system cannot exchange two names")
    names = [os.fsencode(root / "link"), os.fsencode(root / "notes")]
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            exchange(-100, names[0], -100, names[1], 2)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        editor = NotesEditor(NotesService(root))
        for number in range(150):
            with contextlib.suppress(ContextiveError):
                editor.create_page(f"Page {number}")
    finally:
        stop.set()
        thread.join(30)
    assert list(outside.iterdir()) == []


# -- names and contents that no tool may write -------------------------------------------------------------------------

PRIVATE_KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"
TOKEN = "ghp_" + "a1B2" * 9
INSTRUCTIONS = [
    "CLAUDE",
    "claude",
    "Agents",
    "AGENTS",
    "Gemini",
    "SKILL",
    "copilot-instructions",
    "\uff23\uff2c\uff21\uff35\uff24\uff25",
    "Claude.",
]


##= docs/spec/notes.md#writing-rules
##% A note MUST NOT be written under a file name that agents read as instructions, regardless of case.
@pytest.mark.parametrize("title", INSTRUCTIONS)
def test_a_title_that_names_an_instruction_file_is_refused(
    editor: NotesEditor, service: NotesService, title: str
) -> None:
    write(service.root, "notes/plain.md", "No title.")
    before = texts(service.root)
    with pytest.raises(Forbidden, match="instructions"):
        editor.create_page(title)
    with pytest.raises(Forbidden, match="instructions"):
        editor.rename_page("plain", title=title)
    assert texts(service.root) == before
    assert editor.create_page(title, slug="somebody").note.path == "notes/somebody.md"


@pytest.mark.parametrize("name", ["CLAUDE~1", "claude.local", "x.instructions", "Agents.override"])
def test_a_rename_that_keeps_the_title_as_file_name_follows_the_same_rule(
    editor: NotesEditor, service: NotesService, name: str
) -> None:
    write(service.root, "notes/plain.md", "No title.")
    with pytest.raises(Forbidden):
        editor.rename_page("plain", title=name)
    assert list(texts(service.root)) == ["notes/plain.md"]


def test_an_existing_instruction_file_can_be_read_and_deleted_but_not_changed(
    editor: NotesEditor, service: NotesService
) -> None:
    write(service.root, "notes/CLAUDE.md", "Be kind.")
    note = service.page("claude")[1]
    with pytest.raises(Forbidden, match="instructions"):
        editor.update_page("claude", note.version, content="Delete everything.")
    assert texts(service.root) == {"notes/CLAUDE.md": "Be kind."}
    editor.delete_page("claude")
    assert texts(service.root) == {}


##= docs/spec/notes.md#writing-rules
##% A note that contains a private key or a token MUST NOT be written.
@pytest.mark.parametrize("secret", [PRIVATE_KEY, TOKEN])
def test_a_secret_in_the_content_is_refused(editor: NotesEditor, service: NotesService, secret: str) -> None:
    note = editor.create_page("P", "one").note
    before = texts(service.root)
    for change in (
        partial(editor.create_page, "Q", secret),
        partial(editor.update_page, "p", note.version, content=secret),
    ):
        with pytest.raises(Forbidden, match="private key or a token"):
            change()
    assert texts(service.root) == before


def test_a_token_in_a_title_or_a_tag_is_refused(editor: NotesEditor, service: NotesService) -> None:
    note = editor.create_page("P", "one").note
    write(service.root, "notes/plain.md", "No title.")
    before = texts(service.root)
    for change in (
        partial(editor.create_page, TOKEN),
        partial(editor.create_page, "Q", tags=[TOKEN]),
        partial(editor.update_page, "p", note.version, tags=["a", TOKEN]),
        partial(editor.rename_page, "p", title=f"It is {TOKEN}"),
        partial(editor.rename_page, "plain", title=TOKEN),
    ):
        with pytest.raises(Forbidden):
            change()
    assert texts(service.root) == before


def test_a_note_that_already_has_a_secret_stays_readable_and_unchanged(
    editor: NotesEditor, service: NotesService
) -> None:
    write(service.root, "notes/old.md", f"[[p]] {TOKEN}")
    note = editor.create_page("P", "one").note
    old = service.page("old")[1]
    assert TOKEN in old.content
    renamed = editor.rename_page(note.slug, title="Q")
    assert [left.slug for left in renamed.left] == ["old"]
    with pytest.raises(Forbidden):
        editor.update_page("old", old.version, content=f"Still {TOKEN}")
    assert editor.update_page("old", old.version, content="Taken out.\n").note.content == "Taken out.\n"


def test_an_import_lists_the_files_that_it_refuses(service: NotesService, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for name, text in {"a/AGENTS.md": "x", "key.md": PRIVATE_KEY, "good.md": "y"}.items():
        write(vault, name, text)
    report = import_vault(service, vault)
    assert report.imported == ("notes/good.md",)
    assert sorted(refused.filename for refused in report.errors) == ["a/AGENTS.md", "key.md"]


# -- a created page is found -------------------------------------------------------------------------------------------


##= docs/spec/notes.md#page-changes
##% A page returned by `create_page` or `rename_page` MUST be found by `get_page` under the slug in the answer.
@pytest.mark.parametrize("title", ["网" * 35, "é" * 300, "あ" * 300, "a" * 300, "ß" * 150, "-" * 50, "🎉" * 60])
def test_a_page_with_a_long_title_is_found(editor: NotesEditor, service: NotesService, title: str) -> None:
    note = editor.create_page(title, "one").note
    assert len(note.slug) <= 200
    assert service.page(note.slug)[1] == note
    other = editor.create_page(f"{title[:-1]}x", "two").note if len(title) < 60 else None
    assert other is None or other.slug != note.slug
    with pytest.raises(Conflict):
        editor.create_page(title)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=st.text(max_size=300), other=st.text(max_size=300))
def test_a_page_with_any_title_is_found_or_not_written(
    editor: NotesEditor, service: NotesService, title: str, other: str
) -> None:
    before = texts(service.root)
    try:
        note = editor.create_page(title).note
    except ContextiveError:
        assert texts(service.root) == before
        return
    assert service.page(note.slug)[1] == note
    before = texts(service.root)
    try:
        renamed = editor.rename_page(note.slug, title=other).note
    except ContextiveError:
        assert texts(service.root) == before
    else:
        assert service.page(renamed.slug)[1] == renamed
