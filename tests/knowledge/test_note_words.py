"""Finding notes by their words, and excerpts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.note_words import NoteWords, excerpt, passages
from contextive.knowledge.query_words import query_words
from contextive.notes.note import Note, parse_note
from tests.notes.catalogs import catalog_of


def words_of(texts: dict[str, str]) -> NoteWords:
    words = NoteWords()
    words.update(catalog_of(texts).newest_first)
    return words


def search(texts: dict[str, str], query: str, limit: int = 20) -> list[str]:
    return [note.slug for note in words_of(texts).search(query_words(query), limit)]


def text_around(text: str, query: str) -> str:
    note = parse_note("a.md", text)
    words = query_words(query)
    best = max(passages(note), key=lambda passage: sum(word.is_in(passage.tokens) for word in words))
    return excerpt(note, query, words, best)


PAGES = {
    "backup.md": "---\ntitle: Back up your vault\n---\nCopy the folder to another disk.\n",
    "tags.md": "---\ntags: [labels]\n---\n# Tags\n\n## Nested tags\n\nA slash separates the parts of a tag.\n",
    "sync.md": "# Sync\n\nNotes are copied between devices. Back up the notes before.\n",
}


##= docs/spec/notes.md#search
##% A search MUST find pages by the words in their titles, tags, headings and contents, whatever their form, best first.
def test_pages_are_found_by_title_tag_heading_and_content_in_any_form() -> None:
    assert search(PAGES, "How do I back up the vaults?")[0] == "back-up-your-vault"
    assert search(PAGES, "label") == ["tags"]
    assert search(PAGES, "nesting tag!")[0] == "tags"
    assert search(PAGES, "copying notes to a device")[0] == "sync"
    assert search(PAGES, "what is the") == []


##= docs/spec/notes.md#search
##% Of pages that match equally well, the newer ones MUST come first.
def test_equal_pages_are_sorted_newest_first() -> None:
    texts = {f"n{number}.md": f"---\ncreated_at: 202{number}-01-01\n---\nneedle" for number in range(5)}
    assert search(texts, "needle", 3) == ["n4", "n3", "n2"]


##= docs/spec/notes.md#search
##% A text that is not a word, such as a part of one, MUST be found as it is written, ignoring case.
def test_a_part_of_a_word_is_found_as_it_is_written() -> None:
    words = words_of({"a.md": "uses C++ and Pumpen-Station", "---pump.md": "other"})
    assert [note.slug for note in words.containing("c++", 5)] == ["a"]
    assert [note.slug for note in words.containing("PUMP", 5)] == ["pump", "a"]
    assert words.containing("  ", 5) == []


##= docs/spec/notes.md#search
##% An excerpt MUST be the text around the best match in the content, or the beginning of the content if only the title
##% matches.
def test_an_excerpt_starts_fifty_characters_before_and_ends_a_hundred_after_the_query() -> None:
    content = "x" * 60 + " NEEDLE " + "y" * 200
    assert text_around(content, "needle") == "..." + "x" * 49 + " NEEDLE " + "y" * 93 + "..."
    assert text_around("xneedle y", "needle") == "xneedle y"
    assert text_around("---\ntitle: Needle\n---\n" + "z" * 151, "needle") == "z" * 150 + "..."


def test_an_excerpt_shows_the_line_with_the_most_words_of_a_question() -> None:
    lines = ["# Pumps", "", "A pump moves water.", "", "## Pressure", "", *["filler line"] * 30]
    text = "\n".join([*lines, "The pump stops at a pressure of 3 bar.", *["more filler"] * 30])
    assert "stops at a pressure of 3 bar" in text_around(text, "At which pressure does a pump stop?")


def test_letters_that_get_longer_in_lower_case_do_not_shift_the_excerpt() -> None:
    assert text_around("İ" * 60 + "needle", "NEEDLE") == "..." + "İ" * 50 + "needle"


_texts = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["a b", "pump", "pumps water", ""])), max_size=10)


@given(_texts)
def test_an_updated_index_equals_a_new_one(edits: list[tuple[int, str]]) -> None:
    notes: dict[str, Note] = {}
    words = NoteWords()
    for number, text in edits:
        path = f"{number}-zz.md"
        notes[path] = parse_note(path, text)
        if not text:
            del notes[path]
        words.update(notes.values())
        fresh = NoteWords()
        fresh.update(notes.values())
        for query in ("pump", "b", "water pump", "zz"):
            assert words.search(query_words(query), 9) == fresh.search(query_words(query), 9)
            assert words.counts(["pump", "water"]) == fresh.counts(["pump", "water"])
