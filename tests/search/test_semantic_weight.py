from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.search.answer import SearchRequest
from contextive.search.embedding.dummy import DummyEmbedder
from contextive.search.semantic_weight import (
    WEIGHT_ALL_TERMS_FOUND,
    WEIGHT_LONG_QUERY,
    WEIGHT_NO_TERM_FOUND,
    semantic_weight,
)
from contextive.search.service import SearchService
from contextive.search.weights import Weights, resolve_weights
from contextive.store.protocol import Store

WORDS = [f"word{number}" for number in range(40)]


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_share_of_meaning_stays_between_its_ends(length: int, held: int) -> None:
    terms = WORDS[:length]
    assert WEIGHT_LONG_QUERY - 1e-9 <= semantic_weight(terms, terms[:held]) <= WEIGHT_NO_TERM_FOUND + 1e-9


def test_words_that_no_chunk_has_leave_more_to_meaning() -> None:
    terms = WORDS[:4]
    assert semantic_weight(terms, terms) == pytest.approx(WEIGHT_ALL_TERMS_FOUND)
    assert semantic_weight(terms, terms[:2]) == pytest.approx((WEIGHT_ALL_TERMS_FOUND + WEIGHT_NO_TERM_FOUND) / 2)
    assert semantic_weight(terms, []) == pytest.approx(WEIGHT_NO_TERM_FOUND)


def test_a_long_query_is_left_to_words() -> None:
    assert semantic_weight(WORDS[:20], []) == pytest.approx(WEIGHT_LONG_QUERY)
    assert semantic_weight(WORDS[:12], []) < semantic_weight(WORDS[:6], [])


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0.01, 0.99))
def test_balanced_weights_keep_their_sum_and_what_is_off_stays_off(
    vector: float, lexical: float, meaning: float
) -> None:
    weights = resolve_weights(vector=vector, lexical=lexical)
    balanced = weights.for_query(meaning)
    assert balanced.vector + balanced.lexical == pytest.approx(weights.vector + weights.lexical)
    assert (balanced.vector == 0) >= (weights.vector == 0)
    assert (balanced.lexical == 0) >= (weights.lexical == 0)
    assert Weights().for_query(meaning).vector == pytest.approx(meaning)


def test_an_answer_tells_the_weights_that_its_query_had(shop: Store) -> None:
    searching = SearchService(shop, DummyEmbedder)
    shared = searching.search(SearchRequest("receipt of the bank")).metadata.hybrid_weights
    other = searching.search(SearchRequest("voucher from an institute about a receipt")).metadata.hybrid_weights
    assert shared == pytest.approx({"vector": WEIGHT_ALL_TERMS_FOUND, "lexical": 1 - WEIGHT_ALL_TERMS_FOUND})
    assert other["vector"] > shared["vector"]
