"""References to environment variables in the strings of a document.

`$NAME`, `${NAME}` and `${NAME:-default}` are replaced, `$$` is a literal dollar sign, and a dollar sign before anything
else stays as it is. What a variable holds is never expanded again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from contextive.config.coercion import coerce_scalar
from contextive.config.keypath import KeyPath

_REFERENCE: Final = re.compile(
    r"\$(?:(?P<escape>\$)|(?P<bare>[A-Za-z_][A-Za-z0-9_]*)"
    r"|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<fallback>:-(?P<default>[^}]*))?\})"
)


@dataclass(slots=True)
class Expansion:
    """The expanded values, the places where a variable was read, and the places where one is missing."""

    values: dict[str, Any] = field(repr=False)
    expanded: set[KeyPath] = field(default_factory=set)
    undefined: list[tuple[KeyPath, str]] = field(default_factory=list)


def references(text: str) -> Iterator[str]:
    """The names of the variables that the text refers to."""
    for match in _REFERENCE.finditer(text):
        if not match["escape"]:
            yield match["bare"] or match["name"]


##= docs/spec/host.md#environment
##% A reference to an environment variable in a string value MUST be replaced by what the variable holds.
def expand(values: Mapping[str, Any], environ: Mapping[str, str]) -> Expansion:
    """A copy of the values with every reference replaced; keys are left alone."""
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
##% What a variable holds MUST NOT be expanded again.
def _expand_text(text: str, path: KeyPath, environ: Mapping[str, str], expansion: Expansion) -> Any:
    def replacement(match: re.Match[str]) -> str:
        if match["escape"]:
            return "$"
        name = match["bare"] or match["name"]
        expansion.expanded.add(path)
        if match["fallback"]:
            return environ.get(name) or str(match["default"])
        if name not in environ:
            expansion.undefined.append((path, name))
            return ""
        return environ[name]

    result = _REFERENCE.sub(replacement, text)
    only_reference = _REFERENCE.fullmatch(text)
    if only_reference and not only_reference["escape"]:
        return coerce_scalar(result, path)
    return result
