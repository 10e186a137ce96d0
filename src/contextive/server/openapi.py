"""Builds the OpenAPI document of the HTTP API from the table of routes and the schemas of the tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from contextive import __version__
from contextive.registry import Tool

if TYPE_CHECKING:
    from contextive.packs.knowledge.routes import GatewayRoute

_ERROR = {"$ref": "#/components/schemas/Error"}
_FAILURES = {
    "400": "The request is not valid",
    "401": "The credential is missing or unknown",
    "403": "The credential does not allow this",
    "404": "Not found",
    "413": "The request or the response is too large",
    "415": "The body is not JSON",
    "422": "The body is not valid",
    "429": "Too many requests",
    "500": "Internal error",
    "502": "Another service failed",
    "503": "A required part is disabled or not ready",
    "504": "The call took too long",
}
_COMMON = ("400", "401", "403", "404", "413", "415", "429", "500", "502", "503", "504")
_SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["status", "error", "detail", "request_id"],
        "properties": {
            "status": {"const": "error"},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "hint": {"type": "string"},
                    "details": {"type": "object"},
                },
            },
            "detail": {"type": "string"},
            "request_id": {"type": "string"},
        },
    },
    "Health": {
        "type": "object",
        "required": ["status", "checks", "timestamp"],
        "properties": {
            "status": {"enum": ["ok", "degraded"]},
            "checks": {"type": "object"},
            "timestamp": {"type": "string"},
        },
    },
    "Readiness": {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"enum": ["ready", "degraded"]}, "dependencies": {"type": "object"}},
    },
}


##= docs/spec/gateway.md#routes
##% The path `/api/v1/openapi.json` MUST describe the part of the API that the caller may use.
def describe_api(tools: Mapping[str, Tool], routes: Iterable[tuple[GatewayRoute, Tool]]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of what one caller may use."""
    schemas = dict(_SCHEMAS)
    paths: dict[str, dict[str, Any]] = {}
    for route, tool in routes:
        paths.setdefault(route.openapi_path, {})[route.method.lower()] = _route_operation(route, tool, schemas)
    for tool in tools.values():
        paths[f"/api/v1/tools/{tool.name}"] = {"post": _tool_operation(tool, schemas)}
    paths["/api/v1/tools"] = {"get": _base_operation("List the tools", {"type": "object"})}
    paths["/api/v1/openapi.json"] = {"get": _base_operation("This document", {"type": "object"})}
    paths["/healthz"] = {"get": _public_operation("Health", {"$ref": "#/components/schemas/Health"})}
    ready = _public_operation("Readiness", {"$ref": "#/components/schemas/Readiness"})
    ready["responses"]["503"] = ready["responses"]["200"]
    paths["/readyz"] = {"get": ready}
    metrics = _base_operation("Prometheus metrics", {})
    metrics["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    paths["/metrics"] = {"get": metrics}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Contextive gateway", "version": __version__},
        "security": [{"bearer": []}, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    }


def _route_operation(route: GatewayRoute, tool: Tool, schemas: dict[str, Any]) -> dict[str, Any]:
    properties, required = tool.input_schema["properties"], tool.input_schema.get("required", ())
    parameters: list[dict[str, Any]] = []
    if route.path_argument is not None:
        parameters.append(_parameter(route.path_argument, "path", properties[route.path_argument], True))
    for name, argument in route.query.items():
        rule = dict(properties[argument])
        if argument in route.defaults:
            rule["default"] = route.defaults[argument]
        parameters.append(_parameter(name, "query", rule, argument in required and argument not in route.defaults))
    answer = route.answer_schema or tool.output_schema or {"type": "object"}
    operation = _scoped_operation(route.summary, tool, answer, schemas)
    if parameters:
        operation["parameters"] = parameters
    if route.invalid_status != 400:
        operation["responses"][str(route.invalid_status)] = _failure(str(route.invalid_status))
    if route.method == "POST":
        body = _hoist_definitions(tool.name, tool.input_schema, schemas)
        defaults = {name: {**body["properties"][name], "default": value} for name, value in route.defaults.items()}
        if route.extra_body_properties or defaults:
            body = {**body, "properties": {**body["properties"], **defaults, **route.extra_body_properties}}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return operation


def _tool_operation(tool: Tool, schemas: dict[str, Any]) -> dict[str, Any]:
    answer = {
        "type": "object",
        "required": ["status", "result", "as_of", "request_id"],
        "properties": {
            "status": {"enum": ["success", "error"]},
            "result": {},
            "as_of": {"type": "object"},
            "request_id": {"type": "string"},
        },
    }
    operation = _scoped_operation(tool.title, tool, answer, schemas)
    operation["description"] = tool.description
    operation["responses"] |= {code: _failure(code) for code in ("409", "422")}
    body = _hoist_definitions(tool.name, tool.input_schema, schemas)
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return operation


##= docs/spec/gateway.md#routes
##% The responses of the API MUST match the schemas in its OpenAPI document.
def _scoped_operation(summary: str, tool: Tool, answer: Mapping[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    operation = _base_operation(summary, _hoist_definitions(f"{tool.name}-answer", answer, schemas))
    operation["x-scope"] = tool.scope.value
    return operation


def _base_operation(summary: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": _success(answer)}
    responses |= {code: _failure(code) for code in _COMMON}
    return {"summary": summary, "responses": responses}


def _public_operation(summary: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "summary": summary,
        "security": [],
        "responses": {"200": _success(answer), "429": _failure("429"), "400": _failure("400")},
    }


def _success(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": "Done", "content": {"application/json": {"schema": answer}}}


def _failure(code: str) -> dict[str, Any]:
    description = _FAILURES.get(code, "Refused")
    return {"description": description, "content": {"application/json": {"schema": _ERROR}}}


def _parameter(name: str, location: str, rule: Mapping[str, Any], required: bool) -> dict[str, Any]:
    schema = {key: value for key, value in rule.items() if key != "description"}
    parameter = {"name": name, "in": location, "required": required, "schema": schema}
    return parameter | ({"description": rule["description"]} if "description" in rule else {})


def _hoist_definitions(name: str, schema: Mapping[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions moved to the components of the document, and its references rewritten."""
    for key, definition in schema.get("$defs", {}).items():
        schemas[f"{name}.{key}"] = _rewrite_refs(name, definition)
    found: dict[str, Any] = _rewrite_refs(name, {key: value for key, value in schema.items() if key != "$defs"})
    return found


def _rewrite_refs(name: str, node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: f"#/components/schemas/{name}.{value.rpartition('/')[2]}"
            if key == "$ref" and isinstance(value, str)
            else _rewrite_refs(name, value)
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [_rewrite_refs(name, item) for item in node]
    return node
