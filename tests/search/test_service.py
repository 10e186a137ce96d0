from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from contextive.errors import InvalidRequest, Unavailable
from contextive.search.answer import SearchRequest, SearchResponse
from contextive.search.candidates import CandidateFinder
from contextive.search.editor_links import EditorLinks
from contextive.search.embedding.dummy import DummyEmbedder
from contextive.search.embedding.protocol import Embedder
from contextive.search.embedding_worker import embed_pending
from contextive.search.events import IndexEvent, SearchCompleted
from contextive.search.filters import parse_filters
from contextive.search.ranking import RankingRules
from contextive.search.semantic_weight import WEIGHT_ALL_TERMS_FOUND
from contextive.search.service import MAX_CONCURRENT_SEARCHES, MAX_QUERY_CHARACTERS, SearchService, SearchSettings
from contextive.search.weights import resolve_weights
from contextive.store import open_store
from contextive.store.protocol import Store
from contextive.store.sql import lexical
from contextive.store.sql.locks import FileLock
from contextive.store.values import ChunkFilter, ChunkRow

from .project import FILES, WRITTEN, fill

NOW = WRITTEN + 10 * 86_400
NO_EMBEDDINGS = "{0} of {0} chunks have no embedding yet, so search finds them by words only."


def service(store: Store, **settings: object) -> SearchService:
    return SearchService(store, DummyEmbedder, SearchSettings(**settings), clock=lambda: NOW)  # type: ignore[arg-type]


def paths(response: SearchResponse) -> list[str]:
    return [result.chunk.artifact_path for result in response.results]


def unavailable() -> Embedder:
    raise Unavailable("The embedding model is still loading.")


def test_a_question_finds_the_code_that_answers_it(shop: Store) -> None:
    response = service(shop).search(SearchRequest("how do we take money from a card at the bank?"))
    assert paths(response)[0] == "src/shop/payment/gateway.py"
    assert response.metadata.result_count == len(response.results) > 1
    assert response.metadata.warnings == ()
    assert response.as_of.generation == shop.generation()


##= docs/spec/knowledge.md#ranking
##% An identifier MUST be found as a whole and by its words, in any naming style.
@pytest.mark.parametrize("query", ["gatherAll", "gather_all", "gatherall", "where is gatherAll defined"])
def test_an_identifier_is_found_in_any_naming_style(shop: Store, query: str) -> None:
    assert paths(service(shop).search(SearchRequest(query)))[0] == "src/shop/stock/shelf.py"


##= docs/spec/knowledge.md#ranking
##% A query for words MUST also find their abbreviation by initials, such as `bfs` for *breadth first search*.
def test_words_find_their_abbreviation(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, {**FILES, "src/walk.py": "def bfs(start: int) -> int:\n    return start\n"})
    response = service(store).search(SearchRequest("breadth first search", mode="lexical", only_relevant=False))
    assert paths(response)[0] == "src/walk.py"
    store.close()


##= docs/spec/knowledge.md#ranking
##% The same query on the same index MUST give the same answer.
def test_the_same_query_gives_the_same_answer(shop: Store) -> None:
    request = SearchRequest("receipt of the bank", request_id="r1", explain=True)
    first, second = service(shop).search(request), service(shop).search(request)
    assert first == second
    assert first.metadata.request_id == "r1"
    assert service(shop).search(replace(request, request_id=None)).metadata.request_id not in ("", "r1")


##= docs/spec/knowledge.md#km-search-answers
##% With `explain`, the parts of a score MUST add up to the score.
def test_the_parts_of_a_score_add_up_to_the_score(shop: Store) -> None:
    for result in service(shop).search(SearchRequest("refund a card payment", explain=True)).results:
        explained = result.explain
        assert explained is not None
        total = explained["lexical"] + explained["vector"] + sum(explained["rules"].values()) + explained["graph"]
        assert total == pytest.approx(result.scoring.adjusted_score) == pytest.approx(result.chunk.score)
        assert result.scoring.weighted_lexical_score == explained["lexical"]
        assert result.scoring.mode == "heuristic"


def test_results_are_ordered_by_adjusted_score_or_on_request_by_vector(shop: Store) -> None:
    request = SearchRequest("charge the card with money", limit=25, group="chunk")
    scores = [result.scoring.adjusted_score for result in service(shop).search(request).results]
    assert scores == sorted(scores, reverse=True)
    by_request = service(shop).search(replace(request, sort_by_vector=True))
    cosines = [result.scoring.vector_score or 0.0 for result in by_request.results]
    assert cosines == sorted(cosines, reverse=True)
    assert paths(service(shop, sort_by_vector=True).search(request)) == paths(by_request)
    assert paths(service(shop, sort_by_vector=True).search(replace(request, sort_by_vector=False))) != paths(by_request)


