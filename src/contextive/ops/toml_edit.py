"""One table of a TOML text set or removed, with comments and order of everything else kept.

The standard library reads TOML and cannot write it. A table of its own can be written without understanding the rest: it is
appended, or its lines are exchanged. What comes out is read again and compared with what was meant, so a text whose lines were
taken for something that they are not is refused and never damaged.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from contextive.ops.json_edit import NotEditable

_HEADER = re.compile(r"^\s*\[[^\[].*\]\s*(?:#.*)?$")
_ANY_HEADER = re.compile(r"^\s*\[.*\]\s*(?:#.*)?$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")

Values = Mapping[str, str | Sequence[str]]


def parse(text: str) -> dict[str, Any]:
    """The data of a TOML text."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        place = re.search(r"line \d+", str(error))
        raise NotEditable(f"it is not TOML{f' at {place[0]}' if place else ''}") from None


def table_text(path: Sequence[str], values: Values) -> str:
    """A table as it is written into a file."""
    head = ".".join(key if _BARE.match(key) else _string(key) for key in path)
    return "\n".join([f"[{head}]", *(_line(key, value) for key, value in values.items())]) + "\n"


def with_table(text: str, path: Sequence[str], values: Values) -> str:
    """The text with these values in the table at this path; other values of the table stay."""
    data = parse(text)
    there = _find(data, path)
    if there is not None and not isinstance(there, dict):
        raise NotEditable(f"there is no table where {path[-1]!r} belongs")
    plain = {key: value if isinstance(value, str) else list(value) for key, value in values.items()}
    expected = _with(data, path, {**(there or {}), **plain})
    if there is None:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return _checked(text + gap + table_text(path, values), expected)
    lines = _LINE.findall(text)
    start = _header(lines, path)
    for key, value in values.items():
        if there.get(key) != plain[key]:
            _set_line(lines, start, key, value, is_new=key not in there)
    return _checked("".join(lines), expected)


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without the table at this path and those below it, or as it was where there is none."""
    data = parse(text)
    if _find(data, path) is None:
        return text
    lines = _LINE.findall(text)
    kept: list[str] = []
    at = 0
    while at < len(lines):
        if _is_header_of(lines[at], path, below=True):
            end = _end(lines, at)
            own = end
            while own > at + 1 and (not lines[own - 1].strip() or lines[own - 1].lstrip().startswith("#")):
                own -= 1  # a comment right above the next table belongs to it
            at = next((n for n in range(own, end) if lines[n].strip()), end)
            if at == len(lines):
                while kept and not kept[-1].strip():
                    kept.pop()
            continue
        kept.append(lines[at])
        at += 1
    return _checked("".join(kept), _without(data, path), _without(data, path, keep_empty=True))


def _set_line(lines: list[str], start: int, key: str, value: str | Sequence[str], *, is_new: bool) -> None:
    newline = "\r\n" if lines[start].endswith("\r\n") else "\n"
    if is_new:
        if not lines[start].endswith("\n"):
            lines[start] += newline
        lines.insert(start + 1, _line(key, value) + newline)
        return
    for first in range(start + 1, _end(lines, start)):
        if re.match(rf"\s*(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')\s*=", lines[first]):
            last = _last_of(lines, first)
            lines[first : last + 1] = [_line(key, value) + newline]
            return
    raise NotEditable(f"the value {key!r} stands at an unusual place")


def _last_of(lines: list[str], first: int) -> int:
    """The last line of a value that may go over several."""
    for last in range(first, min(first + 200, len(lines))):
        try:
            tomllib.loads("".join(lines[first : last + 1]))
        except tomllib.TOMLDecodeError:
            continue
        return last
    raise NotEditable("a value has no end")


def _header(lines: list[str], path: Sequence[str]) -> int:
    for number, line in enumerate(lines):
        if _is_header_of(line, path, below=False):
            return number
    raise NotEditable(f"{path[-1]!r} is not written as a table of its own")


def _end(lines: list[str], start: int) -> int:
    return next((n for n in range(start + 1, len(lines)) if _ANY_HEADER.match(lines[n])), len(lines))


def _is_header_of(line: str, path: Sequence[str], *, below: bool) -> bool:
    if not _HEADER.match(line):
        return False
    try:
        found: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return False
    keys: list[str] = []
    while isinstance(found, dict) and found:
        ((key, found),) = found.items()
        keys.append(key)
    return keys[: len(path)] == list(path) if below else keys == list(path)


def _line(key: str, value: str | Sequence[str]) -> str:
    shown = _string(value) if isinstance(value, str) else "[" + ", ".join(_string(item) for item in value) + "]"
    return f"{key} = {shown}"


def _string(text: str) -> str:
    """As JSON writes it, which TOML reads in the same way, but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _find(data: dict[str, Any], path: Sequence[str]) -> Any:
    found: Any = data
    for key in path:
        if not isinstance(found, dict):
            raise NotEditable(f"there is no table where {key!r} belongs")
        if key not in found:
            return None
        found = found[key]
    return found


def _with(data: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    rest = value if len(path) == 1 else _with(data.get(path[0], {}), path[1:], value)
    return {**data, path[0]: rest}


def _without(data: dict[str, Any], path: Sequence[str], *, keep_empty: bool = False) -> dict[str, Any]:
    """Without the table; one around it that only its header made goes, one that has a header of its own stays."""
    if len(path) > 1:
        rest = _without(data[path[0]], path[1:], keep_empty=keep_empty)
        if rest or keep_empty:
            return {**data, path[0]: rest}
    return {key: value for key, value in data.items() if key != path[0]}


def _checked(text: str, *expected: dict[str, Any]) -> str:
    try:
        is_right = parse(text) in expected
    except NotEditable:
        is_right = False
    if not is_right:
        raise NotEditable("the text cannot be changed without touching other parts of it")
    return text
