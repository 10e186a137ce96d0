"""Keyword search, relevant notes for a question, and similar notes."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from contextive.notes.note import parse_note
from contextive.notes.search import SearchIndex, keywords_of, relevant_notes
from contextive.notes.similarity import similar_notes
from contextive.notes.word_index import WordIndex
from tests.notes.catalogs import catalog_of


def search(texts: dict[str, str], query: str) -> list[tuple[str, str]]:
    return [(hit.note.slug, hit.excerpt) for hit in catalog_of(texts).index.search(query)]


##= docs/spec/notes.md#search
##% A search MUST match the whole query in titles and in contents, ignoring case.
def test_the_whole_query_is_matched_ignoring_case() -> None:
    texts = {"a.md": "Rate Limits are FAIR", "b.md": "limits of rate"}
    assert search(texts, "  rate limits ") == [("a", "Rate Limits are FAIR")]
    assert search(texts, "zebra") == []
    assert search(texts, "   ") == []
    assert search(texts, "a\0b") == []


##= docs/spec/notes.md#search
##% An excerpt MUST be the text around the first match in the content, or the beginning of the content if only the
##% title matches.
def test_an_excerpt_starts_fifty_characters_before_and_ends_a_hundred_after_the_match() -> None:
    content = "x" * 60 + "NEEDLE" + "y" * 200
    assert search({"a.md": content}, "needle") == [("a", "..." + "x" * 50 + "NEEDLE" + "y" * 94 + "...")]
    assert search({"a.md": "xneedle y"}, "needle") == [("a", "xneedle y")]


def test_without_a_match_in_the_content_the_excerpt_is_its_beginning() -> None:
    text = "---\ntitle: Needle\n---\n" + "z" * 151
    assert search({"a.md": text}, "needle") == [("needle", "z" * 150 + "...")]
    assert search({"a.md": text[:-1]}, "needle") == [("needle", "z" * 150)]


def test_letters_that_get_longer_in_lower_case_do_not_shift_the_excerpt() -> None:
    assert search({"a.md": "İ" * 60 + "needle"}, "NEEDLE") == [("a", "..." + "İ" * 50 + "needle")]


##= docs/spec/notes.md#search
##% Pages with the query in their title MUST come first, and newer pages come before older ones otherwise.
def test_title_matches_come_first_then_the_newest_and_at_most_twenty() -> None:
    texts = {"t.md": "---\ntitle: Needle\n---\nother"} | {f"n{i}.md": "needle" for i in range(30)}
    hits = [slug for slug, _ in search(texts, "needle")]
    assert hits == ["needle", *(f"n{i}" for i in range(29, 10, -1))]


@given(
    st.lists(st.text(st.sampled_from("abcAB \0"), max_size=12), max_size=12),
    st.text(st.sampled_from("abAB "), max_size=3),
)
def test_search_equals_a_scan_of_every_note(contents: list[str], query: str) -> None:
    notes = [parse_note(f"{number}-zz.md", text) for number, text in enumerate(contents)]
    wanted = query.strip().lower()
    hits = {hit.note.path for hit in SearchIndex(notes).search(query, 100)}
    assert hits == {n.path for n in notes if wanted and (wanted in n.title.lower() or wanted in n.content.lower())}


def test_the_keywords_of_a_question_are_its_long_words() -> None:
    assert keywords_of("What is the Rate-Limit, and WHERE is it?") == ["rate-limit"]
    assert keywords_of("Who am I?") == ["who am i?"]


def test_relevant_notes_are_sorted_by_number_of_keywords() -> None:
    notes = catalog_of(
        {"a.md": "tokens expire", "b.md": "---\ntitle: Tokens\n---\nexpire daily", "c.md": "nothing", "d.md": "expire"}
    ).notes
    assert [note.slug for note in relevant_notes(notes, "When do tokens expire?")] == ["tokens", "a", "d"]
    assert relevant_notes(notes, "unrelated zebra") == []


def test_notes_that_share_most_words_are_similar() -> None:
    body = "The deployment pipeline builds images, runs checks, and promotes releases every Monday."
    catalog = catalog_of({"a.md": body, "b.md": f"{body} Mostly.", "c.md": "Recipes for bread with flour and water."})
    assert [note.slug for note in similar_notes(catalog.notes[0], catalog.notes)] == ["b"]
    assert similar_notes(catalog.notes[2], catalog.notes) == []


def test_a_similar_note_is_found_among_many() -> None:
    rng = random.Random(5)
    texts = {f"n{i}.md": " ".join(f"word{rng.randrange(400)}x" for _ in range(30)) for i in range(900)}
    twin = texts["n444.md"] + " and a few words of its own"
    catalog = catalog_of(texts | {"twin.md": twin})
    note = catalog.get("twin")
    assert note is not None
    assert similar_notes(note, catalog.notes)[0].slug == "n444"


def test_a_similar_note_is_found_among_many_with_rare_words() -> None:
    """With rare words only a few are probed, and each of them is enough to find a similar note."""
    rng = random.Random(7)
    texts = {f"n{i}.md": " ".join(f"word{rng.randrange(12_000)}x" for _ in range(80)) for i in range(1_500)}
    for number in range(40):
        words = texts[f"n{number}.md"].split()
        own = [word if rng.random() < 0.8 else f"own{at}x" for at, word in enumerate(words)]
        texts[f"twin{number}.md"] = " ".join(own)
    catalog = catalog_of(texts)
    found = 0
    for number in range(40):
        twin = catalog.get(f"twin{number}")
        assert twin is not None
        found += [note.slug for note in similar_notes(twin, catalog.notes)] == [f"n{number}"]
    assert found >= 38


@given(st.lists(st.tuples(st.integers(0, 7), st.text(st.sampled_from("ab \n"), max_size=8)), max_size=12))
def test_an_updated_index_equals_a_new_one(edits: list[tuple[int, str]]) -> None:
    texts = {f"{number}-zz.md": "a b" for number in range(4)}
    index = None
    for number, text in edits:
        texts[f"{number}-zz.md"] = text
        notes = [parse_note(path, text) for path, text in sorted(texts.items())]
        index = SearchIndex(notes, index)
        for query in ("a", "ab", "a b", "b\na", "ba ab a", "zz"):
            assert index.search(query, 100) == SearchIndex(notes).search(query, 100)


def test_repeated_changes_of_a_note_do_not_grow_the_index() -> None:
    words = WordIndex()
    for number in range(50):
        words.add_notes([parse_note("a.md", f"harbour water {number % 2}")])
    assert {word: len(groups) for word, groups in words._groups.items()} == {"harbour": 1, "water": 1, "0": 1, "1": 1}
