"""Earlier texts of pages: kept when a page changes, removed after 30 days, and written back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contextive.errors import Conflict, Unavailable
from contextive.ingest.notes_editor import NotesEditor
from contextive.ingest.notes_service import NotesService
from contextive.ingest.page_journal import PageJournal
from tests.ingest.test_notes_service import write


@pytest.fixture
def journal(tmp_path: Path) -> PageJournal:
    return PageJournal(tmp_path / ".contextive", {"caller": "owner", "client": "editor"})


@pytest.fixture
def editor(tmp_path: Path, journal: PageJournal) -> NotesEditor:
    return NotesEditor(NotesService(tmp_path), journal)


##= docs/spec/notes.md#page-changes
##% The text that a page had before a change MUST be kept for 30 days.
def test_every_text_that_a_change_replaces_is_kept(tmp_path: Path, editor: NotesEditor, journal: PageJournal) -> None:
    first = editor.create_page("Pump", "3 bar").note
    write(tmp_path, "notes/other.md", "See [[pump]].\n")
    changed = editor.update_page("pump", first.version, content="4 bar").note
    editor.delete_page("pump", version=changed.version)
    kept = [(version.path, version.text()) for version in journal.versions()]
    assert kept == [
        ("notes/other.md", "See [[pump]].\n"),
        ("notes/pump.md", changed.text),
        ("notes/pump.md", first.text),
    ]


def test_texts_older_than_thirty_days_are_removed_by_the_next_change(tmp_path: Path) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    for age in (31, 29, 0):
        PageJournal(tmp_path, clock=lambda age=age: now - timedelta(days=age)).keep({"a.md": f"{age} days"})  # type: ignore[misc]
    assert [version.text() for version in PageJournal(tmp_path, clock=lambda: now).versions()] == ["0 days", "29 days"]
    assert len(list((tmp_path / "pages").iterdir())) == 2


##= docs/spec/notes.md#page-changes
##% Each change of pages MUST add one line with the caller and its client to the audit log of pages.
def test_each_change_adds_one_line_to_the_audit_log(tmp_path: Path, editor: NotesEditor) -> None:
    editor.create_page("Pump")
    write(tmp_path, "notes/other.md", "See [[pump]].\n")
    editor.rename_page("pump", title="Big pump")
    lines = [json.loads(line) for line in (tmp_path / ".contextive/audit/pages.log").read_text("utf-8").splitlines()]
    assert [(line["action"], line["path"], line["client"]) for line in lines] == [
        ("create", "notes/pump.md", "editor"),
        ("rename", "notes/pump.md", "editor"),
    ]
    assert lines[1]["also_changed"] == ["notes/other.md"]


##= docs/spec/notes.md#page-changes
##% The command `notes restore` MUST write a kept text back to its page.
def test_a_restored_page_replaces_the_current_one_which_is_kept(editor: NotesEditor, journal: PageJournal) -> None:
    first = editor.create_page("Pump", "3 bar").note
    editor.update_page("pump", first.version, content="4 bar")
    editor.restore("notes/pump.md", journal.versions()[0].text())
    assert editor.restore("notes/pump.md", first.text).note.text == first.text
    assert "4 bar" in journal.versions()[1].text()


def test_a_page_whose_slug_is_in_use_is_not_restored(tmp_path: Path, editor: NotesEditor) -> None:
    write(tmp_path, "notes/new/pump.md", "another")
    with pytest.raises(Conflict):
        editor.restore("notes/pump.md", "mine")


def test_a_change_whose_earlier_text_cannot_be_kept_is_not_made(tmp_path: Path, editor: NotesEditor) -> None:
    page = editor.create_page("Pump", "3 bar").note
    (tmp_path / ".contextive/pages").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(Unavailable):
        editor.update_page("pump", page.version, content="4 bar")
    assert (tmp_path / page.path).read_text(encoding="utf-8") == page.text


##= docs/spec/notes.md#page-changes
##% In a vault that is the whole project, a new page MUST be created in the vault's folder for new notes, or in its
##% root.
@pytest.mark.parametrize(
    ("settings", "path"),
    [
        (None, "pump.md"),
        ({"newFileLocation": "folder", "newFileFolderPath": "Inbox/New"}, "Inbox/New/pump.md"),
        ({"newFileLocation": "root", "newFileFolderPath": "Inbox"}, "pump.md"),
        ({"newFileLocation": "folder", "newFileFolderPath": "../outside"}, "pump.md"),
        ({"newFileLocation": "folder", "newFileFolderPath": ".obsidian"}, "pump.md"),
        (["not", "an", "object"], "pump.md"),
    ],
)
def test_new_pages_go_where_the_vault_puts_new_notes(tmp_path: Path, settings: object, path: str) -> None:
    if settings is not None:
        write(tmp_path, ".obsidian/app.json", json.dumps(settings))
    editor = NotesEditor(NotesService(tmp_path, paths=("**/*.md",)))
    assert editor.create_page("Pump").note.path == path
    assert editor.rename_page("pump", title="Valve").note.path == path.replace("pump", "valve")
    assert editor.delete_page("valve").note.slug == "valve"
