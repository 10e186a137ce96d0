"""References in a Markdown document: links to files, and code spans that name a file or a symbol."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from itertools import accumulate
from urllib.parse import unquote

from contextive.knowledge.languages import suffix_of
from contextive.knowledge.symbol import Reference, ReferenceKind

_MARKDOWN = frozenset({"md", "markdown", "mdx"})
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*+\n(?:.*?^ {0,3}\1[`~]*[ \t]*$|.*\Z)", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]{3,200})(?<!`)\1(?!`)")
_INLINE = re.compile(
    r"(!?)\[(?:[^\[\]\n]|\[[^\[\]\n]*+\](?:\([^()\s]*+\))?+){0,300}+\]\(\s*+(?:<([^<>\n]++)>|([^\s()<>]++))"
)
_DEFINED = re.compile(r"^ {0,3}\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]*(?:<([^<>\n]+)>|(\S+))", re.MULTILINE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FILE = re.compile(r"(?:\.{0,2}/)?(?:[\w@.+-]+/)*[\w@.+-]*\w\.[A-Za-z][A-Za-z0-9]{0,9}")
_FOLDERS = re.compile(r"(?:[\w@.+-]+/){1,20}[\w@.+-]*")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)+")
_LINE_SUFFIX = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")
_CALL = re.compile(r"\([^()]*\)$")


def is_markdown(path: str) -> bool:
    """Whether a path has the suffix of a Markdown document."""
    return suffix_of(path) in _MARKDOWN


def extract_document_references(path: str, text: str) -> tuple[Reference, ...]:
    """Links as paths from the root of the project, and mentions as written, without duplicates, by line.

    Images and links to other hosts, within the document, or out of the project are left out.
    """
    text = text.replace("\r\n", "\n")
    if "](" not in text and "`" not in text and "]:" not in text:
        return ()
    code = text
    if "```" in text or "~~~" in text:
        code = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence.group()), text)
    starts = [0, *accumulate(len(line) + 1 for line in code.split("\n"))]
    found: dict[tuple[ReferenceKind, str], int] = {}

    def add(kind: ReferenceKind, name: str | None, offset: int) -> None:
        if name:
            line = bisect_right(starts, offset)
            key = (kind, name)
            if found.get(key, line) >= line:
                found[key] = line

    prose = code
    if "`" in code:
        for span in _SPAN.finditer(code):
            add("mention", _mention_target(span.group(2)), span.start())
        prose = _SPAN.sub(lambda span: "x" * len(span.group()), code)
    for link in _INLINE.finditer(prose) if "](" in prose else ():
        if not link.group(1):
            add("link", _link_target(path, link.group(2) or link.group(3)), link.start())
    for link in _DEFINED.finditer(prose) if "]:" in prose else ():
        add("link", _link_target(path, link.group(1) or link.group(2)), link.start())
    ordered = sorted(found.items(), key=lambda item: (item[1], item[0]))
    return tuple(Reference(kind, name, line) for (kind, name), line in ordered)


def _link_target(path: str, target: str) -> str | None:
    """The target as a path from the root of the project."""
    target = target.partition("#")[0].partition("?")[0]
    if not target or _SCHEME.match(target) or target.startswith("//"):
        return None
    target = unquote(target) if "%" in target else target
    return _inside_project(target if target.startswith("/") else posixpath.join(posixpath.dirname(path), target))


def _inside_project(path: str) -> str | None:
    normal = posixpath.normpath(path.lstrip("/"))
    return None if normal in (".", "..") or normal.startswith("../") else normal


def _mention_target(text: str) -> str | None:
    """The file or the dotted name in a code span, or None."""
    text = _LINE_SUFFIX.sub("", text.strip())
    bare = _CALL.sub("", text)
    if "/" not in bare and _SYMBOL.fullmatch(bare):
        return re.sub("::|#", ".", bare)
    if _FILE.fullmatch(text) or _FOLDERS.fullmatch(text):
        return text.removeprefix("./")
    return None
