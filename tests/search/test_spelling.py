"""Words of a query that are probably misspelled, or spelled in the other English."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from contextive.knowledge.query_words import TermCounts, query_words
from contextive.knowledge.tokeniser import query_terms
from contextive.search.spelling import MAX_CORRECTED, correct_words

TEXTS = "the color of the terminal is read by the serializer, and the center of the memory is silent again and again"
KNOWN = frozenset(query_terms(TEXTS))


def corrected(query: str, chunks: int = 3) -> dict[str, str]:
    def count(terms: Collection[str]) -> TermCounts:
        return TermCounts(10, {term: chunks for term in terms if term in KNOWN})

    words = query_words(query)
    known = count({spelling for word in words for spelling in word.spellings}).containing
    return {term: right for term, (right, _) in correct_words(words, known, count).items()}


##= docs/spec/knowledge.md#relevance
##= type=test
##% A word that is probably misspelled MUST be searched for in its right spelling, too.
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("terminl", "terminal"),
        ("temrinal", "terminal"),
        ("colour", "color"),
        ("colours", "colors"),
        ("centre", "center"),
        ("serialiser", "serializer"),
    ],
)
def test_a_word_that_no_chunk_contains_is_replaced_by_its_right_spelling(query: str, expected: str) -> None:
    assert list(corrected(query).values()) == [expected]


def test_short_words_and_rare_words_are_left_alone() -> None:
    assert corrected("meory") == {}
    assert corrected("terminl", chunks=1) == {}


def test_a_query_of_many_unknown_words_is_not_a_misspelled_one() -> None:
    assert corrected(" ".join(f"terminl{letter}q" for letter in "abcdefgh"[: MAX_CORRECTED + 1])) == {}
