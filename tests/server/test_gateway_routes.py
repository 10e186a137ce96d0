"""The HTTP API of the gateway: the responses, parameters, limits and errors of each route."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from contextive.store import open_store
from tests.raw_clients import HttpClient, HttpResponse, WebServer, serving_http, wait_until
from tests.server.conftest import ADMIN, READER
from tests.server.gateways import MODEL, TOKENS, ExampleProject, indexed_gateway

READER_FILE = "src/tidewatch/gauge/reader.py"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ExampleProject, WebServer]]:
    with indexed_gateway(tmp_path_factory.mktemp("gateway"), {"KM_AUDIT_HISTORY_MAX_LIMIT": "3"}) as running:
        yield running


@pytest.fixture(scope="module")
def server(gateway: tuple[ExampleProject, WebServer]) -> WebServer:
    return gateway[1]


@pytest.fixture(scope="module")
def reader(server: WebServer) -> HttpClient:
    return server.web.as_bearer(READER)


@pytest.fixture(scope="module")
def admin(server: WebServer) -> HttpClient:
    return server.web.as_bearer(ADMIN)


@pytest.fixture(scope="module")
def empty_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpClient]:
    folder = tmp_path_factory.mktemp("empty")
    environment = {**TOKENS, **MODEL, "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"}
    with serving_http(cwd=folder, env=environment) as running:
        yield running.web.as_bearer(ADMIN)


def refused(answer: HttpResponse, status: int, code: str) -> dict[str, Any]:
    """The body of an error response, after checking its shape."""
    assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert set(answer.json) == {"status", "error", "detail", "request_id"}
    assert answer.json["detail"] == answer.json["error"]["message"].removesuffix(".")
    assert answer.headers["x-request-id"] == answer.json["request_id"]
    body: dict[str, Any] = answer.json
    return body


# -- search ------------------------------------------------------------------------------------------------------------


##= docs/spec/gateway.md#routes
##% The path `/api/v1/search` MUST accept the arguments of `km-search` and refuse an invalid search with 422.
def test_a_search_has_query_results_and_metadata(reader: HttpClient) -> None:
    answer = reader.post("/api/v1/search", {"query": "calibrate the sensor", "limit": 3}, {"X-Request-ID": "mine-1"})
    assert answer.status == 200
    body = answer.json
    assert body["query"] == "calibrate the sensor"
    assert 1 <= len(body["results"]) <= 3
    assert set(body["results"][0]) >= {"chunk", "graph_context", "scoring"}
    assert body["metadata"]["request_id"] == answer.headers["x-request-id"] == "mine-1"
    assert {"weights", "hybrid_weights"} <= set(body["metadata"]), "the route returns the full form"


##= docs/spec/host.md#tool-calls
##% A hint MUST name only tools that the caller is offered.
def test_only_a_caller_who_may_vote_is_asked_to(reader: HttpClient, admin: HttpClient) -> None:
    prompts = [
        c.post("/api/v1/search", {"query": "siren"}).json["metadata"].get("feedback_prompt") for c in (reader, admin)
    ]
    assert prompts[0] is None
    assert "km-feedback-submit" in prompts[1]


def test_a_search_without_a_request_id_gets_one(reader: HttpClient) -> None:
    answer = reader.post("/api/v1/search", {"query": "siren"})
    assert answer.json["metadata"]["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("limit", [-5, 0, 1000])
def test_the_limit_of_a_search_is_clamped(reader: HttpClient, limit: int) -> None:
    answer = reader.post("/api/v1/search", {"query": "level", "limit": limit})
    assert answer.status == 200
    assert 1 <= len(answer.json["results"]) <= 25


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": "   "},
        {"query": 5},
        {"query": "a", "limit": "5"},
        {"query": "a", "limit": True},
        {"query": "a", "filters": []},
        {"query": "a", "filters": {"subsystems": "Gauge"}},
        {"query": "a", "filters": {"artifact_types": ["film"]}},
        {"query": "a", "filters": {"symbol_kinds": ["spell"]}},
        {"query": "a", "filters": {"symbol_languages": ["latin"]}},
        {"query": "a", "filters": {"updated_after": "yesterday"}},
        {"query": "a", "filters": {"max_age_days": 0}},
        {"query": "a", "feedback": "good"},
        {"query": "a", "feedback": {"vote": 2}},
        {"query": "a", "context": "none"},
    ],
    ids=json.dumps,
)
def test_an_invalid_search_is_unprocessable(reader: HttpClient, body: dict[str, Any]) -> None:
    refused(reader.post("/api/v1/search", body), 422, "invalid_request")


@pytest.mark.parametrize("body", [b"{", b"[]", b'"a"', b"\xff"])
def test_a_body_that_is_not_an_object_is_unprocessable(reader: HttpClient, body: bytes) -> None:
    refused(reader.post("/api/v1/search", body), 422, "invalid_request")


def test_unknown_filters_and_nulls_are_ignored(reader: HttpClient) -> None:
    filters = {"artifact_types": ["doc"], "colour": "blue", "tags": None}
    answer = reader.post("/api/v1/search", {"query": "siren", "filters": filters, "sort_by_vector": None})
    assert answer.status == 200
    assert {r["chunk"]["artifact_type"] for r in answer.json["results"]} == {"doc"}
    assert answer.json["metadata"]["filters_applied"] == {"artifact_types": ["doc"]}


def test_a_vote_in_a_search_is_stored_with_its_results_and_removes_the_feedback_prompt(
    reader: HttpClient, gateway: tuple[ExampleProject, WebServer]
) -> None:
    body = {"query": "siren", "limit": 3, "feedback": {"vote": 1, "note": "good"}, "context": {"task": "demo"}}
    answer = reader.post("/api/v1/search", body, {"X-Request-ID": "voted-1"})
    assert answer.status == 200
    assert "feedback_prompt" not in answer.json["metadata"]
    chunk_ids = [result["chunk"]["chunk_id"] for result in answer.json["results"]]
    store = open_store(gateway[0].root / ".contextive")
    wait_until(lambda: bool(store.records.events("voted-1")), "the rows of the search")
    rows = store.records.events("voted-1")
    store.close()
    assert [(row.rank, row.chunk_id) for row in rows] == list(enumerate(chunk_ids, 1))
    for row in rows:
        assert row.body["context"] == {"task": "demo", "feedback": {"vote": 1, "note": "good"}}


def test_the_weights_of_search(admin: HttpClient) -> None:
    body = admin.get("/api/v1/search/weights").json
    assert body["profile"] == "default"
    assert {"weight_subsystem", "weight_support", "vector_weight", "lexical_weight"} <= set(body["weights"])
    assert body["slow_graph_warn_ms"] > 0


# -- graph -------------------------------------------------------------------------------------------------------------


##= docs/spec/gateway.md#routes
##% An id in a path MUST be accepted with plain and with encoded slashes.
@pytest.mark.parametrize("written", [f"SourceFile:{READER_FILE}", quote(f"Code:{READER_FILE}", safe="")])
def test_a_node_by_an_id_with_slashes(reader: HttpClient, written: str) -> None:
    body = reader.get(f"/api/v1/graph/nodes/{written}?relationships=all&limit=2").json
    assert body["node"]["id"] == f"SourceFile:{READER_FILE}"
    assert body["node"]["labels"] == ["SourceFile"]
    assert len(body["relationships"]) == 2
    assert {"type", "direction", "target"} == set(body["relationships"][0])


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("nodes/nothing", 400, "invalid_identifier"),
        ("nodes/Spell:x", 400, "invalid_identifier"),
        ("nodes/SourceFile:nowhere.py", 404, "not_found"),
        ("nodes/SourceFile:x?relationships=sideways", 400, "invalid_request"),
        ("nodes/SourceFile:x?limit=0", 400, "invalid_request"),
        ("nodes/SourceFile:x?limit=201", 400, "invalid_request"),
        ("nodes/SourceFile:x?limit=many", 400, "invalid_request"),
        ("nodes/SourceFile:x?limit=" + "9" * 5000, 400, "invalid_request"),
        ("nodes/", 400, "invalid_request"),
        ("subsystems/Nowhere", 404, "not_found"),
        ("subsystems/Gauge?depth=9", 400, "invalid_request"),
        ("subsystems/Gauge?include_artifacts=perhaps", 400, "invalid_request"),
        ("subsystems/Nowhere/graph", 404, "not_found"),
        ("subsystems/Gauge/graph?depth=0", 400, "invalid_request"),
        ("search", 400, "invalid_request"),
        ("search?q=a&limit=51", 400, "invalid_request"),
        ("orphans?label=Spell", 400, "invalid_request"),
        ("orphans?label=Subsystem", 400, "invalid_request"),
        ("orphans?limit=201", 400, "invalid_request"),
        ("symbols/nowhere.py::x/tests", 404, "not_found"),
    ],
)
def test_invalid_graph_requests_are_refused(reader: HttpClient, path: str, status: int, code: str) -> None:
    refused(reader.get(f"/api/v1/graph/{path}"), status, code)


def test_a_subsystem_pages_by_cursor(reader: HttpClient) -> None:
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        body = reader.get(f"/api/v1/graph/subsystems/gauge?depth=2&limit=4&cursor={cursor}").json
        assert body["subsystem"]["id"] == "Subsystem:Gauge"
        seen += [item["target"]["id"] for item in body["related"]["nodes"]]
        assert {"target", "hops", "path", "relationship", "direction"} == set(body["related"]["nodes"][0])
        cursor = body["related"]["cursor"]
    assert len(seen) == len(set(seen)) == body["related"]["total"]
    assert reader.get("/api/v1/graph/subsystems/Gauge?include_artifacts=false").json["artifacts"] == []


def test_the_edges_around_a_subsystem_connect_listed_nodes(reader: HttpClient) -> None:
    body = reader.get("/api/v1/graph/subsystems/Gauge/graph").json
    ids = {node["id"] for node in body["nodes"]}
    assert body["subsystem"]["id"] in ids
    assert body["edges"]
    assert all(edge["source"] in ids and edge["target"] in ids for edge in body["edges"])
    assert f"SourceFile:{READER_FILE}" in {node["id"] for node in body["artifacts"]}


def test_the_graph_is_searched_by_part_of_a_name(reader: HttpClient) -> None:
    found = reader.get("/api/v1/graph/search?q=gauge&limit=5").json["results"]
    assert found[0]["id"] == "Subsystem:Gauge"
    assert {"id", "label", "score", "snippet"} == set(found[0])
    refused(reader.get("/api/v1/graph/search?q=%20"), 400, "invalid_request")
    body = refused(reader.get("/api/v1/graph/search?limit=5"), 400, "invalid_request")
    assert body["error"]["message"] == "/api/v1/graph/search needs the parameter 'q'."


def test_orphans_are_paged_over_all_labels(reader: HttpClient) -> None:
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        body = reader.get(f"/api/v1/graph/orphans?limit=2&cursor={cursor}").json
        seen += [node["id"] for node in body["nodes"]]
        cursor = body.get("cursor")
    assert len(seen) == len(set(seen))
    one = reader.get("/api/v1/graph/orphans?label=SourceFile&limit=200").json["nodes"]
    assert {node["id"] for node in one} == {name for name in seen if name.startswith("SourceFile:")}


def test_the_tests_of_a_symbol(reader: HttpClient) -> None:
    body = reader.get(f"/api/v1/graph/symbols/{READER_FILE}::calibrate_sensor/tests").json
    assert body["symbol"]["id"] == f"Symbol:{READER_FILE}::calibrate_sensor"
    assert [test["properties"]["path"] for test in body["tests"]] == ["tests/gauge/test_reader.py"]
    assert reader.get("/api/v1/graph/symbols/web/format.ts::formatLevel/tests").json["tests"] == []


##= docs/spec/gateway.md#routes
##% A Cypher query MUST be refused with `unsupported_operation` and the name of the alternative.
def test_cypher_is_not_supported_and_the_error_names_the_alternative(admin: HttpClient) -> None:
    body = refused(
        admin.post("/api/v1/graph/cypher", {"query": "MATCH (n) RETURN n LIMIT 1"}), 400, "unsupported_operation"
    )
    assert "km-graph-query" in body["error"]["hint"]


# -- reports -----------------------------------------------------------------------------------------------------------


##= docs/spec/gateway.md#routes
##% The path `/api/v1/coverage` MUST return the full form of `km-coverage-summary`, and `/api/v1/lifecycle` that of
##% `km-lifecycle-report`.
def test_coverage_is_for_readers(reader: HttpClient) -> None:
    body = reader.get("/api/v1/coverage").json
    assert body["summary"]["artifact_total"] > 10
    assert body["run"]["run_id"]
    assert {"generated_at", "generated_at_iso", "artifacts", "missing_artifacts", "removed_artifacts"} <= set(body)
    assert len(body["artifacts"]) == body["summary"]["artifact_total"]
    assert len(reader.get("/api/v1/coverage?detail=concise").json["artifacts"]) == 10
    section = reader.get("/api/v1/coverage?section=missing_artifacts").json
    assert [row["path"] for row in section["missing_artifacts"]] == [row["path"] for row in body["missing_artifacts"]]


def test_the_lifecycle_report_and_its_history(admin: HttpClient) -> None:
    report = admin.get("/api/v1/lifecycle").json
    assert {"isolated", "stale_docs", "missing_tests", "summary", "thresholds"} <= set(report)
    history = admin.get("/api/v1/lifecycle/history?limit=1000").json["history"]
    assert 1 <= len(history) <= 10
    assert {"generated_at", "generated_at_iso", "counts", "run", "thresholds", "path"} == set(history[0])
    assert [entry["generated_at"] for entry in history] == sorted(entry["generated_at"] for entry in history)


##= docs/spec/gateway.md#routes
##% A request for a report before the first run MUST be answered with 404.
@pytest.mark.parametrize("report", ["Coverage", "Lifecycle"])
def test_reports_are_not_found_before_the_first_run(empty_gateway: HttpClient, report: str) -> None:
    body = refused(empty_gateway.get(f"/api/v1/{report.lower()}"), 404, "not_found")
    assert body["detail"] == f"{report} report not found"
    assert empty_gateway.get("/api/v1/audit/history").json == []


def test_without_the_pack_its_routes_are_unavailable_and_undocumented(tmp_path: Path) -> None:
    station = ExampleProject.at(tmp_path)
    with station.serve(env={**TOKENS, "CONTEXTIVE_TOOL_PACKS__KNOWLEDGE__ENABLED": "false"}) as running:
        admin = running.web.as_bearer(ADMIN)
        refused(admin.get("/api/v1/coverage"), 503, "unavailable")
        assert admin.get("/readyz").status == 200
        assert "/api/v1/coverage" not in admin.get("/api/v1/openapi.json").json["paths"]


##= docs/spec/gateway.md#routes
##% A clamped limit MUST be reported in a header.
@pytest.mark.parametrize(
    ("query", "limit", "warned"), [("", 3, True), ("?limit=2", 2, False), ("?limit=0", 1, True), ("?limit=99", 3, True)]
)
def test_the_audit_history_reports_its_clamped_limit(admin: HttpClient, query: str, limit: int, warned: bool) -> None:
    answer = admin.get(f"/api/v1/audit/history{query}")
    assert answer.status == 200
    assert answer.headers["x-km-audit-limit"] == str(limit)
    assert ("warning" in answer.headers) is warned
    if warned:
        assert answer.headers["warning"].startswith("299 ")
    rows = answer.json
    assert 1 <= len(rows) <= limit
    assert {"run_id", "profile", "started_at", "duration_seconds", "artifact_count", "chunk_count", "success"} <= set(
        rows[0]
    )
    assert [row["started_at"] for row in rows] == sorted((row["started_at"] for row in rows), reverse=True)


def test_a_limit_that_is_not_a_number_is_refused(admin: HttpClient) -> None:
    refused(admin.get("/api/v1/audit/history?limit=all"), 400, "invalid_request")


# -- health ------------------------------------------------------------------------------------------------------------


def test_health_lists_each_part(server: WebServer) -> None:
    body = server.web.get("/healthz").json
    assert body["status"] == "ok"
    assert {"index", "coverage", "audit", "scheduler", "backup"} <= set(body["checks"])
    assert body["timestamp"]


def test_it_is_ready_when_the_index_opens(server: WebServer) -> None:
    answer = server.web.get("/readyz")
    assert (answer.status, answer.json["status"]) == (200, "ready")