##= docs/spec/knowledge.md#ranking
##% Tests and examples SHOULD rank below what they cover, unless the query asks for them.
def test_tests_rank_below_the_code_unless_the_query_asks_for_tests(shop: Store) -> None:
    request = SearchRequest("PaymentGateway charge_card money bank", include_graph=False)
    found = paths(service(shop).search(request))
    assert found.index("src/shop/payment/gateway.py") < found.index("tests/payment/test_gateway.py")
    for query in ("test that a card is charged", "PaymentGateway charge_card test"):
        response = service(shop).search(SearchRequest(query, explain=True, include_graph=False))
        assert all("trial" not in (result.explain or {})["rules"] for result in response.results)


##= docs/spec/knowledge.md#km-search-requests
##% Filters MUST restrict what is searched, not the results of a search.
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"artifact_types": ["doc"]}, {"docs/payment.md", "docs/größe.md"}),
        ({"artifact_types": ["TEST"]}, {"tests/payment/test_gateway.py"}),
        (
            {"subsystems": ["payment"]},
            {"docs/payment.md", "src/shop/payment/gateway.py", "tests/payment/test_gateway.py"},
        ),
        ({"namespaces": ["docs"], "tags": ["MONEY"]}, {"docs/payment.md"}),
        ({"symbols": ["paymentgateway.REFUND"]}, {"src/shop/payment/gateway.py"}),
        ({"symbol_kinds": ["class"], "symbol_languages": ["python"]}, {"src/shop/payment/gateway.py"}),
        ({"subsystems": ["nothing"]}, set()),
    ],
)
def test_filters_apply_before_the_limit(shop: Store, filters: dict[str, list[str]], expected: set[str]) -> None:
    parsed = parse_filters(filters, now=NOW)
    response = service(shop).search(SearchRequest("payment card money shelf", limit=25, filters=parsed))
    assert set(paths(response)) == expected
    assert response.metadata.filters_applied == parsed.applied
    alone = service(shop).search(SearchRequest("payment card money shelf", limit=1, filters=parsed))
    assert len(alone.results) == min(1, len(expected))


##= docs/spec/knowledge.md#km-search-answers
##% The best chunk of each file MUST come first, with the number of its further chunks in `more_in_file`.
##= docs/spec/knowledge.md#km-search-answers
##% With `group` set to `chunk`, an answer MUST contain the best chunks, whatever their files.
def test_the_best_chunk_of_each_file_comes_first_unless_chunks_are_asked_for(shop: Store) -> None:
    request = SearchRequest("card refund receipt money bank shelf", limit=25)
    grouped, plain = service(shop).search(request), service(shop).search(replace(request, group="chunk"))
    files = len(set(paths(plain)))
    assert files < len(paths(plain)) == len(paths(grouped))
    assert len(set(paths(grouped)[:files])) == files
    assert paths(grouped)[:1] == paths(plain)[:1]
    assert {result.more_in_file for result in grouped.results} == {0}  # all of them are returned
    short = service(shop).search(replace(request, limit=files))
    assert sum(result.more_in_file for result in short.results) == len(paths(plain)) - files


def test_the_places_of_files_are_the_same_whether_grouped_or_not(shop: Store) -> None:
    for query in ("refund a card payment", "how many goods are on a shelf", "PaymentGateway", "money"):
        request = SearchRequest(query, limit=25, only_relevant=False)
        plain = list(dict.fromkeys(paths(service(shop).search(replace(request, group="chunk")))))
        assert list(dict.fromkeys(paths(service(shop).search(request)))) == plain


##= docs/spec/knowledge.md#km-search-requests
##% A query of more than 4,000 characters MUST be cut, with a warning, and one of more than 20,000 refused.
def test_a_long_query_is_cut_with_a_warning_and_a_huge_one_refused(shop: Store) -> None:
    long = "refund the receipt " * 300
    response = service(shop).search(SearchRequest(long))
    assert paths(response)[0] == "docs/payment.md"
    assert len(response.query) <= MAX_QUERY_CHARACTERS
    assert "The query was cut after 4,000 characters." in response.metadata.warnings
    with pytest.raises(InvalidRequest, match="20,000"):
        service(shop).search(SearchRequest("x" * 20_001))


class FastEmbedder(DummyEmbedder):
    """A model that can embed a few texts during a search."""

    is_fast = True


