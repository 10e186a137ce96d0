"""The argument slots of a tool, derived from its published schema: every position that takes a value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slot:
    """One position in a tool's arguments, with valid arguments around it."""

    tool: str
    path: tuple[str | int, ...]
    schema: Mapping[str, Any]
    base: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.tool}:{'.'.join(map(str, self.path))}"

    def filled(self, value: Any) -> dict[str, Any]:
        """Return arguments that are valid for the schema except for this value."""
        arguments: dict[str, Any] = json.loads(json.dumps(self.base))
        parent: Any = arguments
        for step in self.path[:-1]:
            parent = parent[step]
        parent[self.path[-1]] = value
        return arguments


def slots(tool: Mapping[str, Any], kind: str = "string") -> Iterator[Slot]:
    """Yield every position in a tool's arguments that takes a value of this type, at any depth."""
    schema = tool["inputSchema"]
    definitions = schema.get("$defs", {})

    def walk(part: Mapping[str, Any], path: tuple[str | int, ...], root: Mapping[str, Any]) -> Iterator[Slot]:
        for form in _forms(part, definitions):
            if form.get("type") == kind and path and "enum" not in form:
                yield Slot(tool["name"], path, form, root)
            for name, inner in form.get("properties", {}).items():
                sample = _with(root, (*path, name), _sample(inner, definitions))
                yield from walk(inner, (*path, name), sample)
            if form.get("type") == "array" and "items" in form:
                sample = _with(root, path, [_sample(form["items"], definitions)], replace=True)
                yield from walk(form["items"], (*path, 0), sample)

    yield from walk(schema, (), _sample(schema, definitions))


def _forms(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "$ref" in part:
        yield from _forms(definitions[part["$ref"].rsplit("/", 1)[1]], definitions)
    elif "anyOf" in part or "oneOf" in part:
        for form in part.get("anyOf", part.get("oneOf", ())):
            yield from _forms(form, definitions)
    else:
        yield part


def _sample(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Return the smallest value that a schema allows."""
    form = next(_forms(part, definitions))
    if "const" in form:
        return form["const"]
    if "enum" in form:
        return form["enum"][0]
    match form.get("type"):
        case "object":
            return {
                name: _sample(form["properties"][name], definitions)
                for name in form.get("required", ())
                if name in form.get("properties", {})
            }
        case "array":
            return [_sample(form["items"], definitions)] if form.get("minItems") else []
        case "integer" | "number":
            return form.get("minimum", 1)
        case "boolean":
            return False
        case _:
            return "siren"  # a note that a call may rename or remove: `assert_unharmed` reads a different one


def _with(arguments: Any, path: tuple[str | int, ...], value: Any, *, replace: bool = False) -> Any:
    """Return a copy of the arguments with the value set; an existing value stays unless `replace` is true."""
    copy = json.loads(json.dumps(arguments))
    parent = copy
    for step in path[:-1]:
        parent = parent[step]
    if not replace and isinstance(parent, dict) and path[-1] in parent:
        return copy
    parent[path[-1]] = value
    return copy
