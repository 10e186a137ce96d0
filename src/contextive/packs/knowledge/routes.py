"""The routes of the HTTP API: the tool behind each, and how requests and answers are converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from contextive.errors import InvalidRequest

LARGE_PER_MINUTE, WEIGHTS_PER_MINUTE = 30, 60
"""Requests per minute from one address: to each route with large answers, and to the route for the search weights."""
_SEARCH_FILTERS = frozenset(
    {
        "subsystems", "artifact_types", "namespaces", "tags", "symbols", "symbol_kinds", "symbol_languages",
        "updated_after", "max_age_days",
    }
)  # fmt: skip
_FEEDBACK = {
    "type": "object",
    "description": "The caller's vote on the results as a whole, stored with them",
    "properties": {"vote": {"type": "number", "minimum": -1, "maximum": 1}, "note": {"type": "string"}},
}


@dataclass(frozen=True, slots=True)
class ClampedLimit:
    """The setting in `limits` that caps the argument `limit`, and the response header with the value that was used."""

    setting: str
    header: str


def _unchanged(_arguments: Mapping[str, Any], data: Any) -> Any:
    return data


@dataclass(frozen=True, slots=True)
class GatewayRoute:
    """One route and the tool behind it."""

    method: Literal["GET", "POST"]
    path: str
    tool: str
    summary: str
    path_argument: str | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    """Query parameters, and the tool arguments they are passed as."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Defaults of arguments that the tool requires, or that differ from those of the tool."""
    per_minute: int | None = None
    report: str | None = None
    """Name of the report, for the "not found" answer before the first run."""
    invalid_status: int = 400
    arguments_of: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
    """Converts the body of a POST to the arguments of the tool."""
    extra_body_properties: Mapping[str, Any] = field(default_factory=dict)
    """Schemas of further properties that the body may have."""
    answer_from: Callable[[Mapping[str, Any], Any], Any] = _unchanged
    """Converts the arguments and the result of the tool to the answer of the route."""
    answer_schema: Mapping[str, Any] | None = None
    """The schema of the answer, if it differs from that of the tool."""
    clamped_limit: ClampedLimit | None = None

    @property
    def openapi_path(self) -> str:
        """The path in OpenAPI syntax."""
        return self.path.replace(":path}", "}")


def _same_names(*names: str) -> dict[str, str]:
    return {name: name for name in names}


##= docs/spec/gateway.md#routes
##% The path `/api/v1/search` MUST accept the arguments of `km-search` and refuse an invalid search with 422.
def search_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a search as arguments of `km-search`: without nulls or unknown filters, with feedback in the context."""
    arguments = {key: value for key, value in body.items() if value is not None}
    filters = arguments.get("filters")
    if isinstance(filters, dict):
        arguments["filters"] = {k: v for k, v in filters.items() if v is not None and k in _SEARCH_FILTERS}
    if "feedback" in arguments:
        given = arguments.pop("feedback")
        vote, note = (given.get("vote"), given.get("note")) if isinstance(given, dict) else (None, None)
        vote_ok = vote is None or (isinstance(vote, int | float) and not isinstance(vote, bool) and -1 <= vote <= 1)
        if not isinstance(given, dict) or not vote_ok or not (note is None or isinstance(note, str)):
            raise InvalidRequest("feedback must be an object with vote (-1 to 1) and note.", hint="It may be omitted.")
        context = arguments.get("context", {})
        if isinstance(context, dict):
            arguments["context"] = {**context, "feedback": {"vote": vote, "note": note}}
    return arguments


def _search_answer(arguments: Mapping[str, Any], data: Any) -> Any:
    """The answer of a search, without `feedback_prompt` if the request already had a vote."""
    if arguments.get("context", {}).get("feedback", {}).get("vote") is None:
        return data
    return {**data, "metadata": {key: value for key, value in data["metadata"].items() if key != "feedback_prompt"}}


_FULL = {"detail": "full"}


##= docs/spec/gateway.md#routes
##% The path `/api/v1/coverage` MUST return the full form of `km-coverage-summary`, and `/api/v1/lifecycle` that of
##% `km-lifecycle-report`.
##= docs/spec/gateway.md#routes
##% An id in a path MUST be accepted with plain and with encoded slashes.
ROUTES: tuple[GatewayRoute, ...] = (
    GatewayRoute(
        "POST",
        "/api/v1/search",
        "km-search",
        "Hybrid search",
        invalid_status=422,
        arguments_of=search_arguments,
        extra_body_properties={"feedback": _FEEDBACK},
        answer_from=_search_answer,
        defaults=_FULL,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/search/weights",
        "gateway-search-weights",
        "The search weights",
        per_minute=WEIGHTS_PER_MINUTE,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/nodes/{node_id:path}",
        "km-graph-node",
        "A node and its relationships",
        path_argument="node_id",
        query=_same_names("relationships", "limit", "cursor", "detail"),
        defaults=_FULL,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/subsystems/{name:path}/graph",
        "gateway-subsystem-graph",
        "A subsystem and the graph around it",
        path_argument="name",
        query=_same_names("depth", "limit"),
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/subsystems/{name:path}",
        "km-graph-subsystem",
        "A subsystem, its neighbours and its files",
        path_argument="name",
        query=_same_names("depth", "limit", "cursor", "include_artifacts", "detail"),
        defaults=_FULL,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/search",
        "km-graph-search",
        "Nodes whose name contains a text",
        query={"q": "term", "limit": "limit", "label": "label", "cursor": "cursor"},
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/orphans",
        "gateway-graph-orphans",
        "Nodes without any connection",
        query=_same_names("label", "cursor", "limit"),
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/symbols/{symbol_id:path}/tests",
        "km-graph-tests-of",
        "The tests of a symbol",
        path_argument="symbol_id",
        query=_same_names("cursor", "detail"),
        defaults=_FULL,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/usages",
        "find_usages",
        "Who calls and who tests a symbol",
        query=_same_names("name", "id", "path", "cursor"),
    ),
    GatewayRoute(
        "POST",
        "/api/v1/graph/cypher",
        "gateway-graph-cypher",
        "Not supported; use km-graph-query",
        per_minute=LARGE_PER_MINUTE,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/coverage",
        "km-coverage-summary",
        "Which files are indexed",
        query=_same_names("section", "cursor", "detail"),
        per_minute=LARGE_PER_MINUTE,
        report="Coverage",
        defaults=_FULL,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/lifecycle",
        "km-lifecycle-report",
        "What is unconnected, out of date or untested",
        query=_same_names("section", "cursor", "detail"),
        per_minute=LARGE_PER_MINUTE,
        report="Lifecycle",
        defaults=_FULL,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/lifecycle/history",
        "gateway-lifecycle-history",
        "The counts of earlier lifecycle reports",
        query=_same_names("limit"),
        defaults={"limit": 30},
        per_minute=LARGE_PER_MINUTE,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/audit/history",
        "gateway-audit-history",
        "Ingest runs, newest first",
        query=_same_names("limit"),
        defaults={"limit": 10},
        per_minute=LARGE_PER_MINUTE,
        answer_from=lambda _arguments, data: data["runs"],
        answer_schema={"type": "array", "items": {"type": "object"}},
        clamped_limit=ClampedLimit("audit_history", "X-KM-Audit-Limit"),
    ),
)
