"""Notes and the graph on the example project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextive.errors import Forbidden
from contextive.notes.catalog import NoteCatalog
from contextive.notes.note import parse_note
from contextive.web.graph import MAX_NODES, Graph
from contextive.web.markdown import render_note
from contextive.web.notes import NoteForm, NoteList, NotePage, save_note
from contextive.web.page import Page
from contextive.web.project import SiteProject

from .site_project import copy_example, html_of, open_host, page_of, site_project


@pytest.fixture
def writable(tmp_path: Path) -> Iterator[SiteProject]:
    host = open_host(copy_example(tmp_path / "parcel-locker"))
    yield site_project(host, may_write=True, caller="token:ann")
    host.close()


def rendered(text: str) -> str:
    note = parse_note("notes/a.md", text)
    return str(render_note(note, NoteCatalog([note, parse_note("notes/pump.md", "# Pump\n")])))


##= docs/spec/site.md#security
##% Raw HTML in Markdown MUST be shown as text, and links lead only to http, https and mailto addresses, to the configured
##% editor, and to pages of the site.
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,a)",
        "[x](vbscript:a)",
        "[x](file:///etc/passwd)",
        "[x](//evil.example)",
        "![x](https://evil.example/a.png)",
        '[x](https://example.org "onmouseover=alert(1)")',
        "[[<script>alert(1)</script>]]",
        '[[pump|"><script>alert(1)</script>]]',
        "`<script>alert(1)</script>`",
        "```html\n<script>alert(1)</script>\n```",
        '<https://example.org/"onclick=alert(1)>',
    ],
)
def test_markdown_cannot_run_anything_or_load_anything(text: str) -> None:
    html = rendered(text)
    for forbidden in ("<script", "<img", "javascript:", "data:", "vbscript:", "file:", '"//', " onerror", ' onclick="'):
        assert forbidden not in html.lower().replace("&lt;script", "").replace("&lt;img src=x onerror", ""), html


def test_links_between_notes_lead_to_their_pages() -> None:
    html = rendered("See [[pump]], [[pump|the pump]], [pump](pump.md), [[nowhere]] and [a site](https://example.org).")
    assert html.count('<a href="/notes/pump">') == 3
    assert '<span class="missing-note"' in html
    assert '<a href="https://example.org" rel="noopener noreferrer">a site</a>' in html


def test_notes_are_listed_by_tag_and_by_query(project: SiteProject) -> None:
    every = page_of(project, "notes").content
    assert isinstance(every, NoteList)
    tag = every.tags[0].name
    tagged = page_of(project, "notes", {"tag": tag}).content
    assert isinstance(tagged, NoteList)
    assert 0 < len(tagged.notes) <= len(every.notes)
    assert all(tag in line.tags for line in tagged.notes)
    found = page_of(project, "notes", {"q": "battery"}).content
    assert isinstance(found, NoteList)
    assert found.notes[0].slug == "battery-life"


def test_a_note_shows_what_links_to_it(project: SiteProject) -> None:
    catalog = project.notes.view().catalog
    linked = next(note for note in catalog.notes if catalog.backlinks(note))
    content = page_of(project, "note", {"slug": linked.slug}).content
    assert isinstance(content, NotePage)
    assert content.backlinks


def test_a_reader_gets_no_form(project: SiteProject) -> None:
    with pytest.raises(Forbidden):
        page_of(project, "note-new")
    with pytest.raises(Forbidden):
        save_note(project, {"title": "A", "content": "b"})


def test_a_note_is_written_and_changed(writable: SiteProject) -> None:
    assert (
        save_note(writable, {"title": "Spare keys", "content": "In the safe.", "tags": "keys, #safe"})
        == "/notes/spare-keys"
    )
    form = page_of(writable, "note-edit", {"slug": "spare-keys"}).content
    assert isinstance(form, NoteForm)
    assert (form.content, form.tags) == ("In the safe.\n", "keys, safe")
    changed = {"slug": form.slug, "version": form.version, "content": "With the guard.\r\n", "tags": form.tags}
    assert save_note(writable, changed) == "/notes/spare-keys"
    _, note = writable.notes.page("spare-keys")
    assert note.content == "With the guard.\n"


##= docs/spec/site.md#notes
##% When a note changed since the form was opened, the site MUST keep what was written and show what the other one wrote.
def test_a_conflict_keeps_both_texts(writable: SiteProject) -> None:
    save_note(writable, {"title": "Spare keys", "content": "In the safe."})
    form = page_of(writable, "note-edit", {"slug": "spare-keys"}).content
    assert isinstance(form, NoteForm)
    save_note(writable, {"slug": form.slug, "version": form.version, "content": "theirs\n", "tags": ""})
    again = save_note(writable, {"slug": form.slug, "version": form.version, "content": "mine\n", "tags": ""})
    assert isinstance(again, Page)
    assert again.status == 409
    assert isinstance(again.content, NoteForm)
    assert (again.content.content, again.content.theirs) == ("mine\n", "theirs\n")
    assert "theirs" in html_of(again)
    saved = save_note(writable, {"slug": form.slug, "version": again.content.version, "content": "mine\n", "tags": ""})
    assert saved == "/notes/spare-keys"


def test_the_graph_begins_with_a_name(project: SiteProject) -> None:
    content = page_of(project, "graph", {"q": "codes"}).content
    assert isinstance(content, Graph)
    assert any(node.id == "SourceFile:src/locker/codes.py" for node in content.found)


def neighbourhood(project: SiteProject, **given: str) -> Graph:
    content = page_of(project, "graph", {"node": "SourceFile:src/locker/codes.py", **given}).content
    assert isinstance(content, Graph)
    return content


def test_more_steps_reach_more_nodes_and_edges_join_only_shown_nodes(project: SiteProject) -> None:
    near, far = neighbourhood(project), neighbourhood(project, depth="3")
    assert len(near.nodes) < len(far.nodes) <= MAX_NODES
    shown = {node.id for node in far.nodes}
    assert all({edge.source, edge.target} <= shown for edge in far.edges)
    assert [choice.text for choice in far.depths if choice.is_chosen] == ["3"]


def test_edge_types_and_the_number_of_nodes_are_limited_as_asked(project: SiteProject) -> None:
    assert {edge.type for edge in neighbourhood(project, types="DECLARES_SYMBOL").edges} == {"DECLARES_SYMBOL"}
    few = neighbourhood(project, depth="3", most="5")
    assert len(few.nodes) == 5
    assert "not shown" in few.message


def test_a_path_between_two_nodes_is_shown(project: SiteProject) -> None:
    found = neighbourhood(project, to="Specification:docs-spec-locker")
    assert found.path[0] == "SourceFile:src/locker/codes.py"
    assert "Specification:docs-spec-locker" in found.path


def test_files_of_a_directory_can_be_one_node(project: SiteProject) -> None:
    whole, collapsed = neighbourhood(project, depth="3"), neighbourhood(project, depth="3", collapse="directory")
    assert len(collapsed.nodes) < len(whole.nodes)
    group = next(node for node in collapsed.nodes if node.kind == "directory")
    assert group.number >= 1
