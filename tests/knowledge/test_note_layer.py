"""Notes in the graph."""

from __future__ import annotations

from contextive.knowledge.graph import Edge
from contextive.knowledge.note_layer import notes_layer
from tests.notes.catalogs import catalog_of

ONE, TWO = "12345678" + "a" * 56, "12345678" + "b" * 56


def test_a_note_is_a_node_with_title_path_and_tags() -> None:
    layer = notes_layer(catalog_of({"notes/a.md": "---\ntitle: An A\ntags: [x]\n---\n"}))
    assert [(node.id, node.properties) for node in layer.nodes] == [
        ("Note:an-a", {"title": "An A", "path": "notes/a.md", "tags": ["x"]})
    ]
    assert layer.edges == ()


def test_links_become_edges_to_existing_notes_requirements_files_and_symbols() -> None:
    text = (
        "[[b]] [[B]] [[a]] [[missing]] [[req:12345678a]] [[req:ffffffff]] [[file:./src/x.py]] [[file:none.py]] "
        "[[symbol:src/x.py::Thing]] [[symbol:src/x.py::None]]"
    )
    layer = notes_layer(
        catalog_of({"a.md": text, "b.md": "[[a]]"}),
        requirements=[ONE, TWO],
        artifacts={"src/x.py": "SourceFile:src/x.py"},
        symbols={"src/x.py::Thing"},
    )
    assert layer.edges == (
        Edge("Note:a", "LINKS_TO", "Note:b"),
        Edge("Note:a", "LINKS_TO", f"Requirement:{ONE}"),
        Edge("Note:a", "LINKS_TO", "SourceFile:src/x.py"),
        Edge("Note:a", "LINKS_TO", "Symbol:src/x.py::Thing"),
        Edge("Note:b", "LINKS_TO", "Note:a"),
    )


def test_an_ambiguous_requirement_prefix_has_no_edge() -> None:
    assert notes_layer(catalog_of({"a.md": "[[req:12345678]]"}), requirements=[ONE, TWO]).edges == ()
