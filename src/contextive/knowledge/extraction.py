"""Extract the names of a source file: declared symbols, imports, calls, and the names that a test mentions.

One query finds all relevant nodes of the syntax tree, and one pass over the matches, sorted by position, nests each
declaration in the one around it. Nothing here recurses into the tree, so no nesting is too deep.

Lines are computed from byte offsets, never read from a node: in tree-sitter 0.26.0 every point that a node returns
has a wrong reference count, and the process crashes some thousands of nodes later.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from contextive.knowledge.document_links import extract_document_references, is_markdown
from contextive.knowledge.grammars import GRAMMARS
from contextive.knowledge.grammars.grammar import Role
from contextive.knowledge.languages import language_parser
from contextive.knowledge.mentions import extract_mentions
from contextive.knowledge.symbol import Reference, ReferenceKind, Symbol, SymbolKind

if TYPE_CHECKING:
    from tree_sitter import Node

    from contextive.knowledge.artifact import ArtifactType

MAX_REFERENCES = 2_000
"""The limit of references per file; the first ones are kept."""
_MAX_CHARACTERS = 400_000
_MAX_AVERAGE_LINE = 400
"""The limit of the average line length. Longer lines are generated or minified, and their names are useless."""
_MAX_DEPTH = 50
"""The limit of nested declarations. Qualified names grow with the depth, all names of a file with its square."""
_MAX_CALLEE_BYTES = 160
"""The bytes at the end of a called expression that are read. A chain of calls can be as long as the file."""

_DOTTED = re.compile(r"[A-Za-z_$@][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$~#][\w$]*)*")
_NOT_NAME = re.compile(r"[^\w$]+")
_NAME_START = re.compile(r"[A-Za-z_$]")
_SEPARATOR = re.compile(r"::|->|\?\.")
_NEWLINE = re.compile(b"\n")
_SPACE = re.compile(r"\s+")
_OWNER_TAIL = re.compile(r"\.prototype$|^(?:module\.)?exports$|^this$|^window$|^globalThis$")
_GENERIC = re.compile(r"<.*", re.DOTALL)
_OWNER = re.compile(r"[A-Za-z_$][\w$.]*")
_NOT_CALLED = frozenset({"require", "import", "super"})
"""Calls in syntax only: the first two are imports, and `super` is not a name."""
_CONTAINERS = frozenset({"class", "interface", "type", "body"})


@dataclass(frozen=True, slots=True)
class ExtractedNames:
    """The names that a file declares and the names that it uses, both by line."""

    symbols: tuple[Symbol, ...] = ()
    references: tuple[Reference, ...] = ()


def extract_names(path: str, text: str, language: str | None, artifact_type: ArtifactType) -> ExtractedNames:
    """The names of a file. Only code and Markdown have any."""
    if language is not None:
        return _names_of_source(path, text.replace("\r\n", "\n"), language, mentions=artifact_type == "test")
    if is_markdown(path):
        return ExtractedNames(references=extract_document_references(path, text)[:MAX_REFERENCES])
    return ExtractedNames()


def _names_of_source(path: str, text: str, language: str, *, mentions: bool) -> ExtractedNames:
    size = len(text)
    if size > _MAX_CHARACTERS or size > _MAX_AVERAGE_LINE * (text.count("\n") + 5) or text.startswith("<?xml"):
        return ExtractedNames()
    data = text.encode("utf-8", "surrogatepass")
    language_tools = language_parser(language)
    tree = language_tools.parser.parse(data)
    root = tree.root_node
    collector = _NameCollector(path, language, data, text if text.isascii() else None)
    collector.run(_sort_matches(language_tools.names.matches(root), language_tools.roles))
    references = collector.references
    if mentions:
        non_code = language_tools.non_code.captures(root).get("q", [])
        references += extract_mentions(data, [(node.start_byte, node.end_byte) for node in non_code])
    references.sort(key=lambda reference: reference.line)
    return ExtractedNames(tuple(collector.symbols), tuple(references[:MAX_REFERENCES]))


_SyntaxMatch = tuple[int, int, int, Role, "Node", "Node | None", "Node | None"]
"""Start, negative end and number (so outer matches sort first); role; nodes of the declaration, name and owner."""


def _sort_matches(matches: list[tuple[int, dict[str, list[Node]]]], roles: tuple[Role, ...]) -> list[_SyntaxMatch]:
    ordered: list[_SyntaxMatch] = []
    add = ordered.append
    for number, (pattern, captures) in enumerate(matches):
        role = roles[pattern]
        names = captures.get("n")
        name = names[0] if names else None
        declarations = captures.get("d")
        node = declarations[0] if declarations else cast("Node", name)
        owners = captures.get("o")
        add((node.start_byte, -node.end_byte, number, role, node, name, owners[0] if owners else None))
    ordered.sort()
    return ordered


@dataclass(slots=True)
class _Scope:
    end: int
    role: Role
    qualified_name: str
    symbol_id: str | None


class _NameCollector:
    """One pass over the matches of a file."""

    def __init__(self, path: str, language: str, data: bytes, ascii_text: str | None) -> None:
        self.symbols: list[Symbol] = []
        self.references: list[Reference] = []
        self._path = path
        self._language = language
        self._data = data
        self._text = ascii_text
        self._import_names: Callable[[str, str], tuple[str, ...]] = GRAMMARS[language].import_names
        self._ids: dict[str, int] = {}
        self._seen: set[tuple[str, str, str | None]] = set()
        self._scopes: list[_Scope] = []
        self._newlines = [found.start() for found in _NEWLINE.finditer(data)]

    def run(self, matches: list[_SyntaxMatch]) -> None:
        scopes = self._scopes
        wrapper: tuple[int, int] | None = None
        last: tuple[int, int] | None = None
        for start, negative_end, _, role, node, name, owner in matches:
            while scopes and scopes[-1].end <= start:
                scopes.pop()
            if role == "call":
                self._add_call(start, -negative_end)
            elif role == "invocation":
                if (called := node.child_by_field_name("name")) is not None:
                    self._add_call(start, called.end_byte)
            elif role == "import":
                for imported in self._import_names(self._source_text(start, -negative_end), self._path):
                    self._add("import", imported, start, None)
            elif role == "wrapper":
                if wrapper is None or wrapper[1] < -negative_end:  # nested templates start at the outermost one
                    wrapper = (self._line(start), -negative_end)
            elif (start, negative_end) != last:  # two patterns can match the same node
                last = (start, negative_end)
                line = self._line(start)
                if wrapper is not None and -negative_end <= wrapper[1]:
                    line = wrapper[0]
                wrapper = None
                self._declare(role, node, name, owner, line)

    def _declare(self, role: Role, node: Node, name: Node | None, owner: Node | None, line: int) -> None:
        named = name or node.child_by_field_name("name")
        if named is None or len(self._scopes) >= _MAX_DEPTH:
            return
        parts = _declared_parts(self._source_text(named.start_byte, named.end_byte), role)
        if not parts:
            return
        if owner is not None:
            above = _OWNER.search(self._source_text(owner.start_byte, owner.end_byte))
            parts = [*filter(None, _OWNER_TAIL.sub("", above.group() if above else "").split(".")), *parts]
        around = self._scopes[-1] if self._scopes else None
        qualified = ".".join(([around.qualified_name] if around and around.qualified_name else []) + parts)
        if role == "function" and (len(parts) > 1 or (around is not None and around.role in _CONTAINERS)):
            role = "method"
        symbol_id = around.symbol_id if around else None
        if role not in ("space", "body"):
            symbol_id = self._id(qualified)
            line_end = self._line(max(node.start_byte, node.end_byte - 1))
            kind = cast("SymbolKind", role)
            self.symbols.append(Symbol(symbol_id, parts[-1], qualified, kind, self._language, line, line_end))
        self._scopes.append(_Scope(node.end_byte, role, qualified, symbol_id))

    def _id(self, qualified: str) -> str:
        symbol_id = f"{self._path}::{qualified}"
        count = self._ids.get(symbol_id, 0) + 1
        self._ids[symbol_id] = count
        return symbol_id if count == 1 else f"{symbol_id}#{count}"

    def _add_call(self, start: int, end: int) -> None:
        begin = max(start, end - _MAX_CALLEE_BYTES)
        name = _called_name(self._source_text(begin, end), is_whole=begin == start)
        if name is not None and name not in _NOT_CALLED:
            self._add("call", name, start, self._scopes[-1].symbol_id if self._scopes else None)

    def _add(self, kind: ReferenceKind, name: str, offset: int, source: str | None) -> None:
        key = (kind, name, source)
        if key not in self._seen:
            self._seen.add(key)
            self.references.append(Reference(kind, name, self._line(offset), source))

    def _line(self, offset: int) -> int:
        return bisect_left(self._newlines, offset) + 1

    def _source_text(self, start: int, end: int) -> str:
        if self._text is not None:
            return self._text[start:end]
        return self._data[start:end].decode("utf-8", "replace")


def _declared_parts(text: str, role: Role) -> list[str]:
    """The parts of a declared name: `Foo::bar` has two, `impl Foo<T>` has one."""
    if text.isidentifier():
        return [text]
    if role == "body":
        text = _GENERIC.sub("", text).rpartition("::")[2].lstrip("&'* ")
        return [name] if (name := _last_name(text.strip())) else []
    if "operator" in text:
        head, _, tail = text.partition("operator")
        return [*_name_parts(head), "operator" + _SPACE.sub("", tail)]
    return _name_parts(text)


def _name_parts(text: str) -> list[str]:
    text = re.sub(r"<[^<>]*>", "", text) if "<" in text else text
    return [part for part in re.split(r"::|\.|\s+", text) if part]


def _called_name(text: str, *, is_whole: bool) -> str | None:
    """The dotted name of the callee, or only its last name if the expression has other parts than names."""
    if is_whole and text.isidentifier():
        return text
    if text.endswith(">") and (start := text.find("<", max(text.rfind("("), text.rfind(")")) + 1)) >= 0:
        text = text[:start].removesuffix("::")
    if is_whole:
        joined = _SPACE.sub("", text) if " " in text or "\n" in text else text
        if _DOTTED.fullmatch(joined):
            return _SEPARATOR.sub(".", joined)
    name = _last_name(text)
    before = text.removesuffix(name)
    return name if name and (not before or before[-1] in ".>:?! \n\t") else None


def _last_name(text: str) -> str:
    """The name at the end of a text, or an empty string."""
    last = _NOT_NAME.split(text)[-1]
    start = _NAME_START.search(last)
    return last[start.start() :] if start else ""
