"""JSON Schemas of tool models, kept small because every client pays tokens for them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


##= docs/spec/host.md#declaration
##% Every argument of a built-in tool MUST have a description.
def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a tool's arguments, without additional properties."""
    schema = _compact(model.model_json_schema(by_alias=True, mode="validation"))
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    return schema


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a tool's result. Results omit fields that are None, so those are optional."""
    schema: dict[str, Any] = _without_defaults(_compact(model.model_json_schema(by_alias=True, mode="validation")))
    schema.setdefault("type", "object")
    return schema


def _without_defaults(node: Any, *, inside_properties: bool = False) -> Any:
    """A schema without default values, which mean nothing in a result, and without the type of a constant."""
    if isinstance(node, dict):
        said = {"default"} | ({"type"} if "const" in node else set()) if not inside_properties else set()
        return {
            key: _without_defaults(value, inside_properties=key in ("properties", "$defs") and not inside_properties)
            for key, value in node.items()
            if key not in said
        }
    return [_without_defaults(item) for item in node] if isinstance(node, list) else node


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove what says nothing, and the model's docstring (the tool has a description)."""
    cleaned: dict[str, Any] = _without_noise(schema)
    cleaned.pop("description", None)
    for definition in cleaned.get("$defs", {}).values():
        definition.pop("description", None)
    return cleaned


def _without_noise(node: Any, *, inside_properties: bool = False) -> Any:
    if isinstance(node, dict):
        node = node if inside_properties else _without_null(node)
        return {
            key: _without_noise(value, inside_properties=key in ("properties", "$defs") and not inside_properties)
            for key, value in node.items()
            if inside_properties or not _says_nothing(key, value)
        }
    if isinstance(node, list):
        return [_without_noise(item) for item in node]
    return node


def _says_nothing(key: str, value: Any) -> bool:
    """Whether a keyword is a derived title, or has the value that it has anyway."""
    return (key == "title" and isinstance(value, str)) or (key == "additionalProperties" and value is True)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Turn `X or null, default null` into an optional X."""
    options = node.get("anyOf")
    if not isinstance(options, list) or "default" not in node or node["default"] is not None:
        return node
    kept = [option for option in options if option != {"type": "null"}]
    if len(kept) == len(options):
        return node
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    return {**kept[0], **rest} if len(kept) == 1 else {"anyOf": kept, **rest}
