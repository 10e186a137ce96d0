from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import InvalidRequest
from contextive.search.baselines import open_baselines
from contextive.search.embedding.dummy import DummyEmbedder
from contextive.search.evaluation import evaluate, parse_judgements
from contextive.search.metrics import bootstrap, score_ranking
from contextive.search.service import SearchService
from contextive.store.protocol import Store

SHIPPED = Path(__file__).parents[2] / "benchmarks" / "judgements"


def test_a_perfect_ranking_scores_one() -> None:
    scores = score_ranking(["a", "b", "c"], {"a": 2.0, "b": 1.0})
    assert (scores.ndcg, scores.mrr, scores.recall) == (1.0, 1.0, 1.0)


def test_metrics_match_a_calculation_by_hand() -> None:
    scores = score_ranking(["x", "a", "y"], {"a": 1.0, "b": 1.0})
    assert scores.ndcg == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert (scores.mrr, scores.recall) == (0.5, 0.5)
    assert (scores.hit1, scores.hit5) == (0, 1)


##= docs/spec/commands.md#eval
##% Recall MUST be the share of all relevant results that are among the first ten.
def test_recall_counts_all_relevant_results_even_if_there_are_more_than_ten() -> None:
    relevant = [f"r{number}" for number in range(20)]
    assert score_ranking(relevant, dict.fromkeys(relevant, 1.0)).recall == 0.5


def test_grep_ranks_by_the_number_of_different_words_and_bm25_by_their_rarity(shop: Store) -> None:
    baselines = open_baselines(shop)
    found = {name: search("which REFUND is paid within a week") for name, search in baselines.items()}
    assert found["grep"][0].artifact.path == "docs/payment.md"
    assert found["bm25"][0].artifact.path == "docs/payment.md"
    assert baselines["grep"]('the " of') == baselines["bm25"]('"') == []


def test_ranks_after_the_cutoff_do_not_count() -> None:
    assert score_ranking([*"xxxxxxxxxx", "a"], {"a": 1.0}).ndcg == 0


@given(st.permutations("abcdef"), st.dictionaries(st.sampled_from("abcxyz"), st.floats(0.1, 3), min_size=1))
def test_metrics_are_between_0_and_1(ranking: list[str], grades: dict[str, float]) -> None:
    scores = score_ranking(ranking, grades)
    assert all(0 <= value <= 1 + 1e-9 for value in (scores.ndcg, scores.mrr, scores.recall))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_interval_is_deterministic_and_within_the_values(values: list[float]) -> None:
    found = bootstrap(values, resamples=100)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found == bootstrap(values, resamples=100)


##= docs/spec/commands.md#eval
##% The command `eval` MUST measure search quality with the judgements in a file or with the recorded votes.
def test_judgements_are_parsed_with_their_grades() -> None:
    text = '{"query": "a", "relevant": ["x.md"]}\n\n{"query": "b", "relevant": ["y"], "grades": {"y": 3, "z": 0}}\n'
    first, second = parse_judgements(text)
    assert first.grades == {"x.md": 1.0}
    assert second.grades == {"y": 3.0}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"query": " ", "relevant": ["a"]}',
        '{"query": "a", "relevant": []}',
        '{"query": "a", "relevant": "a"}',
    ],
)
def test_an_invalid_line_is_reported_with_its_number(line: str) -> None:
    with pytest.raises(InvalidRequest, match="Line 2"):
        parse_judgements('{"query": "a", "relevant": ["x"]}\n' + line)


@pytest.mark.parametrize("name", ["docstrings.jsonl", "headings.jsonl", "questions.jsonl"])
def test_the_shipped_judgements_have_at_least_sixty_queries(name: str) -> None:
    judgements = parse_judgements((SHIPPED / name).read_text(encoding="utf-8"))
    assert len(judgements) >= 60
    assert len({judgement.query for judgement in judgements}) == len(judgements)


##= docs/spec/commands.md#eval
##% An evaluation MUST compare lexical, semantic and hybrid search with each other, with grep and with plain BM25.
def test_an_evaluation_compares_all_kinds_of_search_with_grep_and_plain_bm25(shop: Store) -> None:
    judgements = parse_judgements(
        '{"query": "take money from a card", "relevant": ["src/shop/payment/gateway.py::PaymentGateway.charge_card"]}\n'
        '{"query": "receipt for a refund", "relevant": ["docs/payment.md#Refunds"]}\n'
        '{"query": "goods on the shelves", "relevant": ["src/shop/stock/shelf.py"]}\n'
    )
    progress: list[tuple[int, int]] = []
    found = evaluate(
        SearchService(shop, DummyEmbedder),
        judgements,
        baselines=open_baselines(shop),
        sweep=(0.0, 0.5, 1.0),
        progress=lambda done, total: progress.append((done, total)),
    )
    assert found.queries == 3
    assert progress == [(1, 3), (2, 3), (3, 3)]
    assert set(found.modes) == {"lexical", "dense", "hybrid", "grep", "bm25"}
    assert found.sweep[0.5] == pytest.approx(found.modes["hybrid"].ndcg.mean)
    assert found.modes["hybrid"].recall.mean == 1.0
    assert found.modes["bm25"].hit5.mean == 1.0
    gain = found.modes["hybrid"].ndcg.mean - found.modes["lexical"].ndcg.mean
    assert found.gain_over_lexical.mean == pytest.approx(gain)
