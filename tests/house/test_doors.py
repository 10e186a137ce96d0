"""A package's `__init__` is its door: what stands in `__all__` is all that it offers."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from .tree import Module, source_modules


def _declared(module: Module) -> list[str] | None:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return list(ast.literal_eval(node.value))
    return None


def _bound(module: Module) -> set[str]:
    """The public names that the top level of a module binds."""
    names: set[str] = set()
    for node in module.tree.body:
        match node:
            case ast.ImportFrom(module="__future__"):
                continue
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name.split(".")[0] for alias in aliases}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return {name for name in names if not name.startswith("_")}


DOORS = [m for m in source_modules() if m.path.name == "__init__.py" and _declared(m) is not None]


def test_there_are_doors() -> None:
    assert {"contextive.config", "contextive.registry"} <= {door.name for door in DOORS}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_door_offers_what_it_declares_and_nothing_else(door: Module) -> None:
    declared = _declared(door) or []
    assert len(declared) == len(set(declared))
    assert set(declared) == _bound(door)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_every_name_of_a_door_resolves(door: Module) -> None:
    loaded = import_module(door.name)
    assert [name for name in _declared(door) or [] if not hasattr(loaded, name)] == []
