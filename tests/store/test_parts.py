"""Callers use the parts of a store directly: no class has methods that only forward to one of its attributes."""

from __future__ import annotations

import ast
import inspect
import textwrap

import pytest

from contextive.store.sql.files import SqlFiles
from contextive.store.sql.graph import SqlGraph
from contextive.store.sql.records import SqlRecords
from contextive.store.sql.search import SqlSearch
from contextive.store.sql.store import SqlStore
from contextive.store.sqlite.store import SqliteStore


def forwards(source: str) -> list[str]:
    """The methods of a class that only call the method of the same name of an attribute."""
    (found,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(found, ast.ClassDef)
    return [node.name for node in found.body if isinstance(node, ast.FunctionDef) and is_forward(node)]


def is_forward(method: ast.FunctionDef) -> bool:
    body = method.body[1:] if ast.get_docstring(method) is not None else method.body
    while len(body) == 1 and isinstance(body[0], ast.With):
        body = body[0].body
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    value = body[0].value
    if isinstance(value, ast.YieldFrom):
        value = value.value
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr=name)):
            return name == method.name
        case _:
            return False


@pytest.mark.parametrize("kind", [SqliteStore, SqlStore, SqlFiles, SqlGraph, SqlRecords, SqlSearch])
def test_no_method_only_forwards_to_a_part(kind: type) -> None:
    assert forwards(inspect.getsource(kind)) == []


def test_a_method_that_only_forwards_is_found() -> None:
    source = '''
    class Store:
        def runs(self, limit):
            """Newest first."""
            return self._records.runs(limit)

        def close(self):
            self._database.close()

        def symbols(self):
            with self._database.handling_errors():
                yield from self._files.symbols()

        def identity(self):
            self._database.reopen_if_replaced()
            return self._database.identity()

        def node(self, node_id):
            return self._graph.nodes([node_id]).get(node_id)
    '''
    assert forwards(source) == ["runs", "close", "symbols"]
