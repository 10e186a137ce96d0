from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.tokeniser import query_terms
from contextive.search.snippets import SNIPPET_CHARACTERS, best_lines, passage

FIRST = 11
TEXTS = st.text(alphabet="ab \n", max_size=600)
QUERIES = st.sampled_from(["a", "ab", "b a"])


def lines_of(text: str) -> tuple[int, int]:
    return FIRST, FIRST + text.count("\n")


def test_a_snippet_has_the_lines_with_the_most_terms() -> None:
    text = "\n".join(["first", *["filler"] * 20, "the door opens", "with a key", *["filler"] * 20])
    snippet = best_lines(text, lines_of(text), query_terms("open the door with a key"))
    assert "the door opens\nwith a key" in snippet.text
    assert snippet.line_start <= 11 + 21 <= snippet.line_end


def test_without_a_match_a_snippet_has_the_first_lines() -> None:
    assert best_lines("one\ntwo", (1, 2), ["nothing"]).text == "one\ntwo"


@given(TEXTS, QUERIES)
def test_a_snippet_is_part_of_its_text(text: str, query: str) -> None:
    snippet = best_lines(text, lines_of(text), query_terms(query))
    assert snippet.text in text
    assert len(snippet.text) <= SNIPPET_CHARACTERS
    assert FIRST <= snippet.line_start <= snippet.line_end <= lines_of(text)[1]


@given(TEXTS, QUERIES, st.integers(20, 300))
def test_a_passage_is_part_of_its_text_and_fits(text: str, query: str, characters: int) -> None:
    found = passage(text, lines_of(text), query_terms(query), characters)
    assert found.text in text
    assert len(found.text) <= characters
    first = found.line_start - FIRST
    assert "\n".join(text.split("\n")[first:]).startswith(found.text)


def test_a_short_text_is_a_passage_as_a_whole() -> None:
    assert passage("one\ntwo\n", (5, 7), ["two"], 100).text == "one\ntwo\n"


def test_a_passage_uses_the_room_around_the_best_lines() -> None:
    text = "\n".join([f"line {number} of the text" for number in range(40)] + ["the key opens the door"])
    found = passage(text, lines_of(text), query_terms("key door"), 200)
    assert found.text.endswith("the key opens the door")
    assert 150 < len(found.text) <= 200


def test_a_passage_shows_the_beginning_of_a_long_line_after_a_heading() -> None:
    text = "Opening\n=======\n\n" + "the door opens with a key " * 40
    found = passage(text, lines_of(text), ["open"], 250)
    assert found.text.startswith("Opening\n=======\n\nthe door opens")
    assert not found.text.endswith("wit")
