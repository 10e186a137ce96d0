from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.chunk import Chunk
from contextive.knowledge.tokeniser import query_terms
from contextive.search.snippets import SNIPPET_CHARACTERS, best_lines, trim_text


def chunk(text: str, line_start: int = 11) -> Chunk:
    return Chunk("a::0", 0, "prose", "", text, line_start, line_start + text.count("\n"), "")


def test_a_snippet_has_the_lines_with_the_most_terms() -> None:
    text = "\n".join(["first", *["filler"] * 20, "the door opens", "with a key", *["filler"] * 20])
    snippet = best_lines(chunk(text), query_terms("open the door with a key"))
    assert "the door opens\nwith a key" in snippet.text
    assert snippet.line_start <= 11 + 21 <= snippet.line_end


def test_without_a_match_a_snippet_has_the_first_lines() -> None:
    assert best_lines(chunk("one\ntwo"), ["nothing"]).text == "one\ntwo"


@given(st.text(alphabet="ab \n", max_size=600), st.sampled_from(["a", "ab", "b a"]))
def test_a_snippet_is_part_of_its_chunk(text: str, query: str) -> None:
    piece = chunk(text)
    snippet = best_lines(piece, query_terms(query))
    assert snippet.text in text
    assert len(snippet.text) <= SNIPPET_CHARACTERS
    assert piece.line_start <= snippet.line_start <= snippet.line_end <= piece.line_end


@given(st.text(max_size=300), st.integers(1, 200))
def test_a_trimmed_text_plus_the_rest_is_the_whole_text(text: str, budget: int) -> None:
    kept, left = trim_text(text, budget)
    assert text.startswith(kept)
    assert len(kept) + left == len(text)
    assert len(kept) <= max(budget, len(text) if not left else budget)
