"""Documents of the corpus with one value replaced by a value of another type."""

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
"""A value of every type, and collections of them, including values that cannot be keys of a mapping."""

TARGETS = (
    "duvet-config", "requirement-toml", "config-json", "config-yaml", "config-toml",
    "recipe", "graph-query", "filters", "merged-reports", "json-rpc-line",
)  # fmt: skip


def retyped(name: str) -> Iterator[bytes]:
    """Yield every document of a parser with each value replaced by each odd value, and with each key removed."""
    for path in sorted((FOLDER / name).iterdir()):
        read, write = _FORMS[path.suffix]
        try:
            document = read(path.read_text("utf-8"))
        except (ValueError, yaml.YAMLError):
            continue  # in the corpus because it cannot be parsed
        for other in _others(document):
            yield write(other).encode()


def _others(value: Any) -> Iterator[Any]:
    yield from _ODD
    match value:
        case dict():
            for key, item in value.items():
                rest = {name: each for name, each in value.items() if name != key}
                yield rest
                yield from ({**rest, key: other} for other in _others(item))
        case list():
            for index, item in enumerate(value):
                yield from ([*value[:index], other, *value[index + 1 :]] for other in _others(item))


def _json(value: Any) -> str:
    return json.dumps(value, default=str)


def _toml(value: Any) -> str:
    if not isinstance(value, dict):
        return _toml_value(value)
    return "".join(f"{json.dumps(str(key))} = {_toml_value(item)}\n" for key, item in value.items())


def _toml_value(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml_value(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml_value, value)) + "]"
        case None:
            return "1979-05-27"  # TOML has no null, but it has dates
        case _:
            return _json(value)


_FORMS: dict[str, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    ".json": (json.loads, _json),
    ".yaml": (yaml.safe_load, _json),  # every JSON document is YAML
    ".toml": (tomllib.loads, _toml),
}
