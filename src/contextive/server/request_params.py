"""Alternative names of methods and parameters, and the error message for invalid parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

_METHOD_ALIASES = {"resources/get": "resources/read"}
_PARAM_ALIASES = {
    "tools/call": ("tool", "name"),
    **dict.fromkeys(
        ("resources/read", "resources/list", "resources/subscribe", "resources/unsubscribe"), ("path", "uri")
    ),
}
_EXPECTED_PARAMS = {
    "tools/call": "name, a string, and arguments, an object",
    **dict.fromkeys(("resources/read", "resources/subscribe", "resources/unsubscribe"), "uri, a string"),
    **dict.fromkeys(("tools/list", "prompts/list", "resources/templates/list"), "cursor, a string, or nothing"),
    "resources/list": "cursor and uri, both strings, or nothing",
    "prompts/get": "name, a string, and arguments, an object of strings",
    "completion/complete": "ref, an object, and argument, an object with name and value",
    "logging/setLevel": "level: debug, info, notice, warning, error, critical, alert or emergency",
}
_FAULT_TEXTS = {
    "missing": "is missing",
    "string_type": "must be a string",
    "dict_type": "must be an object",
    "model_type": "must be an object",
}


##= docs/spec/host.md#resources-and-prompts
##% The method `resources/get` MUST be accepted as an alias of `resources/read`.
##= docs/spec/host.md#resources-and-prompts
##% A parameter `path` MUST be accepted as an alias of `uri`, and in a tool call a parameter `tool` as an alias of
##% `name`.
def resolve_aliases(method: str, params: Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any] | None]:
    """A method and its parameters under their names in the protocol."""
    method = _METHOD_ALIASES.get(method, method)
    alias, real_name = _PARAM_ALIASES.get(method, ("", ""))
    if params is None or not alias or alias not in params or real_name in params:
        return method, params
    return method, {real_name if name == alias else name: value for name, value in params.items()}


def explain_invalid_params(method: str, requested: str, error: ValidationError | None) -> tuple[str, str | None]:
    """A message that names the invalid parameters and the method as requested, and a hint with the valid ones."""
    faults = error.errors(include_url=False, include_input=False) if error is not None else []
    fault_texts = {
        f"{'.'.join(map(str, fault['loc']))} {_FAULT_TEXTS.get(fault['type'], 'is not valid')}" for fault in faults
    }
    listed = ", ".join(fault for fault in sorted(fault_texts)[:5] if fault.isprintable())
    expected = _EXPECTED_PARAMS.get(method)
    message = f"Invalid parameters for {requested}" + (f": {listed}" if listed else "")
    return message[:500], f"It takes {expected}." if expected else None
