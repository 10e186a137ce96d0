"""The statement or function that a comment is about, found in the syntax tree of its file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from blake3 import blake3

from contextive.knowledge.languages import language_of, language_parser
from contextive.review.code_tokens import CodeTokens, is_docstring, local_names, tokens_of
from contextive.trace.code_below import code_below

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_MAX_CHARACTERS = 400_000
_MAX_AVERAGE_LINE = 400
_MAX_NAME = 80
_MAX_SKIPPED = 200
"""The limit of comments and attributes between a citation and its code."""
_CONTAINERS = frozenset(
    {"block", "statement_list", "program", "module", "source_file", "translation_unit", "declaration_list"}
)
"""Nodes that start with their first statement, and are about all of them."""
_ATTRIBUTES = frozenset({"attribute_item", "inner_attribute_item", "attribute_declaration"})
_STATEMENT = re.compile(r"(?:_statement|_declaration|_definition|_item|^decorated_definition|^declaration)$")
_FUNCTION = re.compile(r"function|method|closure|lambda|constructor")
_NAMED = re.compile(r"function|method|class|struct|enum|impl_item|trait|mod_item|interface|constructor")
_WORD = re.compile(r"\w+|[^\w\s]")
_BLANK = b" \t\r\n\f"
_LINE_COMMENT = re.compile(r"\s*(?://|#(?!\[|!\[)|\*|/\*|--|;;)")


@dataclass(frozen=True, slots=True)
class CodeUnit:
    """The code that a comment covers."""

    code: CodeTokens
    line: int
    """The number of its first line."""
    symbol: str
    """The name of the function or class that it is or is in; empty at the top of a file."""
    body: range = range(0)
    """The lines that run when it runs: without the head of a function, which runs when it is declared."""

    @property
    def digest(self) -> str:
        return digest_of(self.code.tokens)


def digest_of(tokens: Sequence[str]) -> str:
    return blake3("\n".join(tokens).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class SourceCode:
    """One version of a source file. It is parsed when a unit is first asked for."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._lines = text.split("\n")
        self._language = language_of(path)
        self._units: dict[tuple[int, int], CodeUnit] = {}

    def unit_below(self, first: int, last: int) -> CodeUnit:
        """The code that the comment in these lines is about. Lines are counted from 1."""
        key = (first, last)
        if key not in self._units:
            self._units[key] = self._find_unit(first, last)
        return self._units[key]

    ##= docs/spec/review.md#code-under-a-citation
    ##% The code under a citation MUST be the statement or function below it, without comments and layout.
    def _find_unit(self, first: int, last: int) -> CodeUnit:
        found = self._parsed_unit(first, last) if self._tree is not None else None
        return found or self._unit_by_lines(first, last)

    def has_code(self, unit: CodeUnit) -> bool:
        """Whether the same code is anywhere in this version of the file."""
        return "\n".join(("", *unit.code.tokens, "")) in self._all_tokens

    @cached_property
    def _all_tokens(self) -> str:
        if self._tree is None or self._language is None:
            tokens = _words(self._lines)
        else:
            tokens = tokens_of(self._tree.root_node, self._data, self._language)
        return "\n".join(("", *tokens, ""))

    @cached_property
    def _data(self) -> bytes:
        return self.text.encode("utf-8", "surrogatepass")

    @cached_property
    def _tree(self) -> Tree | None:
        size = len(self.text)
        if self._language is None or size > min(_MAX_CHARACTERS, _MAX_AVERAGE_LINE * (len(self._lines) + 5)):
            return None
        return language_parser(self._language).parser.parse(self._data)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self._data.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def _parsed_unit(self, first: int, last: int) -> CodeUnit | None:
        assert self._tree is not None
        assert self._language is not None
        if last >= len(self._line_starts) or first < 1:
            return None
        root = self._tree.root_node
        tokens: list[str] = []
        offset = self._line_starts[last]
        own = self._token_of_line(root, first)
        if own is not None and _comment_around(own) is None:
            return self._unit_of(_around_text(own), tokens)
        for _ in range(_MAX_SKIPPED):
            leaf = self._code_from(root, offset)
            if leaf is None or self._ends_block(leaf, first):
                unit = self._around(root, first)
                break
            unit = _whole_node(leaf)
            if unit.type not in _ATTRIBUTES:
                break
            tokens += tokens_of(unit, self._data, self._language)
            offset = unit.end_byte
        else:
            return None
        return self._unit_of(unit, tokens)

    def _token_of_line(self, root: Node, number: int) -> Node | None:
        """The first token of a line."""
        start = self._line_starts[number - 1]
        start += _indent(self._data[start:])
        return root.descendant_for_byte_range(start, start + 1)

    def _unit_of(self, unit: Node | None, tokens: list[str]) -> CodeUnit | None:
        assert self._language is not None
        if unit is None or unit.type in ("ERROR", *_CONTAINERS):
            return None
        tokens += tokens_of(unit, self._data, self._language)
        scope = _outermost_function(unit)
        code = CodeTokens(tuple(tokens), local_names(scope, self._data) if scope is not None else frozenset())
        line = self._line_of(unit.start_byte)
        declared = unit.child_by_field_name("definition") or unit
        inner = declared.child_by_field_name("body") if _NAMED.search(declared.type) else None
        first_line = max(self._line_of(inner.start_byte), line + 1) if inner is not None else line
        return CodeUnit(code, line, self._symbol(unit), range(first_line, self._line_of(max(unit.end_byte - 1, 0)) + 1))

    def _line_of(self, offset: int) -> int:
        return self._data.count(b"\n", 0, offset) + 1

    def _code_from(self, root: Node, offset: int) -> Node | None:
        """The first token at or after an offset that is not part of a comment."""
        data = self._data
        for _ in range(_MAX_SKIPPED):
            while offset < len(data) and data[offset] in _BLANK:
                offset += 1
            if offset >= len(data):
                return None
            leaf = root.descendant_for_byte_range(offset, offset + 1)
            if leaf is None:
                return None
            comment = _comment_around(leaf)
            if comment is None:
                return leaf
            offset = max(comment.end_byte, offset + 1)
        return None

    def _ends_block(self, leaf: Node, first: int) -> bool:
        """Whether nothing follows the comment in its block."""
        if self._data[leaf.start_byte : leaf.end_byte] in (b"}", b")", b"]"):
            return True
        line = self._data.rfind(b"\n", 0, leaf.start_byte) + 1
        return _indent(self._data[line:]) < _indent(self._data[self._line_starts[first - 1] :])

    def _around(self, root: Node, first: int) -> Node | None:
        """The statement or function that a comment at the end of a block is in."""
        offset = self._line_starts[first - 1]
        while offset > 0 and self._data[offset - 1] in _BLANK:
            offset -= 1
        node = root.descendant_for_byte_range(max(offset - 1, 0), max(offset, 1))
        while node is not None and not (_FUNCTION.search(node.type) and _STATEMENT.search(node.type)):
            node = node.parent
        return node

    def _symbol(self, node: Node) -> str:
        names: list[str] = []
        current: Node | None = node
        while current is not None:
            is_declaration = _NAMED.search(current.type) or (current is node and current.type == "decorated_definition")
            named = _declared_name(current) if is_declaration else None
            if named is not None:
                names.append(self._data[named.start_byte : named.end_byte].decode("utf-8", "replace")[:_MAX_NAME])
            current = current.parent
        return ".".join(reversed(names))

    def _unit_by_lines(self, first: int, last: int) -> CodeUnit:
        """The code below a comment in a file that is not parsed."""
        found = code_below(self._lines, first - 1, last - 1)
        lines = self._lines[last : found.last + found.more + 1] or self._lines[found.first : first - 1]
        return CodeUnit(CodeTokens(tuple(_words(lines))), min(last + 1, len(self._lines)), "")


