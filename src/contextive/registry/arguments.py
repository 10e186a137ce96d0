"""Prepares arguments for validation, and writes error messages from which the caller can correct the call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from contextive.errors import InvalidRequest

_MAX_PROBLEMS = 5


##= docs/spec/host.md#tool-calls
##% An error about arguments MUST name each argument at fault and what is allowed.
def invalid_arguments_error(tool: str, schema: dict[str, Any], problems: ValidationError) -> InvalidRequest:
    """One error that names each invalid argument and what is allowed."""
    details = problems.errors(include_url=False, include_context=True, include_input=False)
    messages = [_problem(tool, dict(detail)) for detail in details[:_MAX_PROBLEMS]]
    if len(details) > _MAX_PROBLEMS:
        messages.append(f"… and {len(details) - _MAX_PROBLEMS} more")
    return InvalidRequest("; ".join(messages) + ".", hint=_hint(tool, schema, [detail["loc"] for detail in details]))


def _hint(tool: str, schema: dict[str, Any], locations: Sequence[tuple[str | int, ...]]) -> str:
    """What is allowed: the arguments of the tool, or the fields of one argument if all errors are inside it."""
    parents = {location[:-1] for location in locations}
    if len(parents) == 1 and (parent := parents.pop()):
        nested = _object_at(schema, parent)
        if nested is not None and nested.get("properties"):
            return f"Fields of {'.'.join(map(_safe, parent))}: {_fields(schema, nested)}."
    if not schema.get("properties"):
        return f"{tool} takes no arguments."
    return f"Arguments of {tool}: {_fields(schema, schema)}."


def _object_at(schema: dict[str, Any], location: Sequence[str | int]) -> dict[str, Any] | None:
    """The schema of the object at a location, or None if it is unknown."""
    found: dict[str, Any] | None = schema
    for part in location:
        if found is None:
            return None
        child = found.get("items") if isinstance(part, int) else found.get("properties", {}).get(part)
        found = _resolved(schema, child) if child is not None else None
    return found


def _resolved(schema: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a reference, or behind an `anyOf` with one option besides null."""
    options = [option for option in spec.get("anyOf", ()) if option.get("type") != "null"]
    if len(options) == 1:
        spec = options[0]
    if "$ref" in spec:
        found: dict[str, Any] = schema.get("$defs", {}).get(str(spec["$ref"]).rpartition("/")[2], {})
        return found
    return spec


def json_with_integers(arguments: Any) -> str:
    """Arguments as JSON, with `5.0` written as `5`: JSON Schema treats 5.0 as an integer, but the parser does not."""
    return json.dumps(_with_integers(arguments))


def _with_integers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _with_integers(item) for key, item in value.items()}
        case list() | tuple():
            return [_with_integers(item) for item in value]
        case _:
            return value


def _problem(tool: str, detail: dict[str, Any]) -> str:
    where = ".".join(_safe(part) for part in detail["loc"])
    match detail["type"]:
        case "extra_forbidden":
            return f"{tool} has no argument {where!r}"
        case "missing":
            return f"{tool} needs the argument {where!r}"
        case "model_type" | "json_invalid" if not where:
            return f"{tool} needs its arguments as an object"
        case "model_type":
            return f"{where!r}: input should be an object"
        case "literal_error" | "enum":
            return f"{where!r} must be one of {detail['ctx']['expected']}"
        case _:
            message = str(detail["msg"])
            return f"{where!r}: {message[0].lower()}{message[1:]}"


def _fields(schema: dict[str, Any], parent: dict[str, Any]) -> str:
    required = set(parent.get("required", ()))
    return ", ".join(
        f"{name}{'' if name in required else '?'}: {_type(schema, spec)}" for name, spec in parent["properties"].items()
    )


def _type(schema: dict[str, Any], spec: dict[str, Any]) -> str:
    if "$ref" in spec:
        return "object"
    if "enum" in spec:
        return "|".join(json.dumps(value) for value in spec["enum"])
    if "const" in spec:
        return json.dumps(spec["const"])
    if "anyOf" in spec:
        return "|".join(_type(schema, option) for option in spec["anyOf"])
    kind = str(spec.get("type", "any"))
    if kind == "array":
        return f"array of {_type(schema, spec.get('items', {}))}"
    low, high = spec.get("minimum"), spec.get("maximum")
    return f"{kind} {low}..{high}" if low is not None and high is not None else kind


def _safe(part: str | int) -> str:
    return str(part)[:80] if isinstance(part, int) else "".join(c if c.isprintable() else "?" for c in part[:80])
