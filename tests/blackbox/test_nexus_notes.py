"""Twelve linked notes and their expected connections. Skipped without the black-box cases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contextive.ingest.notes_service import NotesService
from contextive.notes.slug import slugify
from tests.blackbox import FOLDER, skip_without_cases

DATA = FOLDER / "nexus_codex_notes.json"

pytestmark = skip_without_cases


def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


TITLES = [note["title"] for note in _data()["notes"]] if FOLDER.is_dir() else []


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> NotesService:
    """The notes as files, created in the order of the data."""
    root = tmp_path_factory.mktemp("nexus")
    (root / "notes").mkdir()
    for number, note in enumerate(_data()["notes"]):
        head = f'---\ntitle: "{note["title"]}"\ntags: [{", ".join(note["tags"])}]\ncreated_at: 2024-01-{number + 1:02}\n---\n'
        path = root / "notes" / f"{slugify(note['title'])}.md"
        path.write_text(f"{head}\n{note['content']}", encoding="utf-8", newline="")
    return NotesService(root)


def test_all_twelve_notes_are_there(service: NotesService) -> None:
    view = service.view()
    assert [note.title for note in view.catalog.notes] == TITLES
    assert len(TITLES) == 12
    assert view.problems == ()


@pytest.mark.parametrize("title", TITLES)
def test_a_note_has_the_expected_connections(service: NotesService, title: str) -> None:
    expected = _data()["expected_connections"][title]
    view, note = service.page(title)
    graph = view.catalog.local_graph(note)
    assert note.slug == slugify(title)
    assert view.catalog.outlinks(note) == [slugify(name) for name in expected["outlinks"]]
    assert view.catalog.backlinks(note) == [slugify(name) for name in expected["backlinks"]]
    assert [(node.note.title, node.connections) for node in graph.nodes] == [
        (node["title"], node["connections"]) for node in expected["localGraph"]["nodes"]
    ]
    assert list(graph.edges) == [
        (slugify(edge["source"]), slugify(edge["target"])) for edge in expected["localGraph"]["edges"]
    ]


@pytest.mark.parametrize("note", _data()["notes"] if FOLDER.is_dir() else [], ids=TITLES)
def test_the_content_of_a_note_is_not_changed(service: NotesService, note: dict[str, Any]) -> None:
    assert service.page(note["title"])[1].content == note["content"]
