"""Extract the names of a source file: declared symbols, imports, calls, and the names that a test mentions.

One query finds all relevant nodes of the syntax tree, and one pass over the matches, sorted by position, nests each
declaration in the one around it. Nothing here recurses into the tree, so no nesting is too deep.

Lines are computed from byte offsets, never read from a node: in tree-sitter 0.26.0 every point that a node returns
has a wrong reference count, and the process crashes some thousands of nodes later.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from contextive.knowledge.document_links import extract_document_references
from contextive.knowledge.expressions import DOTTED, SEPARATOR, UNKNOWN, join
from contextive.knowledge.grammars import GRAMMARS
from contextive.knowledge.grammars.grammar import Role
from contextive.knowledge.languages import language_parser
from contextive.knowledge.manifests import is_manifest, package_hints
from contextive.knowledge.mentions import extract_mentions
from contextive.knowledge.symbol import Reference, ReferenceKind, Symbol, SymbolKind, TypeHint
from contextive.knowledge.type_hints import HintCollector

if TYPE_CHECKING:
    from tree_sitter import Node

    from contextive.knowledge.artifact import ArtifactType

MAX_REFERENCES = 2_000
"""The limit of references per file. The first ones are kept, and of those in tests, calls before mentions."""
_MAX_CHARACTERS = 400_000
_MAX_AVERAGE_LINE = 400
"""The limit of the average line length. Longer lines are generated or minified, and their names are useless."""
_MAX_DEPTH = 50
"""The limit of nested declarations. Qualified names grow with the depth, all names of a file with its square."""
_MAX_CALLEE_BYTES = 160
"""The bytes at the end of a called expression that are read. A chain of calls can be as long as the file."""

_NOT_NAME = re.compile(r"[^\w$]+")
_NAME_START = re.compile(r"[A-Za-z_$]")
_CHAIN_REVERSED = re.compile(r"(?:(?:\.|::)\w++)*+")
"""The names before a called name, from its last character to its first. This direction takes linear time."""
_NEWLINE = re.compile(b"\n")
_SPACE = re.compile(r"\s+")
_OWNER_TAIL = re.compile(r"\.prototype$|^(?:module\.)?exports$|^this$|^window$|^globalThis$")
_GENERIC = re.compile(r"<.*", re.DOTALL)
_OWNER = re.compile(r"[A-Za-z_$][\w$.]*")
_OFTEN_UNTYPED = frozenset(["python", "javascript", "typescript", "tsx"])
"""Languages in which parameters need no types. Their names often say what they are."""
_NOT_CALLED = frozenset({"require", "import", "super"})
"""Calls in syntax only: the first two are imports, and `super` is not a name."""
_CONTAINERS = frozenset({"class", "interface", "type", "body"})
_IN_SYMBOLS = frozenset({"call", "fixture"})
"""The kinds of references that belong to the symbol around them."""
_DECLARATIONS = frozenset({"class", "function", "method", "interface", "type", "space", "body"})


@dataclass(frozen=True, slots=True)
class ExtractedNames:
    """The names that a file declares and the names that it uses, both by line."""

    symbols: tuple[Symbol, ...] = ()
    references: tuple[Reference, ...] = ()
    hints: tuple[TypeHint, ...] = ()


def extract_names(path: str, text: str, language: str | None, artifact_type: ArtifactType) -> ExtractedNames:
    """The names of a file. Files that are neither code nor documents can only name documents and packages."""
    if language is None:
        hints = package_hints(path, text) if is_manifest(path) else ()
        return ExtractedNames(references=extract_document_references(path, text)[:MAX_REFERENCES], hints=hints)
    names = _names_of_source(path, text.replace("\r\n", "\n"), language, mentions=artifact_type == "test")
    if artifact_type == "test" or not (documents := extract_document_references(path, text)):
        return names
    references = sorted((*names.references, *documents), key=lambda reference: reference.line)
    return ExtractedNames(names.symbols, tuple(references[:MAX_REFERENCES]), names.hints)


def _names_of_source(path: str, text: str, language: str, *, mentions: bool) -> ExtractedNames:
    size = len(text)
    if size > _MAX_CHARACTERS or size > _MAX_AVERAGE_LINE * (text.count("\n") + 5) or text.startswith("<?xml"):
        return ExtractedNames()
    data = text.encode("utf-8", "surrogatepass")
    language_tools = language_parser(language)
    tree = language_tools.parser.parse(data)
    root = tree.root_node
    collector = _NameCollector(path, language, data, text if text.isascii() else None, is_test=mentions)
    collector.run(_sort_matches(language_tools.names.matches(root), language_tools.roles))
    references = collector.references
    if mentions:
        non_code = language_tools.non_code.captures(root).get("q", [])
        references += extract_mentions(data, [(node.start_byte, node.end_byte) for node in non_code])
    kept = sorted(references[:MAX_REFERENCES], key=lambda reference: reference.line)
    return ExtractedNames(tuple(collector.symbols), tuple(kept), collector.hints.hints)


_SyntaxMatch = tuple[int, int, int, Role, "Node", dict[str, list["Node"]]]
"""Start, negative end and number (so outer matches sort first); role; outermost captured node, and all of them."""


def _sort_matches(
    matches: list[tuple[int, dict[str, list[Node]]]], roles: tuple[tuple[Role, str], ...]
) -> list[_SyntaxMatch]:
    ordered: list[_SyntaxMatch] = []
    add = ordered.append
    for number, (pattern, captures) in enumerate(matches):
        role, key = roles[pattern]
        node = captures[key][0]
        add((node.start_byte, -node.end_byte, number, role, node, captures))
    ordered.sort()
    return ordered


@dataclass(frozen=True, slots=True)
class _Source:
    """The bytes of a file, and its text if both have the same offsets."""

    data: bytes
    ascii_text: str | None

    def text(self, start: int, end: int) -> str:
        if self.ascii_text is not None:
            return self.ascii_text[start:end]
        return self.data[start:end].decode("utf-8", "replace")


@dataclass(slots=True)
class _Scope:
    end: int
    role: Role
    qualified_name: str
    symbol_id: str | None


class _NameCollector:
    """One pass over the matches of a file."""

    def __init__(self, path: str, language: str, data: bytes, ascii_text: str | None, *, is_test: bool) -> None:
        self.symbols: list[Symbol] = []
        self.references: list[Reference] = []
        self._path = path
        self._language = language
        self._data = data
        # Not a method of this object: the collector of hints would refer back to it, and only a garbage collection would
        # free both.
        self._source_text = _Source(data, ascii_text).text
        self._import_names = GRAMMARS[language].import_names
        self._imported = GRAMMARS[language].imported
        names: Literal["class", "unknown"] = "class" if language in _OFTEN_UNTYPED else "unknown"
        self.hints = HintCollector(self._source_text, "fixture" if is_test and language == "python" else names)
        self._names = self.hints.names
        self._ids: dict[str, int] = {}
        self._seen: set[tuple[str, str, str | None, str | None]] = set()
        self._scopes: list[_Scope] = []
        self._newlines = [found.start() for found in _NEWLINE.finditer(data)]

    def run(self, matches: list[_SyntaxMatch]) -> None:
        scopes = self._scopes
        wrapper: tuple[int, int] | None = None
        last: tuple[int, int] | None = None
        for start, negative_end, _, role, node, captures in matches:
            while scopes and scopes[-1].end <= start:
                scopes.pop()
            self._names.move_to(start)
            if role == "call":
                self._add_call(node, start, -negative_end)
            elif role == "invocation":
                self._add_invocation(node)
            elif role == "macro_call":
                self._add_macro_call(node, captures["a"][0])
            elif role == "import" or role == "alias":
                self._add_import(role, start, -negative_end)
            elif role == "wrapper":
                if wrapper is None or wrapper[1] < -negative_end:  # nested templates start at the outermost one
                    wrapper = (self._line(start), -negative_end)
            elif role not in _DECLARATIONS:
                self.hints.collect(role, start, captures)
                while self.hints.fixtures:
                    self._add_reference("fixture", *self.hints.fixtures.pop(), None)
            elif (start, negative_end) != last:  # two patterns can match the same node
                last = (start, negative_end)
                line = self._line(start)
                if wrapper is not None and -negative_end <= wrapper[1]:
                    line = wrapper[0]
                wrapper = None
                self._declare(role, node, captures, line)

    def _declare(self, role: Role, node: Node, captures: Mapping[str, list[Node]], line: int) -> None:
        named = captures["n"][0] if "n" in captures else node.child_by_field_name("name")
        if named is None or len(self._scopes) >= _MAX_DEPTH:
            return
        parts = _declared_parts(self._source_text(named.start_byte, named.end_byte), role)
        if not parts:
            return
        if "o" in captures:
            owner = captures["o"][0]
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
        if role != "space":
            self._names.enter(node.end_byte, "function" if role in ("function", "method") else "class", qualified)

    def _id(self, qualified: str) -> str:
        symbol_id = f"{self._path}::{qualified}"
        count = self._ids.get(symbol_id, 0) + 1
        self._ids[symbol_id] = count
        return symbol_id if count == 1 else f"{symbol_id}#{count}"

    def _add_import(self, role: Role, start: int, end: int) -> None:
        text = self._source_text(start, end)
        if role == "import":
            for name in self._import_names(text, self._path):
                self._add("import", name, start, None)
        for name, origin in self._imported(text, self._path):
            self.hints.add_import(name, origin)

    def _add_call(self, callee: Node, start: int, end: int) -> None:
        begin = max(start, end - _MAX_CALLEE_BYTES)
        text = self._source_text(begin, end)
        name = _called_name(text, is_whole=begin == start)
        if name is None or name in _NOT_CALLED:
            return
        qualifier, _, last = name.rpartition(".")
        if qualifier or text.isidentifier():
            self._add_named_call(name, qualifier, start)
        else:
            expression = self._names.inline(self.hints.expression(callee))
            receiver, dot, called = expression.rpartition(".")
            is_known = "|" not in expression and called == last
            self._add_reference("call", name, start, receiver if dot and is_known else None if is_known else UNKNOWN)

    def _add_named_call(self, name: str, qualifier: str, start: int) -> None:
        """Add a call of a dotted name. Local names in it are replaced."""
        head, dot, rest = qualifier.partition(".") if qualifier else (name, "", "")
        found = self._names.find(head)
        if found is None:
            self._add_reference("call", name, start, None)
            return
        expression = join(found, dot + rest) or UNKNOWN
        if qualifier:
            self._add_reference("call", name, start, expression)
            return
        receiver, _, called = expression.rpartition(".")
        if expression == name or (
            called.isidentifier() and "|" not in expression
        ):  # else the variable is not a function
            self._add_reference("call", called, start, receiver or None)

    def _add_invocation(self, node: Node) -> None:
        called, receiver = node.child_by_field_name("name"), node.child_by_field_name("object")
        if called is None:
            return
        start, end = node.start_byte, called.end_byte
        begin = max(start, end - _MAX_CALLEE_BYTES)
        name = _called_name(self._source_text(begin, end), is_whole=begin == start)
        if name is not None and name not in _NOT_CALLED:
            inlined = self._names.inline(self.hints.expression(receiver)) or UNKNOWN if receiver is not None else None
            self._add_reference("call", name, start, None if inlined == name.rpartition(".")[0] else inlined)

    def _add_macro_call(self, named: Node, arguments: Node) -> None:
        """Add a call in the arguments of a macro. They are not parsed: a name right before a parenthesis is a call."""
        start, end = named.start_byte, named.end_byte
        if arguments.start_byte != end or self._data[end : end + 1] != b"(":
            return
        before = self._source_text(max(0, start - _MAX_CALLEE_BYTES), start)
        found = _CHAIN_REVERSED.match(before[::-1])
        chain = found.group()[::-1] if found else ""
        qualifier = SEPARATOR.sub(".", chain).removesuffix(".")
        name = self._source_text(start, end)
        if before.removesuffix(chain).endswith((".", ":")):
            self._add_reference("call", name, start, UNKNOWN)
        else:
            self._add_named_call(f"{qualifier}.{name}" if qualifier else name, qualifier, start)

    def _add(self, kind: ReferenceKind, name: str, offset: int, source: str | None) -> None:
        self._add_reference(kind, name, offset, None, source)

    def _add_reference(
        self, kind: ReferenceKind, name: str, offset: int, receiver: str | None, source: str | None = None
    ) -> None:
        if kind in _IN_SYMBOLS and self._scopes:
            source = self._scopes[-1].symbol_id
        key = (kind, name, source, receiver)
        if key not in self._seen:
            self._seen.add(key)
            self.references.append(Reference(kind, name, self._line(offset), source, receiver))

    def _line(self, offset: int) -> int:
        return bisect_left(self._newlines, offset) + 1


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
        if DOTTED.fullmatch(joined):
            return SEPARATOR.sub(".", joined) if "::" in joined or ">" in joined or "?" in joined else joined
    name = _last_name(text)
    before = text.removesuffix(name)
    return name if name and (not before or before[-1] in ".>:?! \n\t") else None


def _last_name(text: str) -> str:
    """The name at the end of a text, or an empty string."""
    last = _NOT_NAME.split(text)[-1]
    start = _NAME_START.search(last)
    return last[start.start() :] if start else ""
