"""What a source file declares and uses: symbols, imports, calls, and what a test mentions.

One query finds everything that matters in the syntax tree, and one sweep over the findings, in the order of their places, puts
each declaration under the one around it. Nothing here goes down the tree by itself, so no nesting is too deep.

Lines are counted from byte offsets and never asked of a node: in tree-sitter 0.26.0 every point that a node gives away takes a
reference too many with it, and the process dies some thousands of nodes later.
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
"""References that are kept of one file; those that stand first."""
_MAX_CHARACTERS = 400_000
_MAX_AVERAGE_LINE = 400
"""On average. Longer lines are generated or minified, and their names help nobody."""
_MAX_DEPTH = 50
"""Declarations inside each other that have names of their own. Names grow with depth, and a file's with its square."""
_MAX_CALLEE_BYTES = 160
"""Bytes at the end of a called expression that are looked at. A chain of calls can be as long as the file."""

_DOTTED = re.compile(r"[A-Za-z_$@][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$~#][\w$]*)*")
_NO_NAME = re.compile(r"[^\w$]+")
_NAME_START = re.compile(r"[A-Za-z_$]")
_SEPARATOR = re.compile(r"::|->|\?\.")
_NEWLINE = re.compile(b"\n")
_SPACE = re.compile(r"\s+")
_OWNER_TAIL = re.compile(r"\.prototype$|^(?:module\.)?exports$|^this$|^window$|^globalThis$")
_GENERIC = re.compile(r"<.*", re.DOTALL)
_OWNER = re.compile(r"[A-Za-z_$][\w$.]*")
_NOT_CALLED = frozenset({"require", "import", "super"})
"""Called in form only: the first two are imports, and the last one names nothing."""
_CONTAINERS = frozenset({"class", "interface", "type", "body"})


@dataclass(frozen=True, slots=True)
class ExtractedNames:
    """What a file declares, by line, and what it uses, by line."""

    symbols: tuple[Symbol, ...] = ()
    references: tuple[Reference, ...] = ()


def extract_names(path: str, text: str, language: str | None, artifact_type: ArtifactType) -> ExtractedNames:
    """The names of a file. A file that is neither code nor Markdown has none."""
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
    tools = language_parser(language)
    tree = tools.parser.parse(data)
    root = tree.root_node
    collector = _NameCollector(path, language, data, text if text.isascii() else None)
    collector.run(_sort_matches(tools.names.matches(root), tools.roles))
    references = collector.references
    if mentions:
        non_code = tools.non_code.captures(root).get("q", [])
        references += extract_mentions(data, [(node.start_byte, node.end_byte) for node in non_code])
    references.sort(key=lambda reference: reference.line)
    return ExtractedNames(tuple(collector.symbols), tuple(references[:MAX_REFERENCES]))


_SyntaxMatch = tuple[int, int, int, Role, "Node", "Node | None", "Node | None"]
"""Start, negative end and number, which sort an outer finding before what it holds; role; place, name and owner."""


def _sort_matches(matches: list[tuple[int, dict[str, list[Node]]]], roles: tuple[Role, ...]) -> list[_SyntaxMatch]:
    findings: list[_SyntaxMatch] = []
    add = findings.append
    for number, (pattern, captures) in enumerate(matches):
        role = roles[pattern]
        names = captures.get("n")
        name = names[0] if names else None
        places = captures.get("d")
        place = places[0] if places else cast("Node", name)
        owners = captures.get("o")
        add((place.start_byte, -place.end_byte, number, role, place, name, owners[0] if owners else None))
    findings.sort()
    return findings


@dataclass(slots=True)
class _Scope:
    end: int
    role: Role
    qualified_name: str
    symbol_id: str | None


