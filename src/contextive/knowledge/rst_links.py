"""References in a reStructuredText document: directives and roles that name files or symbols, links, and literals."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from contextive.knowledge.symbol import ReferenceKind

Found = tuple[ReferenceKind, str, int]
"""The kind of a reference, its name and its offset."""

_LITERAL = re.compile(r"(?<!`)``([^`\n]{3,200})``(?!`)")
_ROLE = re.compile(r":(?:[a-z]{1,20}:)?([a-z]{2,20}):`([^`\n]{1,300})`")
_DIRECTIVE = re.compile(
    r"^[ \t]{0,20}\.\.[ \t]{1,4}(?:[a-z]{1,20}:)?([a-z]{2,30})::[ \t]*([^\s(]{0,300})", re.MULTILINE
)
_LINK = re.compile(r"`[^`<\n]{0,300}<([^<>`\s]{1,300})>`_")
_DEFINED = re.compile(r"^[ \t]{0,20}\.\.[ \t]{1,4}_[^:\n]{1,200}:[ \t]+(\S{1,300})", re.MULTILINE)
_TOCTREE = re.compile(r"^([ \t]{0,20})\.\.[ \t]{1,4}toctree::[^\n]*\n", re.MULTILINE)
_TITLED = re.compile(r"[^<]{0,300}<([^<>]{1,300})>\Z")
_INCLUDES = frozenset({"include", "literalinclude"})
_SYMBOL_ROLES = frozenset({"attr", "class", "data", "exc", "func", "meth", "obj"})
_SYMBOL_DIRECTIVES = frozenset(
    {"autoclass", "autodata", "autoexception", "autofunction", "automethod", "class", "exception", "function", "method"}
)
_DOCUMENT_SUFFIXES = (".rst", ".md", ".txt")


def rst_references(path: str, text: str) -> Iterator[Found]:
    """Links as paths from the root of the project, and mentions as written. A document may be named without suffix."""
    folder = posixpath.dirname(path)
    for found in _TOCTREE.finditer(text):
        for entry, offset in _entries(text, found.end(), len(found[1])):
            yield from (("link", name, offset) for name in _documents(folder, entry))
    for found in _DIRECTIVE.finditer(text):
        if found[1] in _INCLUDES and found[2]:
            yield "link", posixpath.join(folder, found[2].lstrip("/")), found.start()
        elif found[1] in _SYMBOL_DIRECTIVES and found[2]:
            yield "mention", found[2], found.start()
    for found in _ROLE.finditer(text):
        titled = _TITLED.match(found[2])
        target = titled[1] if titled else found[2]
        if found[1] == "doc":
            yield from (("link", name, found.start()) for name in _documents(folder, target))
        elif found[1] in _SYMBOL_ROLES:
            yield "mention", target.lstrip("~!.").removesuffix("()"), found.start()
    for pattern in (_LINK, _DEFINED):
        for found in pattern.finditer(text):
            if "//" not in found[1]:
                yield "link", posixpath.join(folder, found[1].partition("#")[0]), found.start()


def rst_literals(text: str) -> Iterator[tuple[str, int]]:
    """The inline literals of a document and their offsets."""
    return ((found[1], found.start()) for found in _LITERAL.finditer(text))


def _entries(text: str, start: int, indent: int) -> Iterator[tuple[str, int]]:
    """The entries of a table of contents: the indented lines after its directive, without options."""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        entry = line.strip()
        if entry and len(line) - len(line.lstrip()) <= indent:
            return
        if entry and not entry.startswith(":"):
            titled = _TITLED.match(entry[:600])
            yield titled[1] if titled else entry, start
        start = end + 1


def _documents(folder: str, target: str) -> Iterator[str]:
    """The paths that the name of a document may stand for. An absolute one starts at the top of the documents."""
    top = folder.partition("/")[0]
    name = posixpath.join(top, target.lstrip("/")) if target.startswith("/") else posixpath.join(folder, target)
    yield name
    if not name.endswith(_DOCUMENT_SUFFIXES):
        yield from (name + suffix for suffix in _DOCUMENT_SUFFIXES)
