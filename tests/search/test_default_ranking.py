"""The default configuration gives exactly the ranking that docs/adr/0009-how-results-are-ranked.md describes and measures."""

from __future__ import annotations

import pytest

from contextive.config.sections import Search
from contextive.knowledge.tokeniser import query_terms, tokenise
from contextive.search.answer import SearchRequest
from contextive.search.candidates import DEPTH
from contextive.search.embedding.dummy import DummyEmbedder
from contextive.search.query_reading import read_query
from contextive.search.ranking import RankingRules
from contextive.search.service import SearchService, SearchSettings
from contextive.search.weights import resolve_weights
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter

QUERIES = [
    "refund a card payment",
    "how many goods are on a shelf of the warehouse",
    "PaymentGateway",
    "currency of the customers",
    "many words that ask which card is charged with money by the bank and how long the refund of a receipt takes",
]


def scaled(scores: dict[int, float]) -> dict[int, float]:
    low, high = min(scores.values()), max(scores.values())
    return {number: (score - low) / (high - low) for number, score in scores.items()}


def semantic_weight_of_the_adr(words: int, found: int) -> float:
    short = 0.8 - 0.25 * found / words
    return short + (0.25 - short) * min(1.0, max(0.0, (words - 5) / 10))


def test_the_default_configuration_has_the_measured_weights() -> None:
    given = Search()
    assert (given.vector_weight, given.lexical_weight) == (0.5, 0.5)
    weights = resolve_weights(given.weight_profile, vector=given.vector_weight, lexical=given.lexical_weight)
    assert SearchSettings(weights=weights) == SearchSettings()
    assert RankingRules() == RankingRules(trial=-0.3, stem=0.05, definition=0.3, file=0.2)


@pytest.mark.parametrize("query", QUERIES)
def test_the_default_ranking_is_the_formula_of_the_adr(shop: Store, query: str) -> None:
    embedder, everything = DummyEmbedder(), ChunkFilter()
    asked = read_query(query, shop.search.chunk_counts).lexical
    lexical = {hit.number: hit.score for hit in shop.search.lexical(asked, DEPTH, everything).hits}
    vector = embedder.embed_query(query)
    cosines = {hit.number: hit.score for hit in shop.search.dense(embedder.model, vector, DEPTH, everything).hits}
    union = lexical.keys() | cosines.keys()
    rows = shop.files.chunks(list(union))
    best = rows[max(lexical, key=lambda number: lexical[number])]
    in_best = set(tokenise(f"{best.chunk.title}\n{best.artifact.path}\n{best.chunk.text}"))
    terms = query_terms(query)
    weight = semantic_weight_of_the_adr(len(terms), len(in_best.intersection(terms)))
    words = scaled({number: lexical.get(number, 0.0) for number in union})
    meaning = scaled(cosines)

    request = SearchRequest(query, 25, include_graph=False, explain=True, group="chunk", only_relevant=False)
    response = SearchService(shop, DummyEmbedder).search(request)
    assert response.metadata.hybrid_weights == pytest.approx({"vector": weight, "lexical": 1 - weight})
    numbers = {row.chunk.chunk_id: number for number, row in rows.items()}
    found = {numbers[result.chunk.chunk_id]: result.explain or {} for result in response.results}
    # The parts of a score are multiplied by the relevance of the answer.
    scale = sum(part["lexical"] for part in found.values()) / sum((1 - weight) * words[number] for number in found)
    for number, part in found.items():
        assert part["lexical"] == pytest.approx(scale * (1 - weight) * words[number])
        assert part["vector"] == pytest.approx(scale * weight * meaning[number])
        rules = {"trial": -0.3, "definition": 0.3, "file": 0.2, "stem": 0.05}
        assert all(abs(gain) <= abs(scale * rules[name]) + 1e-9 for name, gain in part["rules"].items())
