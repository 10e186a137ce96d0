"""The catalog of notes: names, links and the graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.notes.catalog import NoteCatalog
from contextive.notes.note import parse_note
from tests.notes.catalogs import catalog_of, slugs


##= docs/spec/notes.md#slugs
##% Every note MUST have a slug that is unique in the project.
##= docs/spec/notes.md#slugs
##% If two notes have the same slug, the first by path MUST keep it, and the other one is reported.
def test_the_first_note_by_path_keeps_a_slug_and_the_other_is_reported() -> None:
    catalog = catalog_of({"notes/b/x.md": "second", "notes/a/x.md": "first"})
    found = catalog.get("x")
    assert found is not None
    assert found.content == "first"
    assert [(p.path, p.message) for p in catalog.problems] == [
        ("notes/b/x.md", "the slug 'x' is used by notes/a/x.md; the note is shown as 'notes-b-x'")
    ]
    other = catalog.get("notes-b-x")
    assert other is not None
    assert other.content == "second"


def test_a_note_without_a_free_slug_is_left_out_and_reported() -> None:
    catalog = catalog_of({"b/x.md": "second", "a/x.md": "first", "b-x.md": "third"})
    assert sorted(slugs(catalog)) == ["b-x", "x"]
    assert "left out" in catalog.problems[0].message


##= docs/spec/notes.md#links
##% The text `[[target]]` outside code MUST be a link to the note whose slug, title, alias, file name or path is the
##% target.
@pytest.mark.parametrize(
    "name", ["big-plan", "Big Plan", " BIG  PLAN ", "The Plan", "p1", "p1.md", "sub/p1", "notes/sub/p1.md", "Big-Plan!"]
)
def test_a_note_is_found_by_each_of_its_names(name: str) -> None:
    catalog = catalog_of({"notes/sub/p1.md": "---\ntitle: Big Plan\naliases: [The Plan]\n---\n", "notes/q.md": ""})
    found = catalog.find(name)
    assert found is not None
    assert found.slug == "big-plan"


def test_slugs_take_precedence_over_titles_and_titles_over_aliases() -> None:
    catalog = catalog_of(
        {
            "a.md": "---\ntitle: One\naliases: [Two, three]\n---\n",
            "b.md": "---\ntitle: Two\n---\n",
            "c.md": "---\ntitle: X\nslug: three\n---\n",
        }
    )
    assert [note.path for name in ("One", "two", "Three") if (note := catalog.find(name))] == ["a.md", "b.md", "c.md"]
    assert catalog.find("nothing") is None
    assert catalog.find("../a") is None


##= docs/spec/notes.md#links
##% The outlinks of a note MUST be the targets of the links in its content, each once, in order of first appearance.
##= docs/spec/notes.md#links
##% A target that matches no note MUST be listed among the outlinks as written.
def test_outlinks_are_slugs_of_notes_or_the_target_as_written() -> None:
    catalog = catalog_of(
        {
            "a.md": "[[B Page]] [[b|x]] [[Missing One]] [[missing one]] [[#Own]] [[req:12345678]] [[file:src/x.py]] [[a]]",
            "b.md": "---\ntitle: B Page\nslug: b\n---\n",
        }
    )
    a = catalog.notes[0]
    assert catalog.outlinks(a) == ["b", "Missing One", "req:12345678", "src/x.py", "a"]
    assert catalog.backlinks(a) == []
    assert catalog.backlinks(catalog.notes[1]) == ["a"]


def test_a_target_with_a_hash_sign_can_be_the_title_of_a_note() -> None:
    catalog = catalog_of({"a.md": "[[C# Basics]] [[b#Part]]", "c.md": "---\ntitle: C# Basics\n---\n", "b.md": ""})
    assert catalog.outlinks(catalog.notes[0]) == ["c-basics", "b"]


##= docs/spec/notes.md#get-connections
##% An edge MUST have `source` and `target`, and there is at most one edge between two notes.
def test_the_local_graph_has_one_edge_per_pair_from_the_older_note() -> None:
    catalog = catalog_of({"a.md": "[[b]] [[gone]]", "b.md": "[[a]] [[c]]", "c.md": "[[a]] [[c]]", "d.md": "[[c]]"})
    graph = catalog.local_graph(catalog.notes[0])
    assert [(node.note.slug, node.connections) for node in graph.nodes] == [("a", 2), ("b", 2), ("c", 3)]
    assert graph.edges == (("a", "b"), ("b", "c"), ("c", "a"))


##= docs/spec/notes.md#get-connections
##% A local graph that is too large MUST say how many neighbours are left out.
def test_a_large_local_graph_says_how_many_neighbours_are_left_out() -> None:
    catalog = catalog_of({"hub.md": "", **{f"n{i}.md": "[[hub]]" for i in range(20)}})
    graph = catalog.local_graph(catalog.notes[0], max_nodes=5)
    assert (len(graph.nodes), len(graph.edges), graph.omitted) == (5, 4, 16)


##= docs/spec/notes.md#links
##% The backlinks of a note MUST be the slugs of the other notes that link to it.
##= docs/spec/notes.md#get-connections
##% The local graph MUST contain the page, the notes directly connected to it, and every edge among them.
##= docs/spec/notes.md#get-connections
##% A node MUST have `id`, `title` and `connections`, the number of its edges in the whole graph.
@given(st.lists(st.lists(st.integers(0, 7), max_size=6), min_size=1, max_size=8))
def test_the_local_graph_matches_the_links(links: list[list[int]]) -> None:
    catalog = catalog_of({f"n{i}.md": " ".join(f"[[n{t}]]" for t in ts) for i, ts in enumerate(links)})
    existing = set(slugs(catalog))
    pairs = {frozenset((f"n{i}", f"n{t}")) for i, ts in enumerate(links) for t in ts if i != t and f"n{t}" in existing}
    for note in catalog.notes:
        graph = catalog.local_graph(note)
        members = {node.note.slug for node in graph.nodes}
        assert members == {note.slug}.union(*(pair for pair in pairs if note.slug in pair), set())
        assert [frozenset(edge) for edge in graph.edges] == list(dict.fromkeys(map(frozenset, graph.edges)))
        assert set(map(frozenset, graph.edges)) == {pair for pair in pairs if pair <= members}
        for node in graph.nodes:
            assert node.connections == sum(node.note.slug in pair for pair in pairs)
        assert set(catalog.backlinks(note)) == {
            other.slug for other in catalog.notes if other is not note and note.slug in catalog.outlinks(other)
        }


##= docs/spec/notes.md#list-pages
##% Pages MUST be listed by creation time, newest first.
def test_notes_are_sorted_newest_first_then_by_path() -> None:
    texts = {
        path: f"---\ncreated_at: {day}\n---\n"
        for path, day in [("b.md", "2024-01-02"), ("a.md", "2024-01-02"), ("c.md", "2024-01-03")]
    }
    assert [note.slug for note in catalog_of(texts).newest_first] == ["c", "a", "b"]
    assert slugs(catalog_of(texts)) == ["a", "b", "c"]


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.lists(st.sampled_from(["[[a]]", "[[B c]]", "[[d]]", "x", "`"]))),
        max_size=8,
    )
)
def test_a_catalog_that_reuses_results_equals_a_new_one(edits: list[tuple[str, list[str]]]) -> None:
    texts = {f"{name}.md": f"---\ntitle: {name}\n---\n" for name in "abc"}
    before = NoteCatalog(parse_note(path, text) for path, text in texts.items())
    for name, words in edits:
        texts[f"{name}.md"] = f"---\ntitle: {name}\n---\n" + " ".join(words)
        notes = [parse_note(path, text) for path, text in texts.items()]
        after, fresh = NoteCatalog(notes, before), NoteCatalog(notes)
        for note in after.notes:
            assert after.backlinks(note) == fresh.backlinks(note)
            assert after.local_graph(note) == fresh.local_graph(note)
            assert after.find(note.title) == fresh.find(note.title)
        before = after


def test_notes_about_a_requirement_are_found_by_any_prefix_of_its_identifier() -> None:
    identifier = "0123abcd" + "7" * 56
    catalog = NoteCatalog(
        [
            parse_note("a.md", f"# Short\n[[req:{identifier[:8]}]]"),
            parse_note("b.md", f"# Whole\n[[req:{identifier.upper()}]] and again [[req:{identifier[:8]}|it]]"),
            parse_note("c.md", "# Other requirement\n[[req:0123abcd8]]"),
            parse_note("d.md", f"# In code\n`[[req:{identifier[:8]}]]`"),
        ]
    )
    assert [note.title for note in catalog.about_requirement(identifier)] == ["Short", "Whole"]
    assert catalog.about_requirement("9" * 64) == []
