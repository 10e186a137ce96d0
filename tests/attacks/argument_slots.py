"""What can be fired at a tool, found from its published schema: every place that takes a value, and arguments around it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slot:
    """One place of a tool's arguments, and how to fill it."""

    tool: str
    path: tuple[str | int, ...]
    schema: Mapping[str, Any]
    base: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.tool}:{'.'.join(map(str, self.path))}"

    def filled(self, value: Any) -> dict[str, Any]:
        """Arguments that are otherwise as the schema wants them, with the value at this place."""
        arguments: dict[str, Any] = json.loads(json.dumps(self.base))
        place: Any = arguments
        for step in self.path[:-1]:
            place = place[step]
        place[self.path[-1]] = value
        return arguments


def slots(tool: Mapping[str, Any], kind: str = "string") -> Iterator[Slot]:
    """Every place in a tool's arguments that takes a value of the kind, however deep."""
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
                sample = _with(root, path, [_sample(form["items"], definitions)], anew=True)
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
    """The least value that a schema allows."""
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
            return "siren"  # a note that may be renamed or removed: the normal call asks for another one


def _with(arguments: Any, path: tuple[str | int, ...], value: Any, *, anew: bool = False) -> Any:
    """The arguments with a value at a place that has none yet, or anew."""
    copy = json.loads(json.dumps(arguments))
    place = copy
    for step in path[:-1]:
        place = place[step]
    if not anew and isinstance(place, dict) and path[-1] in place:
        return copy
    place[path[-1]] = value
    return copy
