"""The lines of the keys of a TOML document."""

from __future__ import annotations

import re
from typing import Final

from contextive.config.keypath import KeyPath, LineMap

# These expressions never backtrack, so the time is linear in the text.
_PART: Final = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\]|\\.)*+"|'[^']*+')"""
_KEY: Final = rf"{_PART}(?:\s*+\.\s*+{_PART})*+"
_PARTS: Final = re.compile(_PART)
_HEADER: Final = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_ASSIGNMENT: Final = re.compile(rf"\s*({_KEY})\s*=")


def toml_lines(text: str) -> LineMap:
    """The lines of tables and keys of a valid TOML text, as far as a line-by-line scan finds them."""
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
    """The table's path with the index of each array of tables that contains it."""
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
