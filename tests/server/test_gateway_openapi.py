"""The OpenAPI document is valid, complete and correct: responses to generated requests match it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from contextive.packs.knowledge.routes import ROUTES
from tests.raw_clients import WebServer
from tests.server.conftest import ADMIN, READER
from tests.server.gateways import indexed_gateway

_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_SKIPPED = (
    "km-backup-trigger",
    "km-ingest-trigger",
    "km-recipe-run",
    "km-upload",
    "km-storetext",
    "create_page",
    "update_page",
    "ask",
)
"""They write or call other services; their scopes and errors are tested elsewhere."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with indexed_gateway(tmp_path_factory.mktemp("openapi")) as (_, running):
        yield running


@pytest.fixture(scope="module")
def document(server: WebServer) -> dict[str, Any]:
    found: dict[str, Any] = server.web.as_bearer(ADMIN).get("/api/v1/openapi.json").json
    return found


@pytest.fixture(scope="module")
def api(server: WebServer, document: dict[str, Any]) -> Any:
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=f"http://127.0.0.1:{server.web.port}")
    return schema


##= docs/spec/gateway.md#routes
##% The path `/api/v1/openapi.json` MUST describe the part of the API that the caller may use.
def test_the_document_lists_every_route_and_every_tool(server: WebServer, document: dict[str, Any]) -> None:
    paths = document["paths"]
    assert {route.openapi_path for route in ROUTES} <= set(paths)
    tools = server.web.as_bearer(ADMIN).get("/api/v1/tools").json["tools"]
    assert {f"/api/v1/tools/{tool['name']}" for tool in tools} <= set(paths)
    assert {"/healthz", "/readyz", "/metrics", "/api/v1/tools", "/api/v1/openapi.json"} <= set(paths)
    assert document["openapi"].startswith("3.1")


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    def references(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for item in node:
                yield from references(item)

    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known


def test_a_reader_sees_only_what_a_reader_may_use(server: WebServer, document: dict[str, Any]) -> None:
    paths = server.web.as_bearer(READER).get("/api/v1/openapi.json").json["paths"]
    assert set(paths) < set(document["paths"])
    scopes = [op.get("x-scope") for path in paths.values() for op in path.values()]
    assert "maintainer" not in scopes


GATEWAY = [(route.method, route.openapi_path) for route in ROUTES] + [("GET", "/healthz"), ("GET", "/readyz")]


##= docs/spec/gateway.md#routes
##% The responses of the API MUST match the schemas in its OpenAPI document.
@pytest.mark.parametrize(("method", "path"), GATEWAY, ids=lambda value: str(value))
def test_a_route_responds_as_documented(api: Any, method: str, path: str) -> None:
    _check(api, method, path, examples=25)


def test_the_tools_respond_as_documented(api: Any, document: dict[str, Any]) -> None:
    for path in document["paths"]:
        name = path.removeprefix("/api/v1/tools/")
        if name != path and not name.startswith(_SKIPPED):
            _check(api, "POST", path, examples=4)


def _check(api: Any, method: str, path: str, *, examples: int) -> None:
    operation = api[path][method]

    @settings(
        max_examples=examples,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(case=operation.as_strategy())
    def run(case: Any) -> None:
        response = case.call(headers={"Authorization": f"Bearer {ADMIN}"})
        case.validate_response(response, checks=_CHECKS)

    run()
