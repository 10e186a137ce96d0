"""The `__init__` of a package is its public interface: `__all__` lists exactly the names it exports."""

from __future__ import annotations

import ast
import re
from importlib import import_module

import pytest

from contextive.packs import BUILTIN, load_builtin

from .source_tree import Module, source_modules


def _declared(module: Module) -> list[str] | None:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return list(ast.literal_eval(node.value))
    return None


def _bound(module: Module) -> set[str]:
    """Return the public names defined at the top level of a module."""
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


EXPORTING_PACKAGES = [m for m in source_modules() if m.path.name == "__init__.py" and _declared(m) is not None]


def test_the_exporting_packages_are_found() -> None:
    assert {"contextive.config", "contextive.registry"} <= {package.name for package in EXPORTING_PACKAGES}


@pytest.mark.parametrize("package", EXPORTING_PACKAGES, ids=lambda package: package.name)
def test_a_package_exports_exactly_what_it_declares(package: Module) -> None:
    declared = _declared(package) or []
    assert len(declared) == len(set(declared))
    assert set(declared) == _bound(package)


@pytest.mark.parametrize("package", EXPORTING_PACKAGES, ids=lambda package: package.name)
def test_every_exported_name_resolves(package: Module) -> None:
    loaded = import_module(package.name)
    assert [name for name in _declared(package) or [] if not hasattr(loaded, name)] == []


def _tool_names() -> list[str]:
    """Return the names of all tools except ordinary words such as `search`, which also occur in prose."""
    from contextive.packs.knowledge.gateway_tools import gateway_pack

    packs = [*map(load_builtin, BUILTIN), gateway_pack]
    return sorted(tool.name for pack in packs for tool in pack.tools if "-" in tool.name or "_" in tool.name)


def tool_names_in(module: Module, names: list[str]) -> list[str]:
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    return [
        f"{module}:{node.lineno} names {found[0]}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (found := pattern.search(node.value))
    ]


@pytest.mark.parametrize("module", [m for m in source_modules() if ".server." in m.name], ids=str)
def test_no_transport_names_a_tool(module: Module) -> None:
    assert tool_names_in(module, _tool_names()) == []


def test_the_name_of_a_tool_in_a_module_is_found() -> None:
    module = Module(source_modules()[0].path, "sample", "x = tool == 'km-search'\ny = 'km-searching'")
    assert len(tool_names_in(module, ["km-search"])) == 1
