"""Rate limits of routes, and metrics, which are read with the parser of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from contextive.packs.knowledge.gateway_tools import gateway_pack
from contextive.packs.knowledge.routes import LARGE_PER_MINUTE, ROUTES, WEIGHTS_PER_MINUTE
from tests.raw_clients import HttpClient, WebServer
from tests.server.conftest import ADMIN, READER
from tests.server.gateways import TOKENS, UNLIMITED, ExampleProject, indexed_gateway

Labels = tuple[tuple[str, str], ...]


def scrape(web: HttpClient) -> dict[tuple[str, Labels], float]:
    answer = web.get("/metrics")
    assert answer.status == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(found: dict[tuple[str, Labels], float], name: str, **labels: str) -> float:
    return found[name, tuple(sorted(labels.items()))]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with indexed_gateway(tmp_path_factory.mktemp("metrics")) as (_, running):
        yield running


##= docs/spec/gateway.md#call-metrics-and-logs
##% The metrics MUST include `km_mcp_requests_total` by tool and result.
##= docs/spec/gateway.md#call-metrics-and-logs
##% The metrics MUST include `km_mcp_request_seconds` with buckets by tool.
def test_every_tool_and_operation_has_series_from_the_start(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    station = ExampleProject(tmp_path / "project", tmp_path / "user")
    with station.serve(env={**TOKENS, **UNLIMITED}) as running:
        admin = running.web.as_bearer(ADMIN)
        found = scrape(admin)
        names = [tool["name"] for tool in admin.get("/api/v1/tools").json["tools"]]
        for name in [*names, *(tool.name for tool in gateway_pack.tools), "unknown"]:
            for result in ("success", "error"):
                assert value(found, "km_mcp_requests_total", tool=name, result=result) == 0
            assert value(found, "km_mcp_request_seconds_count", tool=name) == 0
            assert value(found, "km_mcp_request_seconds_sum", tool=name) == 0
            assert value(found, "km_mcp_request_seconds_bucket", tool=name, le="+Inf") == 0
            assert value(found, "km_mcp_failures_total", tool=name, error="internal_error") == 0
        for job in ("ingest", "backup"):
            assert value(found, "km_scheduler_runs_total", job=job, result="success") == 0
        for reason in ("lock", "head", "auth"):
            assert value(found, "km_ingest_skips_total", reason=reason) == 0


##= docs/spec/gateway.md#routes
##% Each API route MUST call its tool, with the scope, the checks, the limits, the log line and the metrics of that
##% tool.
##= docs/spec/gateway.md#call-metrics-and-logs
##% The metrics MUST include `km_mcp_failures_total` by tool and error.
def test_a_call_to_a_route_is_counted_as_its_tool(server: WebServer) -> None:
    reader = server.web.as_bearer(READER)
    before = scrape(reader)
    reader.post("/api/v1/search", {"query": "siren"})
    reader.get("/api/v1/graph/nodes/nothing")
    reader.get("/api/v1/graph/orphans")
    reader.get("/api/v1/audit/history")  # refused before any tool is reached
    after = scrape(reader)

    def more(name: str, **labels: str) -> float:
        key = (name, tuple(sorted(labels.items())))
        return after[key] - before.get(key, 0.0)

    assert more("km_mcp_requests_total", tool="km-search", result="success") == 1
    assert more("km_mcp_request_seconds_count", tool="km-search") == 1
    assert more("km_mcp_requests_total", tool="km-graph-node", result="error") == 1
    assert more("km_mcp_failures_total", tool="km-graph-node", error="invalid_identifier") == 1
    assert more("km_mcp_requests_total", tool="gateway-graph-orphans", result="success") == 1
    assert more("km_mcp_requests_total", tool="gateway-audit-history", result="success") == 0


##= docs/spec/gateway.md#routes
##% Routes with large responses MUST have a separate rate limit for each caller.
def test_routes_with_large_responses_are_limited_per_caller(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    station = ExampleProject(tmp_path / "project", tmp_path / "user")
    with station.serve(env=TOKENS) as running:
        admin = running.web.as_bearer(ADMIN)
        for _ in range(LARGE_PER_MINUTE):
            assert admin.get("/api/v1/audit/history").status == 200
        refused = admin.get("/api/v1/audit/history")
        assert (refused.status, refused.json["error"]["code"]) == (429, "rate_limited")
        assert refused.json["detail"] == "Rate limit exceeded"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert admin.get("/api/v1/lifecycle/history").status == 200  # each route is counted separately
        for _ in range(WEIGHTS_PER_MINUTE):
            assert admin.get("/api/v1/search/weights").status == 200
        assert admin.get("/api/v1/search/weights").status == 429
        reader = running.web.as_bearer(READER)
        assert [reader.get("/api/v1/coverage").status for _ in range(LARGE_PER_MINUTE + 1)] == [
            404
        ] * LARGE_PER_MINUTE + [429]
        assert admin.get("/api/v1/coverage").status == 404, "another token at the same address is another caller"


def test_the_general_limit_also_applies_to_the_gateway(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    station = ExampleProject(tmp_path / "project", tmp_path / "user")
    with station.serve(env={**TOKENS, "KM_RATE_LIMIT_REQUESTS": "5", "KM_RATE_LIMIT_WINDOW": "60"}) as running:
        statuses = [running.web.as_bearer(READER).get("/api/v1/graph/search?q=a").status for _ in range(6)]
        assert statuses == [200, 200, 200, 200, 200, 429]


def test_the_route_limits_are_those_of_the_gateway_contract() -> None:
    limited = {route.openapi_path: route.per_minute for route in ROUTES if route.per_minute is not None}
    assert limited == {
        "/api/v1/search/weights": 60,
        "/api/v1/graph/cypher": 30,
        "/api/v1/coverage": 30,
        "/api/v1/lifecycle": 30,
        "/api/v1/lifecycle/history": 30,
        "/api/v1/audit/history": 30,
    }
