"""Translates the statements that both stores share from the dialect of SQLite."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, NamedTuple

_TABLES = (
    "progress", "generation", "change", "state", "artifact", "ledger", "chunk", "chunk_tag", "symbol", "chunk_symbol",
    "reference", "reference_name", "type_hint", "link_name", "vector_model", "vector", "word", "owner", "node", "statement",
    "edge", "loose_edge", "run", "report", "event", "vote", "audit", "migration", "identity", "lease",
)  # fmt: skip
_TABLE = re.compile(rf"\b(FROM|JOIN|INTO|UPDATE) ({'|'.join(_TABLES)})\b")
_PARAMETER = re.compile(r"(json_each\()?\?(\d*)")
_FUNCTIONS = (("instr(", "strpos("), ("char(", "chr("), ("CROSS JOIN", "JOIN"))
_GIVEN = re.compile(r"FROM \S+each_value\(\$\d+\) (\w) JOIN ")
_UNSORTABLE = re.compile(r" (?:UNION|GROUP BY|ORDER BY|LIMIT) ")
_NOT_IN_JSON = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


class Statement(NamedTuple):
    """A statement for PostgreSQL, and which of its parameters are JSON arrays (counted from 0)."""

    sql: str
    arrays: frozenset[int]


##= docs/spec/knowledge.md#shared-store
##% Without PostgreSQL's extensions, a shared store MUST give the same answers as an embedded one, in the same order.
@lru_cache(maxsize=512)
def translate(sql: str, schema: str) -> Statement:
    """The statement with names qualified by the schema."""
    arrays: set[int] = set()
    positions = 0

    def parameter(match: re.Match[str]) -> str:
        nonlocal positions
        positions += 1
        number = int(match[2] or positions)
        if match[1] is None:
            return f"${number}"
        arrays.add(number - 1)
        return f'"{schema}".each_value(${number}'

    for before, after in _FUNCTIONS:
        sql = sql.replace(before, after)
    sql = _TABLE.sub(rf'\1 "{schema}".\2', _PARAMETER.sub(parameter, sql))
    given = _GIVEN.search(sql)
    if given and not _UNSORTABLE.search(sql):
        sql += f" ORDER BY {given[1]}.key"  # SQLite returns the rows in the order of the array by itself
    return Statement(sql, frozenset(arrays))


def bind(statement: Statement, values: Any) -> list[Any]:
    """The values as PostgreSQL accepts them: without the character NUL, which it cannot store in a text."""
    bound = []
    for position, value in enumerate(values):
        if isinstance(value, str):
            if position in statement.arrays:
                bound.append(_storable_array(value) if _NOT_IN_JSON.search(value) else value)
                continue
            value = value.replace("\x00", "\ufffd") if "\x00" in value else value
        bound.append(value)
    return bound


def _storable_array(text: str) -> str:
    elements = [
        element.replace("\x00", "\ufffd").encode("utf-8", "replace").decode() if isinstance(element, str) else element
        for element in json.loads(text)
    ]
    return json.dumps(elements, ensure_ascii=False)
