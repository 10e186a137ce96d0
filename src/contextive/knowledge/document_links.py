"""References in documents and settings: links to files, and code spans that name a file or a symbol."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from contextive.knowledge.languages import suffix_of
from contextive.knowledge.rst_links import Found, rst_literals, rst_references
from contextive.knowledge.symbol import Reference, ReferenceKind

_MARKDOWN = frozenset({"md", "markdown", "mdx"})
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*+\n(?:.*?^ {0,3}\1[`~]*[ \t]*$|.*\Z)", re.MULTILINE | re.DOTALL)
_NEWLINE = re.compile("\n")
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]{3,200})(?<!`)\1(?!`)")
_INLINE = re.compile(
    r"(!?)\[(?:[^\[\]\n]|\[[^\[\]\n]*+\](?:\([^()\s]*+\))?+){0,300}+\]\(\s*+(?:<([^<>\n]++)>|([^\s()<>]++))"
)
_DEFINED = re.compile(r"^ {0,3}\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]*(?:<([^<>\n]+)>|(\S+))", re.MULTILINE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FILE = re.compile(r"(?:\.{0,2}/)?(?:[\w@.+-]+/)*[\w@.+-]*\w\.[A-Za-z][A-Za-z0-9]{0,9}")
_FOLDERS = re.compile(r"(?:[\w@.+-]+/){1,20}[\w@.+-]*")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)+")
_BARE_NAME = re.compile(r"[A-Z][a-z0-9]\w{2,80}|[A-Za-z]\w{0,80}(?:_|[a-z0-9][A-Z])\w{1,80}", re.ASCII)
"""A single word that is the name of a class or function in all likelihood: `Router`, `parse_url`, `parseUrl`."""
_DOCUMENT = re.compile(
    r"(?<![\w@/.-])(?:\.{0,2}/)?(?:[\w@.+-]{1,80}/){0,20}[\w@+-][\w@.+-]{0,80}\.(?:mdx?|rst|adoc)(?![\w/])"
)
_DOCS_DIRECTORY = re.compile(r"""^docs_dir:[ \t]*["']?([^\s"'#]{1,200})""", re.MULTILINE)
_PAGE_SUFFIXES = (".md", ".mdx", "/index.md", "/README.md")
_ASCIIDOC = frozenset({"adoc", "asciidoc"})
_ASCIIDOC_LINK = re.compile(r"\b(?:xref|link|include)::?([^\s\[\]]{1,300})\[")
_MIN_CALLED = 3
_FEW_WORDS = 5
_MAX_SETTINGS = 300_000
_LINE_SUFFIX = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")
_CALL = re.compile(r"\([^()]*\)$")


def is_markdown(path: str) -> bool:
    """Whether a path has the suffix of a Markdown document."""
    return suffix_of(path) in _MARKDOWN


def extract_document_references(path: str, text: str) -> tuple[Reference, ...]:
    """Links as paths from the root of the project, and mentions as written, without duplicates, by line.

    Images and links to other hosts, within the document, or out of the project are left out. A link without a suffix
    may lead to a page of a site, so it stands for several paths; those that do not exist are ignored later.
    """
    text = text.replace("\r\n", "\n")
    if is_markdown(path):
        found: Iterable[Found] = _markdown_references(path, text)
    elif suffix_of(path) == "rst":
        found = _rst_references(path, text)
    elif suffix_of(path) in _ASCIIDOC:
        found = _asciidoc_references(path, text)
    else:
        found = mentioned_documents(path, text)
    newlines: list[int] | None = None
    first: dict[tuple[ReferenceKind, str], int] = {}
    for kind, name, offset in found:
        newlines = newlines or [match.start() for match in _NEWLINE.finditer(text)]
        line = bisect_left(newlines, offset) + 1
        first[kind, name] = min(line, first.get((kind, name), line))
    ordered = sorted(first.items(), key=lambda item: (item[1], item[0]))
    return tuple(Reference(kind, name, line) for (kind, name), line in ordered)


def mentioned_documents(path: str, text: str) -> Iterator[Found]:
    """Documents that settings or code name by a path, relative to the project or to the file."""
    if len(text) > _MAX_SETTINGS or not any(suffix in text for suffix in (".md", ".rst", ".adoc")):
        return
    folder = posixpath.dirname(path)
    folders = [folder, ""] if folder else [""]
    if posixpath.basename(path).startswith("mkdocs."):
        directory = _DOCS_DIRECTORY.search(text)
        folders = [posixpath.join(folder, directory[1] if directory else "docs")]
    for found in _DOCUMENT.finditer(text):
        for base in folders:
            if name := _inside_project(posixpath.join(base, found[0])):
                yield "link", name, found.start()


def _rst_references(path: str, text: str) -> Iterator[Found]:
    for kind, name, offset in rst_references(path, text):
        if target := _inside_project(name) if kind == "link" else name:
            yield kind, target, offset
    yield from _mentions(rst_literals(text))


def _asciidoc_references(path: str, text: str) -> Iterator[Found]:
    for link in _ASCIIDOC_LINK.finditer(text):
        if target := _link_target(path, link[1]):
            yield "link", target, link.start()
    yield from _mentions((span[2], span.start()) for span in _SPAN.finditer(text))


def _mentions(spans: Iterable[tuple[str, int]]) -> Iterator[Found]:
    """The files and names in code spans. Of many single words, those that appear once are not what a text is about."""
    words: dict[str, list[int]] = {}
    for span, offset in spans:
        if target := _mention_target(span):
            if _BARE_NAME.fullmatch(target):
                words.setdefault(target, []).append(offset)
            else:
                yield "mention", target, offset
    for word, offsets in words.items():
        if len(words) <= _FEW_WORDS or len(offsets) > 1:
            yield "mention", word, offsets[0]


def _markdown_references(path: str, text: str) -> Iterator[Found]:
    if "](" not in text and "`" not in text and "]:" not in text:
        return
    code = text
    if "```" in text or "~~~" in text:
        code = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence.group()), text)
    prose = code
    if "`" in code:
        yield from _mentions((span.group(2), span.start()) for span in _SPAN.finditer(code))
        prose = _SPAN.sub(lambda span: "x" * len(span.group()), code)
    for link in _INLINE.finditer(prose) if "](" in prose else ():
        if not link.group(1):
            yield from _pages(_link_target(path, link.group(2) or link.group(3)), link.start())
    for link in _DEFINED.finditer(prose) if "]:" in prose else ():
        yield from _pages(_link_target(path, link.group(1) or link.group(2)), link.start())


def _pages(target: str | None, offset: int) -> Iterator[Found]:
    """A link, and the pages of a site that it may mean if it has no suffix."""
    if target:
        yield "link", target, offset
        if not suffix_of(target):
            yield from (("link", target + suffix, offset) for suffix in _PAGE_SUFFIXES)


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
    if "/" not in bare and (
        _BARE_NAME.fullmatch(bare) or (bare != text and len(bare) > _MIN_CALLED and bare.isidentifier())
    ):
        return bare
    if _FILE.fullmatch(text) or _FOLDERS.fullmatch(text):
        return text.removeprefix("./")
    return None
