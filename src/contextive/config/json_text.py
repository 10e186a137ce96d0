"""JSON documents: values, syntax errors with line and column, and the lines of keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from contextive.config.keypath import KeyPath, LineMap, quoted
from contextive.config.plain_data import MAX_DEPTH, NUMBER_TOO_LONG, TOO_DEEP
from contextive.errors import ParseError

_LEXEME: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_CONSTANTS: Final = frozenset({"NaN", "Infinity", "-Infinity"})


class _DuplicateKeyError(ValueError):
    pass


class _ConstantError(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class _Lexeme:
    path: KeyPath
    text: str
    line: int
    is_key: bool


def parse_json(text: str) -> Any:
    """The value of a JSON text; raises ParseError."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ParseError(error.msg.removesuffix(" at"), error.lineno, error.colno) from None
    except _DuplicateKeyError:
        raise _duplicate_problem(text) from None
    except _ConstantError:
        line = next((lexeme.line for lexeme in _lexemes(text) if lexeme.text in _CONSTANTS), None)
        raise ParseError("NaN and Infinity are not valid JSON numbers", line) from None
    except RecursionError:
        line = next((lexeme.line for lexeme in _lexemes(text) if len(lexeme.path) > MAX_DEPTH), None)
        raise ParseError(TOO_DEEP, line) from None
    except ValueError:  # Python refuses integers with thousands of digits
        raise ParseError(NUMBER_TOO_LONG) from None


def json_lines(text: str) -> LineMap:
    """The line of every key and list item of a valid JSON text."""
    lines: dict[KeyPath, int] = {}
    for lexeme in _lexemes(text):
        lines.setdefault(lexeme.path, lexeme.line)
    return lines


##= docs/spec/host.md#validation
##% A duplicate key in an object MUST be an error.
def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _DuplicateKeyError
    return values


def _refuse_constant(_name: str) -> NoReturn:
    raise _ConstantError


def _duplicate_problem(text: str) -> ParseError:
    seen: set[KeyPath] = set()
    for lexeme in _lexemes(text):
        if lexeme.is_key and lexeme.path in seen:
            return ParseError(f"duplicate key {quoted(str(lexeme.path[-1]))}", lexeme.line)
        if lexeme.is_key:
            seen.add(lexeme.path)
    return ParseError("duplicate key")


def _lexemes(text: str) -> Iterator[_Lexeme]:
    """Keys and values with their paths, up to the first syntax error."""
    stack: list[str | int | None] = []  # one entry per open container: its current key or index
    line, counted = 1, 0
    for match in _LEXEME.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        lexeme = match.group()
        if lexeme in "}]":
            if stack:
                stack.pop()
        elif lexeme == ",":
            if stack:
                last = stack[-1]
                stack[-1] = last + 1 if isinstance(last, int) else None
        elif lexeme == ":":
            continue
        elif stack and stack[-1] is None and lexeme.startswith('"'):
            stack[-1] = json.loads(lexeme, strict=False)
            yield _Lexeme(_path(stack), lexeme, line, is_key=True)
        else:
            yield _Lexeme(_path(stack), lexeme, line, is_key=False)
            if lexeme in "{[":
                stack.append(None if lexeme == "{" else 0)


def _path(stack: list[str | int | None]) -> KeyPath:
    return tuple(part for part in stack if part is not None)
