"""Kept documents with one value after another replaced by a value of another kind."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from .corpus import FOLDER

_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "x",
    [],
    [[]],
    [1, "x", None, {}],
    {},
    {"x": 1},
    {"": [{"x": {}}]},
)
"""One value of every kind, and collections of them: what may not be a key of a mapping among them."""

TARGETS = (
    "duvet-config", "requirement-toml", "config-json", "config-yaml", "config-toml",
    "recipe", "graph-query", "filters", "merged-reports", "json-rpc-line",
)  # fmt: skip


def retyped(name: str) -> Iterator[bytes]:
    """Every kept document of a parser, with each of its values replaced by each of the odd ones, and each key left out."""
    for path in sorted((FOLDER / name).iterdir()):
        read, write = _FORMS[path.suffix]
        try:
            document = read(path.read_text("utf-8"))
        except (ValueError, yaml.YAMLError):
            continue  # kept because it is broken
        for other in _others(document):
            yield write(other).encode()


def _others(value: Any) -> Iterator[Any]:
    yield from _ODD
    match value:
        case dict():
            for key, held in value.items():
                rest = {name: each for name, each in value.items() if name != key}
                yield rest
                yield from ({**rest, key: other} for other in _others(held))
        case list():
            for place, held in enumerate(value):
                yield from ([*value[:place], other, *value[place + 1 :]] for other in _others(held))


def _json(value: Any) -> str:
    return json.dumps(value, default=str)


def _toml(value: Any) -> str:
    if not isinstance(value, dict):
        return _toml_value(value)
    return "".join(f"{json.dumps(str(key))} = {_toml_value(held)}\n" for key, held in value.items())


def _toml_value(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml_value(held)}" for key, held in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml_value, value)) + "]"
        case None:
            return "1979-05-27"  # TOML knows no null, but days
        case _:
            return _json(value)


_FORMS: dict[str, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    ".json": (json.loads, _json),
    ".yaml": (yaml.safe_load, _json),  # every JSON document is YAML
    ".toml": (tomllib.loads, _toml),
}