##= docs/spec/knowledge.md#ranking
##% While embeddings are missing, a search with the default model MUST compute those of its best candidates, for at most
##% 150 ms.
def test_a_search_computes_missing_embeddings_of_its_best_candidates_within_a_time_limit(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store)
    ticks = iter([0.0, 0.01, 0.02, *[1.0] * 50])
    finder = CandidateFinder(store, FastEmbedder, clock=lambda: next(ticks))
    query = "card refund receipt money bank"
    found = finder.find(query, finder.embed_query(query, "hybrid"), ChunkFilter(), "hybrid")
    assert len(found.lexical) > 2
    assert len(found.cosines) == 2
    slow = CandidateFinder(store, DummyEmbedder)
    assert slow.find(query, slow.embed_query(query, "hybrid"), ChunkFilter(), "hybrid").cosines == {}
    store.close()


def test_a_recency_filter_leaves_out_undated_files_with_a_warning(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, without_git=frozenset({"docs/payment.md"}))
    recent = parse_filters({"max_age_days": 30}, now=NOW)
    response = service(store).search(SearchRequest("refunds and receipts", filters=recent))
    assert "docs/payment.md" not in paths(response)
    assert [warning for warning in response.metadata.warnings if "no timestamp" in warning] != []
    old = parse_filters({"max_age_days": 3}, now=NOW)
    assert service(store).search(SearchRequest("refunds", filters=old)).results == ()
    store.close()


def test_graph_context_has_the_subsystem_and_related_artifacts(shop: Store) -> None:
    response = service(shop).search(SearchRequest("payment: charge a card"))
    result = next(one for one in response.results if one.chunk.artifact_path == "src/shop/payment/gateway.py")
    context, signals = result.graph_context, result.scoring.signals
    assert context is not None
    assert context.primary_node.id == "SourceFile:src/shop/payment/gateway.py"
    assert ("BELONGS_TO", "OUT", "Subsystem:Payment") in {
        (one.type, one.direction, one.target.id) for one in context.relationships
    }
    assert set(context.neighbor_subsystems) == {"Payment", "Stock"}
    assert {one.id for one in context.related_artifacts} == {
        "DesignDoc:docs/payment.md",
        "TestCase:tests/payment/test_gateway.py",
    }
    assert signals.subsystem_affinity == 1.0
    assert signals.supporting_bonus == pytest.approx(0.3)
    assert (signals.path_depth, signals.criticality_score, signals.coverage_ratio) == (1, 0.8, 1.0)
    assert signals.freshness_days == 10
    assert result.chunk.subsystem_criticality == "high"
    assert response.metadata.graph_context_included


def test_without_graph_context_only_the_other_signals_remain(shop: Store) -> None:
    response = service(shop).search(SearchRequest("charge a card", include_graph=False))
    assert not response.metadata.graph_context_included
    assert all(result.graph_context is None for result in response.results)
    expected = {"path_depth", "criticality_score", "freshness_days", "coverage_ratio"}
    assert all(set(result.scoring.signals.as_dict()) == expected for result in response.results)


def test_limited_graph_context_gives_a_warning(shop: Store) -> None:
    response = service(shop, graph_max_results=1).search(SearchRequest("payment card money"))
    assert sum(1 for result in response.results if result.graph_context) == 1
    assert "Graph context is limited to the first 1 results." in response.metadata.warnings


def test_graph_context_beyond_the_time_budget_is_skipped_with_a_warning_and_counted(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, {f"src/shop/part{number:02}.py": f"tide = {number}\n" for number in range(15)})
    events: list[IndexEvent] = []
    settings = SearchSettings(graph_time_budget_ms=0)
    response = SearchService(store, None, settings, observer=events.append).search(SearchRequest("tide", limit=15))
    store.close()
    assert "Graph context was skipped for some results after the time budget of 0 ms." in response.metadata.warnings
    without = sum(result.graph_context is None for result in response.results)
    assert without == 5
    [event] = events
    assert isinstance(event, SearchCompleted)
    assert (event.skipped_by_time, event.skipped_by_limit, event.contexts_read) == (5, 0, 10)


def test_an_empty_index_returns_no_results(state_dir: Path) -> None:
    store = open_store(state_dir)
    response = service(store).search(SearchRequest("anything"))
    assert response.results == ()
    assert response.metadata.result_count == 0
    store.close()


