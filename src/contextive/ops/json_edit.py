"""Sets or removes one value of a JSON text and preserves every other byte.

Configuration files of editors have comments, trailing commas and their own indentation, which rewriting the whole document
would lose. So the text is parsed with the positions of its parts and edited only there. The result is parsed again and
compared with the expected data: a text that this module does not understand is refused and never damaged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contextive.toml.editor import NotEditable

MAX_DEPTH = 200
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_BOM = "\ufeff"


@dataclass(slots=True)
class _Member:
    key: str
    start: int
    value: _Value
    comma: int | None = None
    """The position of the comma after it."""


@dataclass(slots=True)
class _Value:
    start: int
    end: int
    data: Any
    members: list[_Member] | None = field(default=None)
    """The members of an object, in the order of the text."""


def parse(text: str) -> Any:
    """The data of a JSON text, which may have comments and trailing commas. An empty text is an empty object."""
    return _read(text).data


##= docs/spec/commands.md#install
##% A change to a client's file MUST preserve everything else in it, including comments, and keep a copy of the old
##% file.
def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text with this value at this path; missing objects on the path are created."""
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    expected = _with(parse(body), path, value)
    if not body.strip():
        return bom + json.dumps(expected, indent=2, ensure_ascii=False) + "\n"
    return bom + _verify(_set(body, _read(body), list(path), value), expected)


def without_value(text: str, path: Sequence[str]) -> str:
    """The text without the value at this path; unchanged if there is no such value."""
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    root = _read(body)
    parent: _Value = root
    for key in path[:-1]:
        found = _member(parent, key)
        if found is None:
            return text
        parent = found.value
    member = _member(parent, path[-1])
    if member is None:
        return text
    return bom + _verify(_remove(body, parent, member), _without(root.data, path))


def _verify(text: str, expected: Any) -> str:
    try:
        is_as_expected = parse(text) == expected
    except NotEditable:
        is_as_expected = False
    if not is_as_expected:
        raise NotEditable("the text cannot be changed without touching other parts of it")
    return text


