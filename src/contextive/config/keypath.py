"""The path of a value in a document: the keys and indexes that lead to it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
LineMap: TypeAlias = Mapping[KeyPath, int]

_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_$<>-]+")
_LONGEST_KEY: Final = 64


def quoted(text: str) -> str:
    """The text in quotes, shortened, with control characters escaped."""
    short = text if len(text) <= _LONGEST_KEY else text[:_LONGEST_KEY] + "…"
    return json.dumps(short, ensure_ascii=not short.isprintable())


def dotted(path: KeyPath) -> str:
    """The path as text, such as `workflows.audit.steps[0].tool`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = _PLAIN_KEY.fullmatch(part) and len(part) <= _LONGEST_KEY
            text += ("." if text else "") + (part if plain else quoted(part))
    return text


def value_at(values: Any, path: KeyPath) -> Any:
    """The value at the path; raises LookupError if there is none."""
    for part in path:
        match values:
            case dict():
                values = values[part]
            case list() if isinstance(part, int):
                values = values[part]
            case _:
                raise LookupError(dotted(path))
    return values


def nearest_line(lines: LineMap, path: KeyPath) -> int | None:
    """The line of the value at the path, or of the nearest value that contains it."""
    for length in range(len(path), -1, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None
