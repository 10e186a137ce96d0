"""YAML documents, built from parser events, so that the result is always plain data.

Scalars follow the JSON-like rules of YAML 1.2: only `true` and `false` are booleans, so the country code `no` stays a
string. Anchors, aliases and tags are refused: a configuration does not need them, and aliases can expand without limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from contextive.config.keypath import KeyPath, LineMap, quoted
from contextive.config.plain_data import MAX_DEPTH, NUMBER_TOO_LONG, TOO_DEEP
from contextive.errors import ParseError

_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+")
_CONSTANTS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
# The parser is slow: a file of the maximum size could delay the start. A real file has hundreds of values.
_MAX_VALUES: Final = 20_000
_STRING_TAGS: Final = frozenset({"!", "tag:yaml.org,2002:str"})


@dataclass(slots=True)
class _Container:
    values: dict[str, Any] | list[Any]
    path: KeyPath
    key: str | None = None

    def expects_key(self) -> bool:
        return isinstance(self.values, dict) and self.key is None

    def next_path(self) -> KeyPath:
        if isinstance(self.values, dict):
            assert self.key is not None
            return (*self.path, self.key)
        return (*self.path, len(self.values))

    def add(self, value: Any) -> None:
        if isinstance(self.values, dict):
            assert self.key is not None
            self.values[self.key] = value
            self.key = None
        else:
            self.values.append(value)


@dataclass(slots=True)
class _Builder:
    root: Any = None
    documents: int = 0
    lines: dict[KeyPath, int] = field(default_factory=dict)
    stack: list[_Container] = field(default_factory=list)

    def open(self, values: dict[str, Any] | list[Any], line: int) -> None:
        if len(self.stack) > MAX_DEPTH:
            raise ParseError(TOO_DEEP, line)
        path = self.stack[-1].next_path() if self.stack else ()
        self.value(values, line)
        self.stack.append(_Container(values, path))

    def value(self, value: Any, line: int) -> None:
        if not self.stack:
            self.root = value
            self.lines[()] = line
            return
        if len(self.lines) >= _MAX_VALUES:
            raise ParseError(f"more than {_MAX_VALUES} values", line)
        container = self.stack[-1]
        self.lines.setdefault(container.next_path(), line)
        container.add(value)

    def key(self, key: Any, line: int) -> None:
        container = self.stack[-1]
        if not isinstance(key, str):
            raise ParseError("a key must be a string; put it in quotes", line)
        if key in container.values:
            raise ParseError(f"duplicate key {quoted(key)}", line)
        container.key = key
        self.lines[container.next_path()] = line


def parse_yaml(text: str) -> tuple[Any, LineMap]:
    """The value of a YAML text and the line of each of its keys; raises ParseError."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            _handle_event(builder, event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise ParseError(error.problem or error.context or "not valid YAML", line, column) from None
    except yaml.YAMLError:
        raise ParseError("not valid YAML: it contains a character that is not allowed") from None
    return builder.root, builder.lines


def _handle_event(builder: _Builder, event: Any) -> None:
    line = event.start_mark.line + 1
    if getattr(event, "anchor", None) is not None:  # an alias has an anchor too
        raise ParseError("anchors and aliases are not supported; write the value out", line)
    match event:
        case yaml.DocumentStartEvent():
            builder.documents += 1
            if builder.documents > 1:
                raise ParseError("more than one document in the file", line)
        case yaml.ScalarEvent():
            value = _scalar(event, line)
            if builder.stack and builder.stack[-1].expects_key():
                builder.key(value, line)
            else:
                builder.value(value, line)
        case yaml.CollectionStartEvent():
            if event.tag is not None:
                raise ParseError("tags are not supported", line)
            if builder.stack and builder.stack[-1].expects_key():
                raise ParseError("a key must be a string", line)
            builder.open({} if isinstance(event, yaml.MappingStartEvent) else [], line)
        case yaml.CollectionEndEvent():
            builder.stack.pop()


def _scalar(event: Any, line: int) -> Any:
    text: str = event.value
    if event.tag is not None and event.tag not in _STRING_TAGS:
        raise ParseError("tags are not supported", line)
    if event.tag is not None or not event.implicit[0]:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        if _INTEGER.fullmatch(text):
            return int(text)
        # YAML 1.1 reads 010 as eight and YAML 1.2 as ten, so it stays a string.
        if _NUMBER.fullmatch(text) and not _LEADING_ZERO.fullmatch(text):
            return float(text)
    except ValueError:
        raise ParseError(NUMBER_TOO_LONG, line) from None
    return text
