"""Checks that values are plain JSON data, which is all that a configuration of any format may contain."""

from __future__ import annotations

import math
from typing import Any, Final

from contextive.config.keypath import KeyPath

MAX_DEPTH: Final = 64
TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"
NUMBER_TOO_LONG: Final = "a number has too many digits"


def find_non_json_value(values: Any) -> tuple[KeyPath, str] | None:
    """The path and the fault of a value that is not plain JSON data; None if there is no such value."""
    # Not recursive, because too much depth is one of the faults.
    waiting: list[tuple[KeyPath, Any]] = [((), values)]
    while waiting:
        path, value = waiting.pop()
        if fault := _fault(path, value):
            return path, fault
        if isinstance(value, dict):
            waiting.extend(((*path, key), child) for key, child in value.items())
        elif isinstance(value, list):
            waiting.extend(((*path, index), child) for index, child in enumerate(value))
    return None


def _fault(path: KeyPath, value: Any) -> str | None:
    match value:
        case dict() | list() if len(path) > MAX_DEPTH:
            return TOO_DEEP
        case dict() if not all(_is_unicode(key) for key in value):
            return "a key is not valid Unicode text"
        case float() if not math.isfinite(value):
            return "a number must be finite"
        case str() if not _is_unicode(value):
            return "not valid Unicode text"
        case None | bool() | int() | float() | str() | dict() | list():
            return None
        case _:
            return "dates and times are not supported; put the value in quotes"


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
