"""Expands references to environment variables in the strings of a document.

`$NAME`, `${NAME}` and `${NAME:-default}` are replaced, `$$` is a literal dollar sign, and any other dollar sign stays
unchanged. The value of a variable is never expanded again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from contextive.config.coercion import coerce_scalar
from contextive.config.keypath import KeyPath

_REFERENCE: Final = re.compile(
    r"\$(?:(?P<escape>\$)|(?P<bare>[A-Za-z_][A-Za-z0-9_]*+)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*+)(?P<end>\}|:-))"
)
"""A reference up to its default. The end of the default is searched for separately, so that the time stays linear."""


@dataclass(slots=True)
class Expansion:
    """The expanded values, the paths at which a variable was read, and those at which one is not set."""

    values: dict[str, Any] = field(repr=False)
    expanded: set[KeyPath] = field(default_factory=set)
    undefined: list[tuple[KeyPath, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A reference in a text. An empty name means an escaped dollar sign."""

    start: int
    end: int
    name: str
    default: str | None = None


def references(text: str) -> Iterator[str]:
    """The names of the variables that the text refers to."""
    return (reference.name for reference in _references(text) if reference.name)


def _references(text: str) -> Iterator[_Reference]:
    last_brace, position = text.rfind("}"), 0
    while match := _REFERENCE.search(text, position):
        position = match.end()
        if match["escape"]:
            yield _Reference(match.start(), position, "")
        elif match["end"] != ":-":
            yield _Reference(match.start(), position, match["bare"] or match["name"])
        elif position <= last_brace:
            end = text.find("}", position)
            yield _Reference(match.start(), end + 1, match["name"], text[position:end])
            position = end + 1


##= docs/spec/host.md#environment
##% A reference to an environment variable in a string value MUST be replaced by the value of the variable.
def expand(values: Mapping[str, Any], environ: Mapping[str, str]) -> Expansion:
    """A copy of the values with every reference replaced; keys are not changed."""
    expansion = Expansion({})
    expansion.values.update(_expand(values, (), environ, expansion))
    return expansion


def _expand(value: Any, path: KeyPath, environ: Mapping[str, str], expansion: Expansion) -> Any:
    match value:
        case dict():
            return {key: _expand(child, (*path, key), environ, expansion) for key, child in value.items()}
        case list():
            return [_expand(child, (*path, index), environ, expansion) for index, child in enumerate(value)]
        case str() if "$" in value:
            return _expand_text(value, path, environ, expansion)
        case _:
            return value


##= docs/spec/host.md#environment
##% A reference to a variable that is not set and has no default MUST be an error.
##= docs/spec/host.md#environment
##% The value of a variable MUST NOT be expanded again.
def _expand_text(text: str, path: KeyPath, environ: Mapping[str, str], expansion: Expansion) -> Any:
    def replacement(reference: _Reference) -> str:
        if not reference.name:
            return "$"
        expansion.expanded.add(path)
        if reference.default is not None:
            return environ.get(reference.name) or reference.default
        if reference.name not in environ:
            expansion.undefined.append((path, reference.name))
            return ""
        return environ[reference.name]

    pieces: list[str] = []
    position, is_only = 0, False
    for reference in _references(text):
        pieces += text[position : reference.start], replacement(reference)
        position = reference.end
        is_only = bool(reference.name) and (reference.start, reference.end) == (0, len(text))
    result = "".join([*pieces, text[position:]])
    return coerce_scalar(result, path) if is_only else result
