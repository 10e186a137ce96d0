"""The positions of values in a TOML text, which `tomllib` does not report.

The text is known to be valid, so the scanner reads only enough to step from key to value.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_STRINGS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r'"""(?:\\.|[^\\])*?"{3,5}(?!")',
        r"'''.*?'{3,5}(?!')",
        r'"(?:[^"\\\n]|\\.)*"',
        r"'[^'\n]*'",
    )
)
_PLAIN = re.compile(r"[^\s,\]}#]+(?: [0-9:.Zz+-]+)?")


@dataclass(slots=True)
class TablePositions:
    """The start of a table, and of the value of each of its keys."""

    start: int
    values: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class TomlPositions:
    """The positions of the top-level values and of the tables of each top-level array."""

    values: dict[str, int]
    arrays: dict[str, list[TablePositions]]

    def entry(self, name: str, index: int) -> TablePositions:
        known = self.arrays.get(name, [])
        return known[index] if index < len(known) else TablePositions(self.values.get(name, 0))


def find_positions(text: str) -> TomlPositions:
    """The positions in a text that `tomllib` accepts."""
    positions = TomlPositions({}, {})
    with suppress(_UnexpectedSyntax):
        _TomlScanner(text, positions).read()
    return positions


class _UnexpectedSyntax(Exception):
    """The scanner does not understand the text. Positions found so far are still right."""


class _TomlScanner:
    def __init__(self, text: str, positions: TomlPositions) -> None:
        self._text = text
        self._position = 0
        self._positions = positions

    def read(self) -> None:
        values = self._positions.values
        while self._skip(_BLANK) < len(self._text):
            if self._text.startswith("[", self._position):
                values = self._header()
                continue
            key, start = self._key(), self._position
            if len(key) == 1:
                values.setdefault(key[0], start)
            tables = self._value()
            if values is self._positions.values and len(key) == 1:
                self._positions.arrays.setdefault(key[0], []).extend(tables)

    def _header(self) -> dict[str, int]:
        """Step over `[name]` or `[[name]]`. Returns the dict for the positions of its values."""
        start = self._position
        is_array = self._text.startswith("[[", start)
        self._position += 2 if is_array else 1
        path = self._path()
        self._position = self._text.find("]", self._position) + (2 if is_array else 1)
        if len(path) != 1:
            return {}
        if not is_array:
            self._positions.values.setdefault(path[0], start)
            return {}
        table = TablePositions(start)
        self._positions.arrays.setdefault(path[0], []).append(table)
        return table.values

    def _path(self) -> list[str]:
        self._skip(_SPACE)
        path = [self._name()]
        while found := _DOT.match(self._text, self._position):
            self._position = found.end()
            path.append(self._name())
        self._skip(_SPACE)
        return path

    def _name(self) -> str:
        start = self._position
        self._expect(_KEY)
        return self._text[start : self._position].strip("\"'")

    def _key(self) -> list[str]:
        """Step over `key =`."""
        path = self._path()
        if not self._text.startswith("=", self._position):
            raise _UnexpectedSyntax
        self._position += 1
        self._skip(_SPACE)
        return path

    def _value(self) -> list[TablePositions]:
        """Step over a value. Returns the inline tables directly in it, if it is an array."""
        match self._text[self._position : self._position + 1]:
            case '"' | "'":
                for form in _STRINGS:
                    if self._try(form):
                        return []
                raise _UnexpectedSyntax
            case "[":
                return self._array()
            case "{":
                self._inline_table()
                return []
            case _:
                self._expect(_PLAIN)
                return []

    def _array(self) -> list[TablePositions]:
        tables = []
        self._position += 1
        while self._skip(_BLANK) < len(self._text) and self._text[self._position] != "]":
            if self._text[self._position] == "{":
                tables.append(self._inline_table())
            else:
                self._value()
            self._comma()
        self._position += 1
        return tables

    def _inline_table(self) -> TablePositions:
        table = TablePositions(self._position)
        self._position += 1
        while self._skip(_BLANK) < len(self._text) and self._text[self._position] != "}":
            key = self._key()
            if len(key) == 1:
                table.values[key[0]] = self._position
            self._value()
            self._comma()
        self._position += 1
        return table

    def _comma(self) -> None:
        self._skip(_BLANK)
        if self._text.startswith(",", self._position):
            self._position += 1

    def _skip(self, pattern: re.Pattern[str]) -> int:
        self._try(pattern)
        return self._position

    def _expect(self, pattern: re.Pattern[str]) -> None:
        if not self._try(pattern):
            raise _UnexpectedSyntax

    def _try(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self._text, self._position)
        if found is None:
            return False
        self._position = found.end()
        return True
