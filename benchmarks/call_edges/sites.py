"""Calls and declarations in source files, found by their syntax and not by the code that is measured."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from benchmarks.call_edges.language_server import Place

_GRAMMARS: Final = {
    "python": ("tree_sitter_python", "language", (".py",)),
    "go": ("tree_sitter_go", "language", (".go",)),
    "rust": ("tree_sitter_rust", "language", (".rs",)),
    "typescript": ("tree_sitter_typescript", "language_tsx", (".ts", ".tsx")),
}
_CALLS: Final = {
    "python": "(call function: [(identifier) @n (attribute attribute: (identifier) @n)])",
    "go": "(call_expression function: [(identifier) @n (selector_expression field: (field_identifier) @n)])",
    "rust": (
        "(call_expression function: [(identifier) @n (field_expression field: (field_identifier) @n)"
        " (scoped_identifier name: (identifier) @n) (generic_function function: [(identifier) @n"
        " (field_expression field: (field_identifier) @n) (scoped_identifier name: (identifier) @n)])])"
    ),
    "typescript": (
        "(call_expression function: [(identifier) @n (member_expression property: (_) @n)])"
        "(new_expression constructor: [(identifier) @n (member_expression property: (_) @n)])"
    ),
}
_DECLARATIONS: Final = frozenset(
    {
        "function_definition", "class_definition",
        "function_declaration", "method_declaration", "type_spec", "type_alias", "method_elem",
        "function_item", "function_signature_item", "struct_item", "enum_item", "union_item", "trait_item", "type_item",
        "enum_variant",
        "generator_function_declaration", "class_declaration", "abstract_class_declaration", "method_definition",
        "method_signature", "abstract_method_signature", "function_signature", "interface_declaration",
        "type_alias_declaration",
    }
)  # fmt: skip
_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function"})
_CONSTRUCTORS: Final = frozenset({"__init__", "__new__", "constructor"})
_MAX_BYTES: Final = 300_000


@dataclass(frozen=True, slots=True)
class Site:
    """A call: the place of the called name."""

    place: Place
    name: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared function, method or class. A constructor is the class."""

    path: str
    line: int
    """The line of the name, from 1."""
    name: str


@dataclass(slots=True)
class Sources:
    """The source files of one language in a project."""

    root: Path
    language: str
    paths: tuple[str, ...] = ()
    _lines: dict[str, list[str]] = field(default_factory=dict)
    _declared: dict[str, dict[tuple[int, int], Declaration]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        suffixes = _GRAMMARS[self.language][2]
        listed = subprocess.run(
            ["git", "-C", str(self.root), "ls-files"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        self.paths = tuple(
            path
            for path in sorted(listed)
            if path.endswith(suffixes)
            and (self.root / path).is_file()
            and (self.root / path).stat().st_size < _MAX_BYTES
        )

    def calls(self) -> list[Site]:
        """All calls of a name that the project declares."""
        names = {item.name for path in self.paths for item in self.declarations(path).values()}
        sites = (site for path in self.paths for site in self._calls_in(path) if site.name in names)
        return sorted(sites, key=lambda site: site.place)

    def sample(self, size: int, seed: int) -> list[Site]:
        """Some of the calls, by chance."""
        sites = self.calls()
        return sorted(random.Random(seed).sample(sites, min(size, len(sites))), key=lambda site: site.place)

    def declarations(self, path: str) -> dict[tuple[int, int], Declaration]:
        """What a file declares, by line and column of the name."""
        found = self._declared.get(path)
        if found is None:
            found = self._declared[path] = dict(self._declarations_in(path)) if path in self.paths else {}
        return found

    def line(self, place: Place) -> str:
        return self._text(place[0])[place[1]].strip()

    def _text(self, path: str) -> list[str]:
        if path not in self._lines:
            self._lines[path] = (self.root / path).read_text(encoding="utf-8", errors="replace").split("\n")
        return self._lines[path]

    def _grammar(self, path: str) -> Language:
        package, loader, _ = _GRAMMARS[self.language]
        return _load(package, "language_typescript" if path.endswith(".ts") else loader)

    def _root_node(self, path: str) -> Node:
        return Parser(self._grammar(path)).parse("\n".join(self._text(path)).encode()).root_node

    def _calls_in(self, path: str) -> Iterator[Site]:
        query = Query(self._grammar(path), _CALLS[self.language])
        for node in QueryCursor(query).captures(self._root_node(path)).get("n", []):
            assert node.text is not None
            yield Site((path, *self._position(path, node)), node.text.decode())

    def _declarations_in(self, path: str) -> Iterator[tuple[tuple[int, int], Declaration]]:
        cursor = [self._root_node(path)]
        while cursor:
            node = cursor.pop()
            cursor += node.named_children
            name = node.child_by_field_name("name")
            if name is None or name.text is None or not _is_declaration(node):
                continue
            position = self._position(path, name)
            line, text = position[0] + 1, name.text.decode()
            above = _class_around(node) if text in _CONSTRUCTORS else None
            if above is not None and above.text is not None:
                line, text = above.start_point[0] + 1, above.text.decode()
            yield position, Declaration(path, line, text)
            value = node.child_by_field_name("value")
            if value is not None and value.type in _FUNCTIONS:  # TypeScript's server may name the function itself
                yield self._position(path, value), Declaration(path, line, text)

    def _position(self, path: str, node: Node) -> tuple[int, int]:
        """The line and the column in UTF-16 units."""
        row, column = node.start_point
        before = self._text(path)[row].encode()[:column].decode(errors="replace")
        return row, len(before.encode("utf-16-le")) // 2


@cache
def _load(package: str, loader: str) -> Language:
    return Language(getattr(import_module(package), loader)())


def _is_declaration(node: Node) -> bool:
    if node.type in _DECLARATIONS:
        return True
    value = node.child_by_field_name("value")
    if value is None or value.type not in _FUNCTIONS:
        return False
    # A variable in a function that is a function is local to it, like any other variable.
    around = node.parent
    while around is not None and around.type in ("lexical_declaration", "variable_declaration", "export_statement"):
        around = around.parent
    return around is not None and around.type in ("program", "class_body")


def _class_around(node: Node) -> Node | None:
    around = node.parent
    while around is not None and "class" not in around.type:
        around = around.parent
    while around is not None and around.child_by_field_name("name") is None:
        around = around.parent
    return around.child_by_field_name("name") if around is not None else None
