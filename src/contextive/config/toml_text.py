"""TOML documents: values, syntax errors with their place, and the lines of keys."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from contextive.config.keypath import KeyPath, LineMap
from contextive.config.syntax import MAX_DEPTH, NUMBER_TOO_LONG, TOO_DEEP, TextError

# Nothing is ever given back, so that a search takes no longer than the text is long.
_PART: Final = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\]|\\.)*+"|'[^']*+')"""
_KEY: Final = rf"{_PART}(?:\s*+\.\s*+{_PART})*+"
_PARTS: Final = re.compile(_PART)
_HEADER: Final = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_ASSIGNMENT: Final = re.compile(rf"\s*({_KEY})\s*=")
# tomllib needs time in the square of the number of parts, so such a key is refused before it is parsed.
_DEEP_KEY: Final = re.compile(
    rf"(?:^|[{{,])[ \t]*+\[{{0,2}}+[ \t]*+(?:{_PART}[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}+", re.MULTILINE
)
_PLACE: Final = re.compile(
    r"^(?P<text>.*?)(?: \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\))?$"
)


def parse_toml(text: str) -> dict[str, Any]:
    """The value of a TOML text; raises TextError."""
    if deep := _DEEP_KEY.search(text):
        raise TextError(TOO_DEEP, text.count("\n", 0, deep.start()) + 1)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The place stands in the message alone before Python 3.14.
        place = _PLACE.match(str(error).splitlines()[0])
        assert place is not None
        if place["line"] is None:
            raise TextError(place["text"], text.count("\n") + 1) from None
        raise TextError(place["text"], int(place["line"]), int(place["column"])) from None
    except RecursionError:  # nested arrays
        raise TextError(TOO_DEEP) from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise TextError(NUMBER_TOO_LONG) from None


def toml_lines(text: str) -> LineMap:
    """The lines of tables and keys of a valid TOML text, as far as a line by line reading shows them."""
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    tables_of_array: dict[KeyPath, int] = {}
    inside: str | None = None  # the quotes of an open multi-line string
    for number, line in enumerate(text.split("\n"), start=1):
        if inside is None:
            if header := _HEADER.match(line):
                table = _split(header[2])
                if header[1] == "[[":
                    index = tables_of_array.get(table, -1) + 1
                    tables_of_array[table] = index
                    lines.setdefault(table, number)
                    table = (*table, index)
                else:
                    table = _inside_arrays(table, tables_of_array)
                lines.setdefault(table, number)
            elif assignment := _ASSIGNMENT.match(line):
                path = table + _split(assignment[1])
                for length in range(len(table) + 1, len(path) + 1):
                    lines.setdefault(path[:length], number)
        inside = _open_string(line, inside)
    return lines


def _split(key: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in _PARTS.findall(key))


def _inside_arrays(table: KeyPath, tables_of_array: dict[KeyPath, int]) -> KeyPath:
    """The table's path with the index of each array of tables that it stands in."""
    path: KeyPath = ()
    for length, part in enumerate(table, start=1):
        path = (*path, part)
        if table[:length] in tables_of_array:
            path = (*path, tables_of_array[table[:length]])
    return path


def _open_string(line: str, inside: str | None) -> str | None:
    for quotes in re.findall(r'"""|' + r"'''", line):
        if inside is None:
            inside = quotes
        elif inside == quotes:
            inside = None
    return inside