def _words(lines: Sequence[str]) -> list[str]:
    return [word for line in lines if not _LINE_COMMENT.match(line) for word in _WORD.findall(line)]


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _comment_around(node: Node) -> Node | None:
    """The comment that a node is or is part of."""
    current: Node | None = node
    for _ in range(3):
        if current is None:
            return None
        if "comment" in current.type:
            return current
        current = current.parent
    return None


def _whole_node(leaf: Node) -> Node:
    """The largest node that starts with a token; for an operator or a mark, the statement around it."""
    node = leaf
    while (
        (above := node.parent) is not None
        and above.start_byte == leaf.start_byte
        and above.type not in _CONTAINERS
        and above.type != "ERROR"
    ):
        node = above
    if node.is_named or node.child_count:
        return node
    while (above := node.parent) is not None and above.type not in _CONTAINERS and not _STATEMENT.search(node.type):
        node = above
    return node


def _around_text(token: Node) -> Node | None:
    """What a reference in code is about: the statement of a test's title, or the function of a docstring."""
    node: Node | None = token
    while node is not None and not _STATEMENT.search(node.type):
        node = node.parent
    if node is None or not is_docstring(node):
        return node
    while node is not None and not (_NAMED.search(node.type) and _STATEMENT.search(node.type)):
        node = node.parent
    return node


def _declared_name(node: Node) -> Node | None:
    """The node with the name that a declaration gives; for an `impl` block, that of its type."""
    declared = node.child_by_field_name("definition") or node  # below decorators
    named = declared.child_by_field_name("name")
    if named is None and declared.type == "impl_item":
        return declared.child_by_field_name("type")
    while named is None and (inner := declared.child_by_field_name("declarator")) is not None:
        declared = inner
        named = inner if inner.child_by_field_name("declarator") is None else None
    return named


def _outermost_function(node: Node) -> Node | None:
    found: Node | None = None
    node = node.child_by_field_name("definition") or node.child_by_field_name("declaration") or node
    current: Node | None = node
    while current is not None:
        if _FUNCTION.search(current.type):
            found = current
        current = current.parent
    return found or (node if _NAMED.search(node.type) else None)