def test_one_chunk_is_found_with_and_without_a_vector(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, {"docs/one.md": "# One\n\nThe only sentence.\n"})
    without = service(store).search(SearchRequest("only sentence"))
    assert paths(without) == ["docs/one.md"]
    assert without.results[0].scoring.vector_score is None
    assert without.metadata.warnings == (NO_EMBEDDINGS.format(1),)
    embed_pending(store, DummyEmbedder(), threading.Event())
    found = service(store).search(SearchRequest("only sentence"))
    assert paths(found) == ["docs/one.md"]
    assert (found.results[0].scoring.vector_score or 0) > 0
    assert found.metadata.warnings == ()
    store.close()


##= docs/spec/knowledge.md#ranking
##% Without embeddings, a search MUST fall back to lexical search, with a warning if embeddings were expected.
def test_without_a_model_search_is_lexical_with_a_warning(shop: Store) -> None:
    response = SearchService(shop, unavailable).search(SearchRequest("refund receipt"))
    assert "docs/payment.md" in paths(response)
    assert (
        response.metadata.warnings[0] == "Results are from lexical search only. The embedding model is still loading."
    )
    assert response.metadata.embedding_model is None


def test_search_without_a_configured_model_gives_no_warning(shop: Store) -> None:
    response = SearchService(shop).search(SearchRequest("refund receipt"))
    assert response.metadata.warnings == ()
    assert response.results != ()


def test_lexical_and_semantic_search_can_be_used_alone(shop: Store) -> None:
    by_words = service(shop).search(SearchRequest("refund", mode="lexical"))
    assert all(result.scoring.vector_score is None for result in by_words.results)
    by_meaning = service(shop).search(SearchRequest("refund", mode="dense", limit=25))
    assert len(by_meaning.results) == len([1 for path in FILES for _ in shop.files.chunks_of(path)])


def test_stop_words_change_nothing(shop: Store) -> None:
    short = service(shop).search(SearchRequest("refund receipt bank", mode="lexical"))
    long = service(shop).search(
        SearchRequest("what is it that a refund has to do with the receipt of the bank", mode="lexical")
    )
    assert paths(long) == paths(short)


@pytest.mark.parametrize("query", ["Größe der Kiste", "grösse", "倉庫", "GRÖSSE"])
def test_other_alphabets_can_be_searched(shop: Store, query: str) -> None:
    assert paths(service(shop).search(SearchRequest(query, mode="lexical")))[0] == "docs/größe.md"


@pytest.mark.parametrize("query", ["", "  \n", "x" * 20_001])
def test_a_blank_or_too_long_query_is_refused(shop: Store, query: str) -> None:
    with pytest.raises(InvalidRequest):
        service(shop).search(SearchRequest(query))


@pytest.mark.parametrize("query", ['"', "AND OR NOT", "a:b^2 (", "*", "\0", "🦆", "-", "'; DROP TABLE chunk"])
def test_query_syntax_characters_have_no_meaning(shop: Store, query: str) -> None:
    service(shop).search(SearchRequest(query))


##= docs/spec/knowledge.md#km-search-requests
##% The limit MUST default to 10, and a number outside 1 to 25 is clamped to that range.
def test_a_limit_out_of_range_is_clamped(shop: Store) -> None:
    assert len(service(shop).search(SearchRequest("card", limit=0)).results) == 1
    assert len(service(shop).search(SearchRequest("card", limit=1000)).results) <= 25


def test_results_have_whole_texts(shop: Store) -> None:
    response = service(shop).search(SearchRequest("paid within a week"))
    chunk = next(result.chunk for result in response.results if result.chunk.artifact_path == "docs/payment.md")
    assert "within a week" in chunk.text
    assert chunk.text in FILES["docs/payment.md"]


##= docs/spec/knowledge.md#km-search-answers
##% A chunk MUST list its symbols with id, qualified name and lines if `knowledge.symbols` is true.
def test_symbols_have_editor_links(shop: Store) -> None:
    links = EditorLinks("vscode://file/{abs_path}:{line_start}", Path("/project"))
    response = SearchService(shop, links=links).search(SearchRequest("PaymentGateway.refund"))
    symbols = response.results[0].chunk.symbols
    assert symbols[0].symbol.qualified_name == "PaymentGateway"
    assert symbols[0].editor_uri == "vscode://file//project/src/shop/payment/gateway.py:4"
    assert EditorLinks("editor://{file}").link("a.py", 1, 2) is None
    assert EditorLinks(None).link("a.py", 1, 2) is None


def test_metadata_has_the_weights(shop: Store) -> None:
    weights = resolve_weights("analysis", support=2.0)
    metadata = service(shop, weights=weights, rules=RankingRules()).search(SearchRequest("card")).metadata
    assert metadata.weight_profile == "analysis+overrides"
    assert metadata.weights["weight_support"] == 1.0
    assert metadata.weights["weight_subsystem"] == 0.38
    assert metadata.weights["vector_weight"] == metadata.weights["lexical_weight"] == 0.5
    assert metadata.hybrid_weights == pytest.approx(
        {"vector": WEIGHT_ALL_TERMS_FOUND, "lexical": 1 - WEIGHT_ALL_TERMS_FOUND}
    )
    assert metadata.embedding_model == "dummy"
    json.dumps(dict(metadata.weights))


