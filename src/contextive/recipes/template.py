"""Templates: `${steps.search.results[0].chunk.text}` in the strings of a recipe.

A string that is exactly one template becomes the value it refers to, of any type. In a longer string, a template becomes text:
strings as they are, other values as JSON. `$${` is an escaped `${`. Inserted text is not rendered again.
Templates can refer only to variables, step results and captures, not to the environment or to files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

ValuePath: TypeAlias = tuple[str | int, ...]

ROOTS: Final = ("vars", "steps", "captures", "result")
MAX_RENDERED: Final = 1_000_000
MAX_PATH: Final = 1000

_TEMPLATE: Final = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_FIRST: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP: Final = re.compile(r"\.([A-Za-z0-9_$-]+)|\[(\d{1,9})\]|\[\"([^\"\]]{1,200})\"\]")


class TemplateError(Exception):
    """An invalid template. The text says why."""


class MissingValue(Exception):
    """There is no value at a path. The text is the path."""


def parse_path(text: str) -> ValuePath:
    """`result.results[0].chunk` as a tuple. Keys with other characters are written as `["key"]`."""
    text = text.strip()
    first = _FIRST.match(text)
    if first is None or len(text) > MAX_PATH:
        raise TemplateError(f"{_safe_repr(text)} is not a path such as result.results[0]")
    parts: list[str | int] = [first[0]]
    position = first.end()
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            raise TemplateError(f"{_safe_repr(text)} is not a path such as result.results[0]")
        parts.append(int(step[2]) if step[2] is not None else (step[1] or step[3]))
        position = step.end()
    return tuple(parts)


def format_path(path: ValuePath) -> str:
    """The path as text, which `parse_path` can read."""
    text = str(path[0])
    for part in path[1:]:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if re.fullmatch(r"[A-Za-z0-9_$-]+", part) else f'["{part}"]'
    return text


def get_at_path(value: Any, path: ValuePath) -> Any:
    """The value at a path inside a value. Raises `MissingValue`."""
    for part in path:
        match value:
            case Mapping() if isinstance(part, str) and part in value:
                value = value[part]
            case list() | tuple() if isinstance(part, int) and part < len(value):
                value = value[part]
            case _:
                raise MissingValue(format_path(path) if isinstance(path[0], str) else str(part))
    return value


@dataclass(frozen=True, slots=True)
class TemplateValues:
    """The values that templates and paths can refer to at one point of a run."""

    variables: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, Any] = field(default_factory=dict)
    captures: Mapping[str, Any] = field(default_factory=dict)

    def look_up(self, path: ValuePath) -> Any:
        """The value at the path of a template. Raises `MissingValue`."""
        try:
            match path:
                case ("vars", *rest) if rest:
                    return get_at_path(self.variables, tuple(rest))
                case ("captures", *rest) if rest:
                    return get_at_path(self.captures, tuple(rest))
                case ("steps", str(step), *rest) if step in self.steps:
                    return _get_in_result(self.steps[step], tuple(rest))
                case _:
                    return get_at_path(self.variables, path)
        except MissingValue:
            raise MissingValue(format_path(path)) from None

    def look_up_in(self, result: Any, path: ValuePath) -> Any:
        """The value at a path relative to the result of a step. Raises `MissingValue`."""
        if path[0] in ("vars", "steps", "captures") and len(path) > 1:
            return self.look_up(path)
        try:
            return get_at_path(result, path[1:] if path[0] == "result" else path)
        except MissingValue:
            raise MissingValue(format_path(path)) from None


def _get_in_result(result: Any, path: ValuePath) -> Any:
    """The value at a path in a result. A leading `result` is optional, unless the result has a key of that name."""
    if path and path[0] == "result" and not (isinstance(result, Mapping) and "result" in result):
        path = path[1:]
    return get_at_path(result, path)


def paths_in(value: Any) -> Iterator[ValuePath]:
    """The paths of all templates in a value. Raises `TemplateError` for an invalid one."""
    match value:
        case str():
            for match in _TEMPLATE.finditer(value):
                if match[1] is not None:
                    yield parse_path(match[1])
        case Mapping():
            for child in value.values():
                yield from paths_in(child)
        case list() | tuple():
            for child in value:
                yield from paths_in(child)


##= docs/spec/models-and-recipes.md#step-execution
##% A string that consists of one template MUST keep the type of the template's value.
def render(value: Any, values: TemplateValues) -> Any:
    """A copy of the value with all templates replaced, except in keys. Raises `MissingValue`."""
    match value:
        case str():
            return _render_text(value, values)
        case Mapping():
            return {key: render(child, values) for key, child in value.items()}
        case list() | tuple():
            return [render(child, values) for child in value]
        case _:
            return value


##= docs/spec/models-and-recipes.md#step-execution
##% Text that a template inserts MUST NOT be expanded again, and templates cannot refer to the environment.
def _render_text(text: str, values: TemplateValues) -> Any:
    whole = _TEMPLATE.fullmatch(text)
    if whole is not None and whole[1] is not None:
        return values.look_up(parse_path(whole[1]))

    size = 0

    def replacement(match: re.Match[str]) -> str:
        nonlocal size
        piece = "${" if match[1] is None else as_text(values.look_up(parse_path(match[1])))
        size += len(piece)
        if size > MAX_RENDERED:
            raise TemplateError(f"a rendered text is longer than {MAX_RENDERED} characters")
        return piece

    return _TEMPLATE.sub(replacement, text)


def as_text(value: Any) -> str:
    """A value as it appears inside a longer text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _safe_repr(text: str) -> str:
    return repr("".join(c if c.isprintable() else "?" for c in text[:60]))