def _with(data: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    if not isinstance(data, dict):
        raise NotEditable(f"there is no object where {path[0]!r} belongs")
    return {**data, path[0]: _with(data.get(path[0], {}), path[1:], value)}


def _without(data: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    if len(path) == 1:
        return {key: value for key, value in data.items() if key != path[0]}
    return {**data, path[0]: _without(data[path[0]], path[1:])}


# -- changing ----------------------------------------------------------------------------------------------------------


def _set(text: str, value: _Value, path: list[str], new: Any) -> str:
    depth = 0
    while True:
        member = _member(value, path[0])
        depth += 1
        if member is None:
            for key in reversed(path[1:]):
                new = {key: new}
            return _insert(text, value, depth, path[0], new)
        value, path = member.value, path[1:]
        if not path:
            indent = _indent_before(text, member.start)
            return text[: value.start] + _dump(text, new, indent) + text[value.end :]


def _insert(text: str, value: _Value, depth: int, key: str, new: Any) -> str:
    """The text with one more member at the end of an object."""
    assert value.members is not None
    newline, close = _newline(text), value.end - 1
    if not value.members:
        outer = _line_indent(text, value.start)
        indent = outer + _unit(text)
        entry = f"{json.dumps(key)}: {_dump(text, new, indent)}"
        inner = text[value.start + 1 : close].strip()  # comments, if there are any
        kept = f"{newline}{indent}{inner}" if inner else ""
        return f"{text[: value.start + 1]}{kept}{newline}{indent}{entry}{newline}{outer}{text[close:]}"
    last = value.members[-1]
    end = len(text[:close].rstrip())
    indent_or_none = _indent_before(text, last.start)
    if indent_or_none is None and "\n" not in text[end:close]:
        entry = f" {json.dumps(key)}: {json.dumps(new, ensure_ascii=False)}"
    else:
        indent = indent_or_none if indent_or_none is not None else _unit(text) * depth
        entry = f"{newline}{indent}{json.dumps(key)}: {_dump(text, new, indent)}"
    if last.comma is not None:
        return f"{text[:end]}{entry}{text[end:]}"
    return f"{text[: last.value.end]},{text[last.value.end : end]}{entry}{text[end:]}"


def _remove(text: str, parent: _Value, member: _Member) -> str:
    assert parent.members is not None
    position = parent.members.index(member)
    start, end = member.start, (member.value.end if member.comma is None else member.comma + 1)
    own_line = _indent_before(text, start)
    if own_line is not None:
        start -= len(own_line)
        rest = re.compile(r"[ \t]*(?:\r\n|\n|\r)").match(text, end)
        if rest:
            end = rest.end()
    else:
        blank = re.compile(r"[ \t]*").match(text, end)
        end = blank.end() if blank and position + 1 < len(parent.members) else end
        start = len(text[:start].rstrip(" \t")) if position + 1 == len(parent.members) else start
    before, after = text[:start], text[end:]
    if position and position + 1 == len(parent.members) and member.comma is None:
        comma = parent.members[position - 1].comma
        assert comma is not None
        before = before[:comma] + before[comma + 1 :]
    if len(parent.members) == 1:
        opened, closed = before[: parent.start + 1], before[parent.start + 1 :]
        if not closed.strip() and not after[: after.index("}")].strip():
            return opened + after[after.index("}") :]
    return before + after


def _dump(text: str, value: Any, indent: str | None) -> str:
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    dumped = json.dumps(value, indent=_unit(text), ensure_ascii=False)
    return dumped.replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """The indentation of the first indented line."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found else "  "


def _line_indent(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_before(text: str, position: int) -> str | None:
    """The white space between the start of the line and this position; None if there is anything else."""
    before = text[text.rfind("\n", 0, position) + 1 : position]
    return None if before.strip(" \t") or "\n" not in text[:position] else before


# -- reading -----------------------------------------------------------------------------------------------------------


def _member(value: _Value, key: str) -> _Member | None:
    if value.members is None:
        raise NotEditable(f"there is no object where {key!r} belongs")
    found = [member for member in value.members if member.key == key]
    if len(found) > 1:
        raise NotEditable(f"the key {key!r} occurs twice")
    return found[0] if found else None


def _read(text: str) -> _Value:
    if not text.strip():
        return _Value(0, 0, {}, [])
    value = _value(text, _skip(text, 0), 0)
    if _skip(text, value.end) != len(text):
        raise NotEditable(_where(text, _skip(text, value.end)))
    return value


def _skip(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _where(text: str, position: int) -> str:
    return f"it is not JSON at line {text.count(chr(10), 0, position) + 1}"


def _value(text: str, position: int, depth: int) -> _Value:
    if depth > MAX_DEPTH:
        raise NotEditable("it is nested too deeply")
    match text[position : position + 1]:
        case "{":
            return _object(text, position, depth)
        case "[":
            return _array(text, position, depth)
        case '"':
            data, end = _string(text, position)
            return _Value(position, end, data)
        case _:
            found = _SCALAR.match(text, position)
            if found is None:
                raise NotEditable(_where(text, position))
            try:
                return _Value(position, found.end(), json.loads(found[0]))
            except ValueError:  # Python refuses integers with thousands of digits
                raise NotEditable(_where(text, position)) from None


def _string(text: str, position: int) -> tuple[str, int]:
    found = _STRING.match(text, position)
    try:
        return str(json.loads(found[0] if found else "")), found.end() if found else position
    except ValueError:
        raise NotEditable(_where(text, position)) from None


def _object(text: str, position: int, depth: int) -> _Value:
    members: list[_Member] = []
    at = _skip(text, position + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"' or (members and members[-1].comma is None):
            raise NotEditable(_where(text, at))
        key, end = _string(text, at)
        colon = _skip(text, end)
        if text[colon : colon + 1] != ":":
            raise NotEditable(_where(text, colon))
        member = _Member(key, at, _value(text, _skip(text, colon + 1), depth + 1))
        members.append(member)
        at = _skip(text, member.value.end)
        if text[at : at + 1] == ",":
            member.comma = at
            at = _skip(text, at + 1)
    return _Value(position, at + 1, {member.key: member.value.data for member in members}, members)


def _array(text: str, position: int, depth: int) -> _Value:
    items: list[Any] = []
    at, open_ = _skip(text, position + 1), True
    while text[at : at + 1] != "]":
        if not open_:
            raise NotEditable(_where(text, at))
        item = _value(text, at, depth + 1)
        items.append(item.data)
        at = _skip(text, item.end)
        open_ = text[at : at + 1] == ","
        if open_:
            at = _skip(text, at + 1)
    return _Value(position, at + 1, items)
