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
def test_the_semantic_weight_stays_within_its_limits(length: int, found: int) -> None:
    terms = WORDS[:length]
    assert WEIGHT_LONG_QUERY - 1e-9 <= semantic_weight(terms, terms[:found]) <= WEIGHT_NO_TERM_FOUND + 1e-9


def test_terms_that_no_chunk_has_raise_the_semantic_weight() -> None:
    terms = WORDS[:4]
    assert semantic_weight(terms, terms) == pytest.approx(WEIGHT_ALL_TERMS_FOUND)
    assert semantic_weight(terms, terms[:2]) == pytest.approx((WEIGHT_ALL_TERMS_FOUND + WEIGHT_NO_TERM_FOUND) / 2)
    assert semantic_weight(terms, []) == pytest.approx(WEIGHT_NO_TERM_FOUND)


def test_a_long_query_has_a_low_semantic_weight() -> None:
    assert semantic_weight(WORDS[:20], []) == pytest.approx(WEIGHT_LONG_QUERY)
    assert semantic_weight(WORDS[:12], []) < semantic_weight(WORDS[:6], [])


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0.01, 0.99))
def test_weights_for_a_query_keep_their_sum_and_zeros(vector: float, lexical: float, weight: float) -> None:
    weights = resolve_weights(vector=vector, lexical=lexical)
    adjusted = weights.for_query(weight)
    assert adjusted.vector + adjusted.lexical == pytest.approx(weights.vector + weights.lexical)
    assert (adjusted.vector == 0) >= (weights.vector == 0)
    assert (adjusted.lexical == 0) >= (weights.lexical == 0)
    assert Weights().for_query(weight).vector == pytest.approx(weight)


def test_a_response_has_the_weights_of_its_query(shop: Store) -> None:
    service = SearchService(shop, DummyEmbedder)
    shared = service.search(SearchRequest("receipt of the bank")).metadata.hybrid_weights
    other = service.search(SearchRequest("voucher from an institute about a receipt")).metadata.hybrid_weights
    assert shared == pytest.approx({"vector": WEIGHT_ALL_TERMS_FOUND, "lexical": 1 - WEIGHT_ALL_TERMS_FOUND})
    assert other["vector"] > shared["vector"]
