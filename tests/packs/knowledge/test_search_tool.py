"""`km-search` on a real repository, through the dispatcher that all transports use."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool
from contextive.errors import InvalidRequest
from contextive.ingest.settings import IngestRequest
from contextive.search.index import Index

from .conftest import Call, OpenHost
from .repository import commit_all, write_repository


def paths(answer: dict[str, Any]) -> list[str]:
    return [result["chunk"]["artifact_path"] for result in answer["results"]]


##= docs/spec/knowledge.md#index-updates
##% An answer MUST say which state of the index it is based on.
##= docs/spec/knowledge.md#km-search-requests
##% The tool `km-search` MUST take `query`, and optionally `limit`, `include_graph`, `filters` and `sort_by_vector`.
##= docs/spec/knowledge.md#km-search-answers
##% Each result MUST have `chunk`, `graph_context` and `scoring`.
##= docs/spec/knowledge.md#km-search-answers
##% With `detail=full`, an answer MUST contain whole chunks, all symbols, the graph context and all scores.
def test_the_full_answer_has_the_specified_fields(call: Call) -> None:
    answer = call("km-search", query="calibrate the sensor", detail="full")
    assert answer["status"] == "success"
    assert answer["query"] == "calibrate the sensor"
    first = answer["results"][0]
    assert {"chunk", "graph_context", "scoring"} <= set(first)
    chunk = first["chunk"]
    assert {
        "chunk_id", "artifact_path", "artifact_type", "subsystem", "namespace", "tags", "text", "coverage_missing", "score",
        "coverage_ratio", "git_timestamp", "symbols", "symbol_count", "snippet", "line_start", "line_end",
    } <= set(chunk)  # fmt: skip
    scoring = first["scoring"]
    assert {
        "vector_score", "lexical_score", "weighted_vector_score", "weighted_lexical_score", "adjusted_score", "mode", "signals"
    } <= set(scoring)  # fmt: skip
    assert {"path_depth", "criticality_score", "freshness_days", "coverage_ratio"} <= set(scoring["signals"])
    metadata = answer["metadata"]
    assert metadata["result_count"] == len(answer["results"])
    assert metadata["request_id"]
    assert {"weights", "hybrid_weights", "weight_profile", "scoring_mode", "warnings"} <= set(metadata)
    assert answer["as_of"]["generation"] > 0


def test_a_concise_result_has_only_what_is_needed_to_choose_it(call: Call) -> None:
    answer = call("km-search", query="siren silence high water")
    first = answer["results"][0]
    assert set(first) == {"chunk", "graph_context", "more_in_file", "scoring"}
    required = {"chunk_id", "artifact_path", "line_start", "line_end", "title", "text", "symbols", "symbol_count"}
    assert required <= set(first["chunk"]) <= required | {"text_line_start", "text_omitted"}
    assert set(first["graph_context"]) == {"facts"}
    assert set(first["scoring"]) == {"adjusted_score"}
    assert first["scoring"]["adjusted_score"] == round(first["scoring"]["adjusted_score"], 3)
    assert set(answer["metadata"]) <= {"request_id", "result_count", "warnings", "hint", "relevance"}
    symbols = [symbol for result in answer["results"] for symbol in result["chunk"]["symbols"]]
    assert all(set(symbol) == {"id", "qualified_name", "line_start", "line_end"} for symbol in symbols)
    assert max(len(result["chunk"]["symbols"]) for result in answer["results"]) <= 2
    assert max(result["chunk"]["symbol_count"] for result in answer["results"]) > 2
    assert "null" not in json.dumps(answer)


def test_unknown_fields_of_a_result_are_null_and_not_omitted(tmp_path: Path, open_host: OpenHost) -> None:
    host = open_host(write_repository(tmp_path / "station", git=False))
    asked = {"query": "every first Monday", "limit": 1, "filters": {"namespaces": ["notes"]}, "detail": "full"}
    [with_graph] = call_tool(host, "km-search", asked)["results"]
    answer = call_tool(host, "km-search", {**asked, "include_graph": False})
    [without] = answer["results"]
    assert answer["metadata"]["graph_context_included"] is False
    assert (without["graph_context"], with_graph["graph_context"] is None) == (None, False)
    for result in (with_graph, without):
        unknown = [result["chunk"][name] for name in ("subsystem", "subsystem_criticality", "git_timestamp")]
        assert unknown == [None, None, None]
        signals = result["scoring"]["signals"]
        assert (signals["path_depth"], signals["freshness_days"], signals["criticality_score"]) == (None, None, 0.0)
    assert set(without["scoring"]["signals"]) == {
        "path_depth", "criticality_score", "freshness_days", "coverage_ratio",
    }  # fmt: skip


##= docs/spec/knowledge.md#ranking
##% An identifier MUST be found as a whole and by its words, in any naming style.
def test_code_is_found_by_description_and_by_identifier(call: Call) -> None:
    assert paths(call("km-search", query="calibrate_sensor"))[0] == "src/tidewatch/gauge/reader.py"
    assert paths(call("km-search", query="gather all readings"))[0] == "web/legacy.js"
    assert paths(call("km-search", query="gatherAll"))[0] == "web/legacy.js"
    assert paths(call("km-search", query="http server"))[0] == "web/legacy.js"


##= docs/spec/knowledge.md#chunks-and-symbols
##% Each requirement of a specification MUST be a separate chunk.
def test_a_requirement_is_a_separate_chunk(call: Call) -> None:
    answer = call("km-search", query="raise an alert when the level is above the threshold")
    ids = [result["chunk"]["chunk_id"] for result in answer["results"]]
    assert any(chunk_id.startswith("docs/spec/levels.md::r") for chunk_id in ids)


##= docs/spec/knowledge.md#km-search-requests
##% The filters MUST be `subsystems`, `artifact_types`, `namespaces`, `tags`, `symbols`, `symbol_kinds`,
##% `symbol_languages`, `updated_after` and `max_age_days`.
##= docs/spec/knowledge.md#km-search-requests
##% A result MUST match every filter, and at least one value of each filter.
##= docs/spec/knowledge.md#km-search-requests
##% Filter values MUST be compared case-insensitively.
@pytest.mark.parametrize(
    ("filters", "allowed"),
    [
        ({"artifact_types": ["doc"]}, lambda c: c["artifact_type"] == "doc"),
        ({"artifact_types": ["test"]}, lambda c: c["artifact_type"] == "test"),
        (
            {"subsystems": ["alerts"]},
            # documents and tests without a subsystem belong to it if they link to it or exercise it
            lambda c: c["subsystem"] == "Alerts" or c["artifact_type"] in ("doc", "test"),
        ),
        ({"namespaces": ["tidewatch"]}, lambda c: c["namespace"] == "tidewatch"),
        ({"tags": ["SIREN"]}, lambda c: "siren" in c["tags"]),
        ({"symbols": ["siren.silence"]}, lambda c: c["artifact_path"].endswith("siren.py")),
        ({"symbol_kinds": ["interface"]}, lambda c: c["artifact_path"] == "web/dashboard.ts"),
        ({"symbol_languages": ["go"]}, lambda c: c["artifact_path"].endswith(".go")),
        ({"updated_after": "2024-04-01T00:00:00Z"}, lambda c: c["git_timestamp"] is not None),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_each_filter_returns_only_matching_results(call: Call, filters: dict[str, Any], allowed: Any) -> None:
    query = "the level of the water, siren, reader, logger, reading"
    answer = call("km-search", query=query, limit=25, filters=filters, detail="full")
    assert answer["results"]
    assert all(allowed(result["chunk"]) for result in answer["results"])
    assert answer["metadata"]["filters_applied"]


##= docs/spec/knowledge.md#km-search-requests
##% Filters MUST restrict what is searched, not the results of a search.
def test_filters_are_applied_before_the_limit(call: Call) -> None:
    answer = call("km-search", query="siren", limit=1, filters={"symbol_languages": ["java"]})
    assert paths(answer) in ([], ["java/Harbour.java"])
    assert paths(call("km-search", query="boats moored", limit=1, filters={"symbol_languages": ["java"]})) == [
        "java/Harbour.java"
    ]


##= docs/spec/knowledge.md#km-search-requests
##% A file without a subsystem MUST pass a subsystem filter if it imports, exercises or links to something in that
##% subsystem.
def test_files_linked_to_a_subsystem_pass_its_filter_if_they_have_none(repository: Path, open_host: OpenHost) -> None:
    files = {
        "tests/test_whole.py": "from tidewatch.alerts.siren import Siren\n\n\ndef test_it():\n    Siren().silence(1)\n",
        "docs/guide.md": "# Guide\n\nThe siren stands in [code](../src/tidewatch/alerts/siren.py).\n",
        "docs/own.md": "---\nsubsystem: Office\n---\nThe siren in [code](../src/tidewatch/alerts/siren.py).\n",
        "notes/symbol.md": "The siren: [[symbol:src/tidewatch/alerts/siren.py::Siren.silence]].\n",
        "docs/other.md": "# Other\n\nA siren without a link.\n",
    }
    for path, text in files.items():
        (repository / path).write_text(text, encoding="utf-8")
    host = open_host(repository)
    asked = {"query": "siren silence", "limit": 25, "filters": {"subsystems": ["ALERTS"]}, "detail": "full"}
    found = call_tool(host, "km-search", asked)["results"]
    free = {result["chunk"]["artifact_path"]: result for result in found if result["chunk"]["subsystem"] is None}
    assert set(free) == {"tests/test_whole.py", "docs/guide.md", "notes/symbol.md", "notes/first-storm.md"}
    assert "Alerts" in free["docs/guide.md"]["graph_context"]["neighbor_subsystems"]
    assert {result["chunk"]["subsystem"] for result in found} == {None, "Alerts"}
    (repository / "docs/guide.md").write_text("# Guide\n\nThe siren.\n", encoding="utf-8")
    host.services.get(Index).ingest(IngestRequest())
    assert "docs/guide.md" not in paths(call_tool(host, "km-search", asked))


def test_max_age_days_excludes_old_files(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository)
    (repository / "docs/fresh.md").write_text("# Fresh siren\n\nThe siren of today.\n", encoding="utf-8")
    commit_all(repository, "Today", when=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()))
    answer = call_tool(host, "km-search", {"query": "siren", "filters": {"max_age_days": 30}})
    assert paths(answer) == ["docs/fresh.md"]


##= docs/spec/knowledge.md#km-search-requests
##% A time filter MUST leave out files that have no time, and the answer says so.
def test_a_time_filter_reports_that_files_without_a_time_are_excluded(tmp_path: Path, open_host: OpenHost) -> None:
    host = open_host(write_repository(tmp_path / "station", git=False))
    answer = call_tool(host, "km-search", {"query": "siren", "filters": {"max_age_days": 30}})
    assert answer["results"] == []
    assert any("no timestamp" in warning for warning in answer["metadata"]["warnings"])


##= docs/spec/knowledge.md#km-search-requests
##% The arguments `symbol`, `kind` and `lang` MUST add to the filters, as one value, several values separated by
##% commas, or a list.
def test_shortcuts_are_combined_with_the_filters(call: Call) -> None:
    answer = call(
        "km-search",
        query="siren",
        symbol="Siren.silence, LevelReader.read_level",
        kind=["method", "Class"],
        filters={"symbol_kinds": ["class"]},
    )
    applied = answer["metadata"]["filters_applied"]
    assert applied["symbols"] == ["Siren.silence", "LevelReader.read_level"]
    assert applied["symbol_kinds"] == ["class", "method"]


##= docs/spec/knowledge.md#km-search-requests
##% An invalid filter MUST be refused with `invalid_request`.
@pytest.mark.parametrize(
    "wrong",
    [
        {"query": "   "},
        {"query": "x", "filters": {"artifact_types": ["novel"]}},
        {"query": "x", "filters": {"symbol_kinds": ["verb"]}},
        {"query": "x", "filters": {"symbol_languages": ["latin"]}},
        {"query": "x", "filters": {"updated_after": "yesterday"}},
        {"query": "x", "filters": {"max_age_days": 0}},
        {"query": "x", "limit": "ten"},
    ],
    ids=str,
)
def test_invalid_arguments_are_an_invalid_request(call: Call, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        call("km-search", **wrong)


##= docs/spec/knowledge.md#km-search-requests
##% The limit MUST default to 10, and a number outside 1 to 25 is clamped to that range.
def test_the_limit_stays_between_1_and_25(call: Call) -> None:
    assert len(call("km-search", query="the water level station", limit=1000)["results"]) <= 25
    assert len(call("km-search", query="the water level station", limit=0)["results"]) == 1


##= docs/spec/knowledge.md#km-search-answers
##% Graph context MUST be omitted if `include_graph` is false.
def test_graph_context_is_left_out_if_it_is_not_requested(call: Call) -> None:
    answer = call("km-search", query="siren", include_graph=False, detail="full")
    assert all(result["graph_context"] is None for result in answer["results"])
    concise = call("km-search", query="siren", include_graph=False)
    assert not any("graph_context" in result for result in concise["results"])
    with_graph = call("km-search", query="siren", detail="full")["results"][0]["graph_context"]
    assert with_graph["primary_node"]["id"].endswith(with_graph["primary_node"]["properties"]["path"])
    assert len(with_graph["relationships"]) <= 10


##= docs/spec/knowledge.md#km-search-requests
##% With `sort_by_vector`, results MUST be ordered by semantic similarity alone.
def test_sort_by_vector_applies_per_request(call: Call) -> None:
    answer = call("km-search", query="siren test", sort_by_vector=True, detail="full")
    scores = [result["scoring"]["vector_score"] for result in answer["results"]]
    known = [score for score in scores if score is not None]
    assert known == sorted(known, reverse=True)


##= docs/spec/knowledge.md#km-search-answers
##% With `explain`, the parts of a score MUST add up to the score.
def test_explain_adds_up_to_the_score(call: Call) -> None:
    for result in call("km-search", query="silence the siren", explain=True)["results"]:
        parts = result["explain"]
        total = parts["lexical"] + parts["vector"] + sum(parts["rules"].values()) + parts["graph"]
        assert total == pytest.approx(result["scoring"]["adjusted_score"])


##= docs/spec/knowledge.md#km-search-answers
##% A shortened chunk MUST say how much is missing, and its answer how to get the rest.
def test_a_long_chunk_is_shortened_and_says_how_much_is_missing(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository)
    long = "# Long\n\n" + " ".join(f"buoyancy{n}" for n in range(110)) + "\n"
    (repository / "docs/long.md").write_text(long, encoding="utf-8")
    answer = call_tool(host, "km-search", {"query": "buoyancy7"})
    concise = answer["results"][0]["chunk"]
    full = call_tool(host, "km-search", {"query": "buoyancy7", "detail": "full"})["results"][0]["chunk"]
    assert concise["text_omitted"] == len(full["text"]) - len(concise["text"]) > 0
    assert "detail=full" in answer["metadata"]["hint"]
    assert "text_omitted" not in full


def test_unicode_is_found(call: Call) -> None:
    for query in ("Größe", "wellen höhe", "波の高さ"):
        assert paths(call("km-search", query=query))[0] == "docs/ünïcode-Größe.md"


##= docs/spec/knowledge.md#km-search-answers
##% A search of an empty index MUST succeed with no results.
def test_an_empty_project_has_no_results(tmp_path: Path, open_host: OpenHost) -> None:
    host = open_host(tmp_path)
    answer = call_tool(host, "km-search", {"query": "anything"})
    assert (answer["results"], answer["metadata"]["result_count"]) == ([], 0)


##= docs/spec/knowledge.md#km-search-answers
##% A symbol MUST have an `editor_uri` if `knowledge.editorUriTemplate` is set.
def test_symbols_have_editor_links(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, CONTEXTIVE_KNOWLEDGE__EDITOR_URI_TEMPLATE="vscode://file/{abs_path}:{line_start}")
    answer = call_tool(host, "km-search", {"query": "calibrate_sensor"})
    symbols = answer["results"][0]["chunk"]["symbols"]
    assert symbols
    assert all(
        s["editor_uri"] == f"vscode://file/{repository}/{s['id'].split('::')[0]}:{s['line_start']}" for s in symbols
    )


##= docs/spec/knowledge.md#index-updates
##% When no server maintains the index, an answer MUST reflect every file saved before the call.
def test_a_saved_file_is_found_by_the_next_call(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository)
    (repository / "docs/airship.md").write_text("# Zeppelin\n\nA zeppelin over the harbour.\n", encoding="utf-8")
    assert paths(call_tool(host, "km-search", {"query": "zeppelin"}))[0] == "docs/airship.md"


##= docs/spec/knowledge.md#indexed-files
##% A file whose name or content shows that it holds a secret MUST NOT be indexed.
def test_secret_and_ignored_files_are_never_found(call: Call) -> None:
    found = call("km-search", query="TOKEN do not index SHOULD_NOT_BE_SEEN noise", limit=25)
    assert not {".env", "build/generated.py", "station.log"} & set(paths(found))


##= docs/spec/knowledge.md#km-search-answers
##% The `metadata` of an answer MUST contain a `request_id` that a later vote can refer to.
def test_returned_results_are_stored_for_votes(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository)
    index = host.services.get(Index)
    index.ingest(IngestRequest())
    answer = call_tool(host, "km-search", {"query": "siren", "context": {"task": "demo"}})
    index.search_event_log.flush()
    events = index.store.records.events(answer["metadata"]["request_id"])
    assert [event.chunk_id for event in events] == [result["chunk"]["chunk_id"] for result in answer["results"]]
    assert events[0].body["context"] == {"task": "demo"}


##= docs/spec/knowledge.md#other-query-tools
##% The tool `km-search-batch` MUST answer up to ten queries, each in the same way as `km-search` without graph context.
def test_a_batch_returns_the_same_as_single_searches(call: Call) -> None:
    answers = call("km-search-batch", queries=["calibrate_sensor", "siren silence"], limit=3)["answers"]
    for answer, query in zip(answers, ["calibrate_sensor", "siren silence"], strict=True):
        assert answer["query"] == query
        assert paths(answer) == paths(call("km-search", query=query, limit=3, include_graph=False))
    assert len({answer["metadata"]["request_id"] for answer in answers}) == 2
    with pytest.raises(InvalidRequest):
        call("km-search-batch", queries=["good", "   "])


##= docs/spec/knowledge.md#relevance
##% A search for something that the index does not contain MUST return no results, the message `Nothing relevant was
##% found`, and the best weak match in `nearest`.
##= docs/spec/knowledge.md#relevance
##% The `metadata` of an answer MUST say in `relevance` whether anything relevant was found: `good`, `weak` or `none`.
@pytest.mark.parametrize("query", ["how do I bake sourdough bread", "zxqv wvutq"])
def test_a_search_for_something_else_finds_nothing(call: Call, query: str) -> None:
    answer = call("km-search", query=query)
    assert answer["results"] == []
    assert answer["metadata"]["relevance"] == "none"
    assert "Nothing relevant was found" in answer["metadata"]["message"]
    nearest = answer["metadata"].get("nearest", {"score": 0})
    assert nearest["score"] == round(nearest["score"], 3)


##= docs/spec/knowledge.md#relevance
##% A search with a filter, or for an identifier that occurs in the index, MUST return its results even if none seems
##% relevant.
##= docs/spec/knowledge.md#relevance
##% A chunk without an embedding MUST be judged by its words alone.
def test_a_known_identifier_is_always_found(call: Call) -> None:
    answer = call("km-search", query="calibrate_sensor")
    assert answer["results"]
    assert answer["metadata"]["relevance"] != "none"


##= docs/spec/knowledge.md#relevance
##% The scores of different queries MUST be comparable.
def test_a_fitting_query_scores_higher_than_one_that_fits_less(call: Call) -> None:
    found = call("km-search", query="siren silence high water", detail="full")["results"]
    nearest = call("km-search", query="how do I bake sourdough bread")["metadata"].get("nearest")
    assert nearest is None or nearest["score"] < found[0]["scoring"]["adjusted_score"]


##= docs/spec/knowledge.md#relevance
##% A word that is probably misspelled MUST be searched for in its right spelling, too.
def test_a_misspelled_word_is_searched_for_in_its_right_spelling(call: Call) -> None:
    assert call("km-search", query="silense the sirens")["results"]
