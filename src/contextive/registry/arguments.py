"""Why arguments do not fit a tool, said so that the caller can mend the call."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from contextive.errors import InvalidRequest

_MAX_PROBLEMS = 5


##= docs/spec/host.md#tool-calls
##% An error about arguments MUST name each argument at fault and what is allowed.
def explain_arguments(tool: str, schema: dict[str, Any], problems: ValidationError) -> InvalidRequest:
    """One error that names each argument at fault and what is allowed in its place."""
    details = problems.errors(include_url=False, include_context=True, include_input=False)
    said = [_problem(tool, dict(detail)) for detail in details[:_MAX_PROBLEMS]]
    if len(details) > _MAX_PROBLEMS:
        said.append(f"… and {len(details) - _MAX_PROBLEMS} more")
    return InvalidRequest("; ".join(said) + ".", hint=_signature(tool, schema))


def _problem(tool: str, detail: dict[str, Any]) -> str:
    where = ".".join(_safe(part) for part in detail["loc"])
    match detail["type"]:
        case "extra_forbidden":
            return f"{tool} has no argument {where!r}"
        case "missing":
            return f"{tool} needs the argument {where!r}"
        case "model_type" | "json_invalid":
            return f"{tool} takes an object of arguments"
        case "literal_error" | "enum":
            return f"{where!r} must be one of {detail['ctx']['expected']}"
        case _:
            message = str(detail["msg"])
            return f"{where!r}: {message[0].lower()}{message[1:]}"


def _signature(tool: str, schema: dict[str, Any]) -> str:
    properties = schema.get("properties", {})
    if not properties:
        return f"{tool} takes no arguments."
    required = set(schema.get("required", ()))
    words = [f"{name}{'' if name in required else '?'}: {_type(schema, spec)}" for name, spec in properties.items()]
    return f"Arguments of {tool}: {', '.join(words)}."


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
