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
    schema = _compact(model.model_json_schema(by_alias=True, mode="validation"))
    schema.setdefault("type", "object")
    return schema


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove the titles that pydantic derives from names, and the model's docstring (the tool has a description)."""
    cleaned: dict[str, Any] = _drop_titles(schema)
    cleaned.pop("description", None)
    for definition in cleaned.get("$defs", {}).values():
        definition.pop("description", None)
    return cleaned


def _drop_titles(node: Any, *, inside_properties: bool = False) -> Any:
    if isinstance(node, dict):
        node = node if inside_properties else _without_null(node)
        return {
            key: _drop_titles(value, inside_properties=key in ("properties", "$defs") and not inside_properties)
            for key, value in node.items()
            if inside_properties or key != "title" or not isinstance(value, str)
        }
    if isinstance(node, list):
        return [_drop_titles(item) for item in node]
    return node


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
