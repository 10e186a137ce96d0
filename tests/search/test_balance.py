from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.search.answer import SearchRequest
from contextive.search.balance import LONG, SHARED, UNSHARED, share_of_meaning
from contextive.search.embedding.dummy import Dummy
from contextive.search.service import SearchService
from contextive.search.weights import Weights, resolve_weights
from contextive.store.protocol import Store

WORDS = [f"word{number}" for number in range(40)]


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_share_of_meaning_stays_between_its_ends(length: int, held: int) -> None:
    terms = WORDS[:length]
    assert LONG - 1e-9 <= share_of_meaning(terms, terms[:held]) <= UNSHARED + 1e-9


def test_words_that_no_chunk_has_leave_more_to_meaning() -> None:
    terms = WORDS[:4]
    assert share_of_meaning(terms, terms) == pytest.approx(SHARED)
    assert share_of_meaning(terms, terms[:2]) == pytest.approx((SHARED + UNSHARED) / 2)
    assert share_of_meaning(terms, []) == pytest.approx(UNSHARED)


def test_a_long_query_is_left_to_words() -> None:
    assert share_of_meaning(WORDS[:20], []) == pytest.approx(LONG)
    assert share_of_meaning(WORDS[:12], []) < share_of_meaning(WORDS[:6], [])


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0.01, 0.99))
def test_balanced_weights_keep_their_sum_and_what_is_off_stays_off(
    vector: float, lexical: float, meaning: float
) -> None:
    weights = resolve_weights(vector=vector, lexical=lexical)
    balanced = weights.balanced(meaning)
    assert balanced.vector + balanced.lexical == pytest.approx(weights.vector + weights.lexical)
    assert (balanced.vector == 0) >= (weights.vector == 0)
    assert (balanced.lexical == 0) >= (weights.lexical == 0)
    assert Weights().balanced(meaning).vector == pytest.approx(meaning)


def test_an_answer_tells_the_weights_that_its_query_had(shop: Store) -> None:
    searching = SearchService(shop, Dummy)
    shared = searching.search(SearchRequest("receipt of the bank")).metadata.hybrid_weights
    other = searching.search(SearchRequest("voucher from an institute about a receipt")).metadata.hybrid_weights
    assert shared == pytest.approx({"vector": SHARED, "lexical": 1 - SHARED})
    assert other["vector"] > shared["vector"]