def test_many_threads_can_search_at_once(shop: Store) -> None:
    searching = service(shop)
    expected = searching.search(SearchRequest("refund a receipt", request_id="r")).results
    answers: list[Sequence[object]] = []

    def search() -> None:
        answers.append(searching.search(SearchRequest("refund a receipt", request_id="r")).results)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(answers) == 8
    assert all(answer == expected for answer in answers)


def test_concurrent_searches_give_the_same_answers_as_sequential_ones(shop: Store) -> None:
    embed_pending(shop, DummyEmbedder(), threading.Event())
    searching = service(shop)
    queries = ("payment card", "gatherAll", "shelf stock", "tests")
    requests = [SearchRequest(query, request_id="same") for query in queries]
    sequential = [searching.search(request) for request in requests]
    with ThreadPoolExecutor(8) as pool:
        concurrent = list(pool.map(searching.search, requests * 8))
    assert [response.results for response in concurrent] == [response.results for response in sequential] * 8


def test_the_number_of_concurrent_searches_is_limited(shop: Store) -> None:
    active, most, lock = 0, 0, threading.Lock()

    def observer(_event: IndexEvent) -> None:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.02)
        with lock:
            active -= 1

    searching = SearchService(shop, None, observer=observer)
    with ThreadPoolExecutor(MAX_CONCURRENT_SEARCHES * 3) as pool:
        found = list(pool.map(searching.search, [SearchRequest("payment card")] * MAX_CONCURRENT_SEARCHES * 6))
    assert 1 < most <= MAX_CONCURRENT_SEARCHES
    assert len({paths(one)[0] for one in found}) == 1


def test_a_slow_model_does_not_block_other_searches(shop: Store) -> None:
    is_loaded, model = threading.Event(), DummyEmbedder()

    def slow_model() -> Embedder:
        assert is_loaded.wait(10)
        return model

    searching = SearchService(shop, slow_model, clock=lambda: NOW)
    with ThreadPoolExecutor(MAX_CONCURRENT_SEARCHES + 1) as pool:
        waiting = [
            pool.submit(searching.search, SearchRequest(f"payment {number}"))
            for number in range(MAX_CONCURRENT_SEARCHES)
        ]
        by_words = pool.submit(searching.search, SearchRequest("payment card", mode="lexical"))
        assert by_words.result(5).results
        assert not any(search.done() for search in waiting)
        is_loaded.set()
        assert all(search.result(10).results for search in waiting)


def test_a_chunk_deleted_during_a_search_is_not_returned(shop: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = service(shop).search(SearchRequest("payment card"))
    deleted = before.results[0].chunk.chunk_id
    read_chunks = shop.files.chunks

    def chunks_without_the_best(numbers: Sequence[int]) -> dict[int, ChunkRow]:
        return {number: row for number, row in read_chunks(numbers).items() if row.chunk.chunk_id != deleted}

    monkeypatch.setattr(shop.files, "chunks", chunks_without_the_best)
    after = service(shop).search(SearchRequest("payment card"))
    assert paths(after) == paths(before)[1:]
    assert after.metadata.result_count == len(after.results)


##= docs/spec/knowledge.md#index-updates
##% A search that does not yet include the newest changes MUST say so, and say which state it used.
def test_a_search_without_the_newest_changes_gives_a_warning(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "_LOCK_SECONDS", 0.05)
    store = open_store(state_dir)
    fill(store, {"docs/payment.md": FILES["docs/payment.md"]})
    request = SearchRequest("refund receipt")
    assert service(store).search(request).metadata.warnings == (NO_EMBEDDINGS.format(3),)
    before = store.generation()
    lock = FileLock(state_dir / "lexical/writing.lock")
    assert lock.acquire(1.0)
    fill(store, FILES)
    stale = service(store).search(request)
    assert stale.as_of.generation == before
    expected = f"generation {before}, the index is at {store.generation()}"
    assert [expected in warning for warning in stale.metadata.warnings] == [False, True]
    lock.release()
    fresh = service(store).search(request)
    assert fresh.as_of.generation == store.generation()
    assert not any("newest changes" in warning for warning in fresh.metadata.warnings)
    assert len(fresh.results) > len(stale.results)
    store.close()
