"""Whether a passage is about a query, in numbers that are comparable between queries."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.query_words import TermCounts, query_words
from contextive.knowledge.tokeniser import tokenise
from contextive.search.relevance import (
    CALIBRATED_MODEL,
    GOOD_RELEVANCE,
    LEAST_RELEVANCE,
    Evidence,
    QueryTopic,
    comparable_cosine,
    judge,
    query_topic,
    relevance_level,
)

PASSAGES = [
    "The pump stops when the tank is full.",
    "url_path_for builds the url of a route",
    "Sirens warn of high water.",
]
shares = st.floats(0, 1)
evidence = st.builds(Evidence, shares, shares, st.none() | st.floats(-0.2, 1), st.integers(1, 200_000))


def topic(query: str, texts: int = 1_500) -> QueryTopic:
    known = {token for passage in PASSAGES for token in tokenise(passage)}
    return query_topic(query_words(query), TermCounts(texts, dict.fromkeys(known, 3)))


def best(query: str) -> float:
    asked = topic(query)
    return judge({n: asked.evidence(set(tokenise(passage))) for n, passage in enumerate(PASSAGES)}).best


@pytest.mark.parametrize("query", ["when does the pump stop", "high water sirens", "build the url of a route"])
def test_a_query_with_the_words_of_a_passage_is_relevant(query: str) -> None:
    assert relevance_level(best(query)) == "good"


@pytest.mark.parametrize(
    "query", ["how do I bake sourdough bread", "zxqv wvutq", "kubernetes pod eviction policy", "the"]
)
def test_a_query_about_something_else_is_not(query: str) -> None:
    assert relevance_level(best(query)) == "none"


def test_a_rare_word_says_more_about_the_topic_than_a_common_one() -> None:
    assert topic("sourdough pump").known < topic("time pump").known


def test_only_a_known_identifier_is_named() -> None:
    assert topic("url_path_for").names_identifier
    assert not topic("url_path_of").names_identifier
    assert not topic("pump").names_identifier


@given(evidence)
def test_more_of_the_words_and_a_closer_meaning_are_more_relevant(given_evidence: Evidence) -> None:
    covered = replace(given_evidence, coverage=min(1.0, given_evidence.coverage + 0.1))
    known = replace(given_evidence, known=min(1.0, given_evidence.known + 0.1))
    larger = replace(given_evidence, texts=given_evidence.texts * 2)
    assert covered.relevance >= given_evidence.relevance
    assert known.relevance >= given_evidence.relevance
    assert larger.relevance <= given_evidence.relevance
    if given_evidence.cosine is not None:
        assert replace(given_evidence, cosine=given_evidence.cosine + 0.1).relevance >= given_evidence.relevance


@given(st.dictionaries(st.integers(), evidence, max_size=8))
def test_no_passage_is_more_relevant_than_the_best(found: dict[int, Evidence]) -> None:
    judgement = judge(found)
    assert judgement.by_key.keys() == found.keys()
    assert all(0.0 <= one <= judgement.best + 1e-9 for one in judgement.by_key.values())


def test_cosines_of_another_model_are_not_used() -> None:
    assert comparable_cosine(0.9, "openai:large") is None
    assert comparable_cosine(0.9, None) is None
    assert comparable_cosine(0.9, CALIBRATED_MODEL) == 0.9


def test_the_three_levels_follow_the_probability() -> None:
    assert relevance_level(LEAST_RELEVANCE - 0.01) == "none"
    assert relevance_level(LEAST_RELEVANCE) == "weak"
    assert relevance_level(GOOD_RELEVANCE) == "good"
