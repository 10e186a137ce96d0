"""What clients say in other words than the protocol's, and what is said to them when they leave something out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

_METHODS = {"resources/get": "resources/read"}
_PARAMETERS = {
    "tools/call": ("tool", "name"),
    **dict.fromkeys(
        ("resources/read", "resources/list", "resources/subscribe", "resources/unsubscribe"), ("path", "uri")
    ),
}
_TAKES = {
    "tools/call": "name, a string, and arguments, an object",
    **dict.fromkeys(("resources/read", "resources/subscribe", "resources/unsubscribe"), "uri, a string"),
    **dict.fromkeys(("tools/list", "prompts/list", "resources/templates/list"), "cursor, a string, or nothing"),
    "resources/list": "cursor and uri, both strings, or nothing",
    "prompts/get": "name, a string, and arguments, an object of strings",
    "completion/complete": "ref, an object, and argument, an object with name and value",
    "logging/setLevel": "level: debug, info, notice, warning, error, critical, alert or emergency",
}
_FAULTS = {
    "missing": "is missing",
    "string_type": "must be a string",
    "dict_type": "must be an object",
    "model_type": "must be an object",
}


##= docs/spec/host.md#resources-and-prompts
##% The method `resources/get` MUST be understood as `resources/read`.
##= docs/spec/host.md#resources-and-prompts
##% A parameter `path` MUST be understood as `uri`, and in a tool call a parameter `tool` as `name`.
def in_own_words(method: str, params: Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any] | None]:
    """A method and its parameters under the names that the protocol has for them."""
    method = _METHODS.get(method, method)
    theirs, own = _PARAMETERS.get(method, ("", ""))
    if params is None or not theirs or theirs not in params or own in params:
        return method, params
    return method, {own if name == theirs else name: value for name, value in params.items()}


def explain_parameters(method: str, asked: str, error: ValidationError | None) -> tuple[str, str | None]:
    """Which parameters of a method are at fault, under the name that was asked for; and what it takes."""
    faults = error.errors(include_url=False, include_input=False) if error is not None else []
    said = {f"{'.'.join(map(str, fault['loc']))} {_FAULTS.get(fault['type'], 'is not valid')}" for fault in faults}
    shown = ", ".join(fault for fault in sorted(said)[:5] if fault.isprintable())
    takes = _TAKES.get(method)
    message = f"Invalid parameters for {asked}" + (f": {shown}" if shown else "")
    return message[:500], f"It takes {takes}." if takes else None