class _NameCollector:
    """One pass over the findings of a file."""

    def __init__(self, path: str, language: str, data: bytes, ascii_text: str | None) -> None:
        self.symbols: list[Symbol] = []
        self.references: list[Reference] = []
        self._path = path
        self._language = language
        self._data = data
        self._text = ascii_text
        self._import_names: Callable[[str, str], tuple[str, ...]] = GRAMMARS[language].import_names
        self._ids: dict[str, int] = {}
        self._known: set[tuple[str, str, str | None]] = set()
        self._scopes: list[_Scope] = []
        self._newlines = [found.start() for found in _NEWLINE.finditer(data)]

    def run(self, findings: list[_SyntaxMatch]) -> None:
        scopes = self._scopes
        wrapper: tuple[int, int] | None = None
        last: tuple[int, int] | None = None
        for start, negative_end, _, role, place, name, owner in findings:
            while scopes and scopes[-1].end <= start:
                scopes.pop()
            if role == "call":
                self._add_call(start, -negative_end)
            elif role == "invocation":
                if (called := place.child_by_field_name("name")) is not None:
                    self._add_call(start, called.end_byte)
            elif role == "import":
                for imported in self._import_names(self._source_text(start, -negative_end), self._path):
                    self._add("import", imported, start, None)
            elif role == "wrapper":
                if wrapper is None or wrapper[1] < -negative_end:  # templates of templates start at the first
                    wrapper = (self._line(start), -negative_end)
            elif (start, negative_end) != last:  # two patterns can find one place
                last = (start, negative_end)
                line = self._line(start)
                if wrapper is not None and -negative_end <= wrapper[1]:
                    line = wrapper[0]
                wrapper = None
                self._declare(role, place, name, owner, line)

    def _declare(self, role: Role, place: Node, name: Node | None, owner: Node | None, line: int) -> None:
        named = name or place.child_by_field_name("name")
        if named is None or len(self._scopes) >= _MAX_DEPTH:
            return
        words = _declared_words(self._source_text(named.start_byte, named.end_byte), role)
        if not words:
            return
        if owner is not None:
            above = _OWNER.search(self._source_text(owner.start_byte, owner.end_byte))
            words = [*filter(None, _OWNER_TAIL.sub("", above.group() if above else "").split(".")), *words]
        around = self._scopes[-1] if self._scopes else None
        qualified = ".".join(([around.qualified_name] if around and around.qualified_name else []) + words)
        if role == "function" and (len(words) > 1 or (around is not None and around.role in _CONTAINERS)):
            role = "method"
        symbol_id = around.symbol_id if around else None
        if role not in ("space", "body"):
            symbol_id = self._id(qualified)
            line_end = self._line(max(place.start_byte, place.end_byte - 1))
            kind = cast("SymbolKind", role)
            self.symbols.append(Symbol(symbol_id, words[-1], qualified, kind, self._language, line, line_end))
        self._scopes.append(_Scope(place.end_byte, role, qualified, symbol_id))

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

    def _add(self, kind: ReferenceKind, name: str, place: int, source: str | None) -> None:
        key = (kind, name, source)
        if key not in self._known:
            self._known.add(key)
            self.references.append(Reference(kind, name, self._line(place), source))

    def _line(self, offset: int) -> int:
        return bisect_left(self._newlines, offset) + 1

    def _source_text(self, start: int, end: int) -> str:
        if self._text is not None:
            return self._text[start:end]
        return self._data[start:end].decode("utf-8", "replace")


def _declared_words(text: str, role: Role) -> list[str]:
    """The words of a declared name: `Foo::bar` are two, `impl Foo<T>` is one."""
    if text.isidentifier():
        return [text]
    if role == "body":
        text = _GENERIC.sub("", text).rpartition("::")[2].lstrip("&'* ")
        return [name] if (name := _last_name(text.strip())) else []
    if "operator" in text:
        head, _, tail = text.partition("operator")
        return [*_words(head), "operator" + _SPACE.sub("", tail)]
    return _words(text)


def _words(text: str) -> list[str]:
    text = re.sub(r"<[^<>]*>", "", text) if "<" in text else text
    return [word for word in re.split(r"::|\.|\s+", text) if word]


def _called_name(text: str, *, is_whole: bool) -> str | None:
    """The dotted name that is called, or its last word where something else than names leads to it."""
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
    """The name that a text ends with; empty where it ends with something else."""
    last = _NO_NAME.split(text)[-1]
    start = _NAME_START.search(last)
    return last[start.start() :] if start else ""
