"""JSON Schemas of tool models, as small as they can be without losing meaning: every token is paid by every client."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The closed schema of a tool's arguments."""
    schema = _compact(model.model_json_schema(by_alias=True, mode="validation"))
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    return schema


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a tool's structured result."""
    schema = _compact(model.model_json_schema(by_alias=True, mode="serialization"))
    schema.setdefault("type", "object")
    return schema


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop the titles that pydantic derives from names, and the model's docstring: the tool has a description."""
    cleaned: dict[str, Any] = _drop_titles(schema)
    cleaned.pop("description", None)
    for definition in cleaned.get("$defs", {}).values():
        definition.pop("description", None)
    return cleaned


def _drop_titles(node: Any, *, inside_properties: bool = False) -> Any:
    if isinstance(node, dict):
        return {
            key: _drop_titles(value, inside_properties=key in ("properties", "$defs") and not inside_properties)
            for key, value in node.items()
            if inside_properties or key != "title" or not isinstance(value, str)
        }
    if isinstance(node, list):
        return [_drop_titles(item) for item in node]
    return node
