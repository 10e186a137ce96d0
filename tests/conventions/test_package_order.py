"""Data flows one way: a module imports only from its own package and from earlier packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source_tree import ROOT, SOURCE, Module, source_modules

PACKAGES = (
    "errors", "retry", "locks", "file_writing", "toml", "config", "workspace", "trace", "notes", "knowledge", "review",
    "store", "ingest", "search", "models", "registry", "recipes", "packs", "web", "server", "ops", "cli",
)  # fmt: skip
PURE = ("toml", "trace", "notes", "knowledge", "review")
_IO_MODULES = frozenset(
    {
        "aiofiles", "asyncio", "glob", "http", "httpx", "io", "mmap", "multiprocessing", "os", "requests", "select",
        "shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "urllib.request",
    }
)  # fmt: skip
_IO_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "rglob", "unlink"})


def package_of(module: str) -> str | None:
    """Return the package of a dotted module name; None for `contextive` itself and for `python -m contextive`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else None


def imports_of(module: Module) -> Iterator[tuple[int, str]]:
    """Yield line and full name of everything that a module imports from Contextive.

    Imports for type checkers count, because a type is a dependency too. So do imports by name in a string.
    """
    package = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                base = source or ""
                if level:
                    above = package.split(".")[: len(package.split(".")) - (level - 1)]
                    base = ".".join([*above, base]).rstrip(".")
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in names)
            case ast.Constant(value=str(text)) if text.startswith("contextive.") and _is_module(text.partition(":")[0]):
                yield node.lineno, text.partition(":")[0]


def _is_module(dotted: str) -> bool:
    parts = dotted.split(".")
    # Two parts may be the name of a logger or an entry-point group; three parts that lead to a file are an import.
    return len(parts) > 2 and SOURCE.joinpath(*parts[1:]).with_suffix(".py").is_file()


def wrong_imports(module: Module) -> list[str]:
    own = package_of(module.name)
    if own is None:
        return []
    wrong = []
    for line, name in imports_of(module):
        if name.split(".")[0] != "contextive" or name == "contextive.__version__":
            continue
        other = package_of(name)
        if other not in PACKAGES or PACKAGES.index(other) > PACKAGES.index(own):
            wrong.append(f"{module}:{line} imports {name}")
    return wrong


def io_uses(module: Module) -> list[str]:
    """Return where a module uses files, sockets, processes or databases."""
    found = []
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                found += [(node.lineno, a.name) for a in names if a.name in _IO_MODULES or a.name == "pathlib"]
            case ast.ImportFrom(module=str(source), names=names, level=0):
                if source in _IO_MODULES or source.split(".")[0] in _IO_MODULES - {"os"}:
                    found.append((node.lineno, source))
                if source == "pathlib":
                    found += [(node.lineno, f"pathlib.{a.name}") for a in names if not a.name.startswith("Pure")]
            case ast.Call(func=ast.Name(id="open")):
                found.append((node.lineno, "open()"))
            case ast.Call(func=ast.Attribute(attr=method)) if method in _IO_METHODS:
                found.append((node.lineno, f".{method}()"))
    return [f"{module}:{line} uses {what}" for line, what in found]


def test_every_module_is_in_a_known_package() -> None:
    unknown = {package_of(module.name) for module in source_modules()} - {None, *PACKAGES}
    assert not unknown, f"unknown packages; add them to PACKAGES and to docs/architecture.md: {unknown}"


@pytest.mark.parametrize("module", source_modules(), ids=str)
def test_a_module_imports_only_from_its_own_and_earlier_packages(module: Module) -> None:
    assert wrong_imports(module) == []


@pytest.mark.parametrize("package", PURE)
def test_the_pure_packages_do_no_input_or_output(package: str) -> None:
    assert [line for m in source_modules() if package_of(m.name) == package for line in io_uses(m)] == []


def _documented_packages() -> list[str]:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Packages")[2].partition("\n## ")[0]
    return [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]


def test_the_architecture_page_lists_the_packages_in_this_order() -> None:
    assert _documented_packages() == list(PACKAGES)


def test_every_package_of_the_order_exists() -> None:
    assert {package_of(module.name) for module in source_modules()} - {None} == set(PACKAGES)


def _sample(name: str, code: str) -> Module:
    return Module(ROOT / "src" / Path(*name.split(".")).with_suffix(".py"), name, code)


@pytest.mark.parametrize(
    "code",
    [
        "from contextive.server.host import Host",
        "import contextive.cli",
        "from contextive import server",
        "from ..server import host",
        "if TYPE_CHECKING:\n    from contextive.packs import BUILTIN",
        "def later():\n    from contextive.ops import demo",
        "import_module('contextive.cli.parser')",
        "services.provide('contextive.server.host:Host', make)",
    ],
)
def test_an_import_of_a_later_package_is_found(code: str) -> None:
    assert wrong_imports(_sample("contextive.registry.sample", code))


@pytest.mark.parametrize(
    "code", ["import os", "from pathlib import Path", "open('x')", "import sqlite3", "x.read_text(encoding='utf-8')"]
)
def test_input_in_a_pure_package_is_found(code: str) -> None:
    assert io_uses(_sample("contextive.trace.sample", code))


@pytest.mark.parametrize(
    "code", ["from pathlib import PurePosixPath", "import re", "from contextive.errors import NotFound"]
)
def test_allowed_imports_of_a_pure_package_pass(code: str) -> None:
    sample = _sample("contextive.trace.sample", code)
    assert not io_uses(sample)
    assert not wrong_imports(sample)
