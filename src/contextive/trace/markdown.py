"""Sections of Markdown documents: every CommonMark heading, also in lists and block quotes, with an optional `{#id}`.

Only block structure and the inline structure of headings are parsed: requirements are matched against the raw lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache
from itertools import accumulate
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from contextive.trace.commonmark import block_parser
from contextive.trace.specification import Format, Section, Specification, SpecLine, slug, unique_section_id
from contextive.trace.text import WHITESPACE, SourceText, split_lines, trim

_MARKDOWN_LINE_END = re.compile(r"\r\n?|\n")
_ATTRIBUTES = re.compile(r"\{([^{}<>\\\n\r]*)\}[ \t\r\n]*\Z")
_FORM_FEEDS = re.compile(r"(?<=^#)[\x0b\x0c]|(?<=^##)[\x0b\x0c]", re.MULTILINE)
"""White space only to duvet's block parser: after the `#` of a heading."""
_INLINE_MARKUP = re.compile(r"[\\`*_\[\]!<&\r\n]")
"""The characters at which inline markup begins or ends; a text without any of them is plain."""
_BRACKET_AND_TAB = re.compile(r"\][\t\x0b\x0c][ \t\x0b\x0c]*\Z")
_ASCII_SPACES = " \t\x0b\x0c"
_NOT_MARKDOWN_SPACES = "".join(sorted(set(WHITESPACE) - set(_ASCII_SPACES)))


##= docs/spec/trace.md#markdown-sections
##% The id of a Markdown section MUST be the one that its heading sets, or else the slug of its title; a duplicate
##% gets a number as a suffix.
def parse_markdown(text: str) -> Specification:
    """The sections of a Markdown document. Text before the first heading does not belong to any."""
    sections: dict[str, Section] = {}
    title: str | None = None
    duplicates: list[str] = []
    counters: dict[str, int] = {}
    for heading, body in _sections(_Document.parse(text)):
        section_title = heading.title.replace("\n", " ")
        if title is None and heading.level == 1:
            title = section_title
        section_id = heading.custom_id if heading.custom_id is not None else slug(heading.title)
        unique_id = unique_section_id(section_id, sections, counters)
        if unique_id != section_id:
            duplicates.append(section_id)
        sections[unique_id] = Section(unique_id, section_title, heading.title_start, heading.title, body, heading.level)
    ordered = tuple(sections.values())
    return Specification(SourceText(text), Format.MARKDOWN, title, ordered, tuple(dict.fromkeys(duplicates)))


class _Document:
    """A text with two ways to count lines: a lone CR ends a line in Markdown, but not in a specification."""

    __slots__ = ("_markdown_starts", "_starts", "environment", "lines", "text")

    def __init__(self, text: str, lines: list[SpecLine], markdown_starts: list[int], starts: list[int]) -> None:
        self.text = text
        self.lines = lines
        self._markdown_starts = markdown_starts
        self._starts = starts
        self.environment: dict[str, Any] = {}
        """The parser's environment, with the link definitions that it found."""

    @staticmethod
    def parse(text: str) -> _Document:
        if "\r" in text:
            starts, contents = split_lines(text)
            markdown_starts = [0, *(end.end() for end in _MARKDOWN_LINE_END.finditer(text))]
        else:
            contents = text.split("\n")
            markdown_starts = list(accumulate([len(content) + 1 for content in contents[:-1]], initial=0))
            if not contents[-1]:
                contents.pop()
            starts = markdown_starts[: len(contents)]
        return _Document(text, list(map(SpecLine, starts, contents)), markdown_starts, starts)

    def markdown_line(self, number: int) -> tuple[int, str]:
        """Start and text of a line, by its number in Markdown."""
        start = self._markdown_starts[number]
        end = self._markdown_starts[number + 1] if number + 1 < len(self._markdown_starts) else len(self.text)
        return start, self.text[start:end].rstrip("\r\n")

    def ends_with_crlf(self, number: int) -> bool:
        """Whether a line of code ends with CRLF. duvet then reads the LF as a separate piece, on the next line."""
        start, line = self.markdown_line(number)
        return self.text.startswith("\r\n", start + len(line))

    def line_at(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def line_of_piece(self, offset: int) -> int:
        """The line of something that starts at an offset. The end of a line counts as the next line."""
        line = self.line_at(offset)
        return line if offset < self.lines[line].end else line + 1

    def line_of(self, markdown_line: int) -> int:
        if markdown_line >= len(self._markdown_starts) or self._markdown_starts[markdown_line] >= len(self.text):
            return len(self.lines)
        return self.line_at(self._markdown_starts[markdown_line])


def _replace_form_feeds(text: str) -> str:
    return _FORM_FEEDS.sub(" ", text) if "\x0b" in text or "\x0c" in text else text


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    title_start: int
    title: str
    custom_id: str | None
    last_line: int
    """The last line with its text."""
    end_line: int
    """The first line after it."""


class _EventKind(Enum):
    HEADING = auto()
    ITEM = auto()
    ITEM_END = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class _Event:
    """A piece of block structure, and the line where duvet notices it."""

    kind: _EventKind
    line: int = 0
    heading: _Heading | None = None


class _Body:
    """Collects the lines of a section, without empty lines at either end or two separators in a row."""

    __slots__ = ("lines",)

    def __init__(self, lines: list[SpecLine | None] | None = None) -> None:
        self.lines = lines or []

    def add(self, line: SpecLine) -> None:
        if self.lines or trim(line.text):
            self.lines.append(line)

    def separate(self) -> None:
        if self.lines and self.lines[-1] is not None:
            self.lines.append(None)

    def close(self) -> tuple[SpecLine | None, ...]:
        while self.lines and ((last := self.lines[-1]) is None or not trim(last.text)):
            self.lines.pop()
        return tuple(self.lines)


##= docs/spec/trace.md#markdown-sections
##% Every heading of a Markdown specification outside code MUST start a section.
def _sections(document: _Document) -> Iterator[tuple[_Heading, tuple[SpecLine | None, ...]]]:
    """Headings with the lines below them. A list item is separated before its first and after its last line."""
    events = list(_events(document))
    position = line = 0
    heading: _Heading | None = None
    body = _Body()
    while line < len(document.lines):
        ends_item = False
        found: _Heading | None = None
        while position < len(events) and events[position].line <= line and found is None:
            event = events[position]
            position += 1
            if event.kind is _EventKind.ITEM:
                body.separate()
            if event.kind in (_EventKind.ITEM, _EventKind.ITEM_END):
                ends_item = event.kind is _EventKind.ITEM_END
            found = event.heading
        if found is not None:
            if ends_item and found.last_line > line:
                body.separate()
                for between in document.lines[line + 1 : found.last_line]:
                    body.add(between)
                found = _cut_heading(document, found)
            if heading is not None:
                yield heading, body.close()
            heading, body = found, _Body()
            line = found.end_line
            continue
        body.add(document.lines[line])
        line += 1
        if ends_item:
            body.separate()
    if heading is not None:
        yield heading, body.close()


def _cut_heading(document: _Document, heading: _Heading) -> _Heading:
    """The last line of a heading: what duvet keeps if a heading of several lines starts where a list item ends."""
    line = document.lines[heading.last_line]
    return replace(heading, title_start=line.start, title=line.text, custom_id=None)


def _events(document: _Document) -> Iterator[_Event]:
    depth = 0
    tokens = block_parser().parse(_replace_form_feeds(document.text), document.environment)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            assert token.map is not None
            underlined = None if token.markup.startswith("#") else tokens[index + 1].content
            heading = _heading(document, (token.map[0], token.map[1]), int(token.tag[1:]), underlined)
            yield _Event(_EventKind.HEADING, _first_line(document, token), heading)
        elif token.type == "list_item_open":
            depth += 1
            yield _Event(_EventKind.ITEM, _first_line(document, token))
        elif token.type == "list_item_close":
            depth -= 1
            yield _Event(_EventKind.ITEM_END)
        elif depth and token.map is not None and token.type != "inline":
            inline = tokens[index + 1] if token.type == "paragraph_open" else None
            yield _Event(_EventKind.OTHER, _last_piece_line(document, token, inline))


def _first_line(document: _Document, token: Token) -> int:
    assert token.map is not None
    return document.line_of(token.map[0])


def _last_piece_line(document: _Document, token: Token, inline: Token | None) -> int:
    """The line where the last piece of a block starts."""
    assert token.map is not None
    first, end = token.map
    if inline is not None:
        # A code span or a tag of several lines counts as being on its first line.
        return document.line_of(end - 1 - _lines_of_last_piece(inline.content, document.environment))
    if token.type == "fence":
        return _last_line_of_fence(document, token)
    if token.type in ("code_block", "html_block"):
        last = end - 1
        while last > first and not trim(document.markdown_line(last)[1]):
            last -= 1
        return document.line_of(last) + document.ends_with_crlf(last)
    return document.line_of(first)


def _last_line_of_fence(document: _Document, token: Token) -> int:
    """The line of the last piece of code: a line whose indent is removed starts a new piece, others continue it."""
    assert token.map is not None
    seen = document.line_of(token.map[0])
    continues = False
    code_lines = token.content.split("\n")
    for number, code in enumerate(code_lines if code_lines[-1] else code_lines[:-1], token.map[0] + 1):
        start, line = document.markdown_line(number)
        cut = len(line) - len(code)
        if cut > 0 or not continues:
            seen = max(seen, document.line_of_piece(start + max(cut, 0)))
        if document.ends_with_crlf(number):
            seen = document.line_of(number) + 1
        continues = True
    return seen


@cache
def _inline_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    # Keep escapes and `&names;` separate from the text around them.
    parser.core.ruler.disable("text_join")
    return parser


def _inline(content: str, environment: dict[str, Any]) -> list[Token]:
    return _inline_parser().parseInline(content, dict(environment))[0].children or []


def _lines_of_last_piece(content: str, environment: dict[str, Any]) -> int:
    """How many line ends are inside the last code span or tag of a paragraph."""
    if "\n" not in content or not content.rstrip().endswith(("`", ">")):
        return 0
    last = _inline(content, environment)[-1]
    if last.type == "html_inline":
        return last.content.count("\n")
    if last.type != "code_inline":
        return 0
    span = content.rstrip().removesuffix(last.markup)
    return span[span.rfind(last.markup) :].count("\n")


def _heading(document: _Document, lines: tuple[int, int], level: int, underlined: str | None = None) -> _Heading:
    """The heading on some Markdown lines. `underlined` is the text of a heading without number signs."""
    first, end = lines
    end_line = document.line_of(end)
    if underlined is None:
        start, content, custom_id = _atx_content(document, first, level)
        if content and not _INLINE_MARKUP.search(content):
            return _Heading(level, start, content, custom_id, document.line_of(first), max(end_line, 1))
        pieces = [(start, content)] if content else []
    else:
        pieces, custom_id = _setext_content(document, first, underlined)
    content = "\n".join(piece for _, piece in pieces)
    # `[name]` before a tab at the end is not a link, even if the name is defined.
    environment = {} if _BRACKET_AND_TAB.search(content) else document.environment
    bounds = _title_bounds(content, environment)
    if bounds is None and content.endswith("`") and _is_closed(document.text, _offset(pieces, len(content))):
        bounds = len(content), len(content)  # closing number signs leave an empty text after a code span
    if bounds is None:
        # Nothing but markup: the whole lines are the title.
        line, last = document.line_at(document.markdown_line(first)[0]), max(len(pieces), 1) - 1
        title_start = document.lines[line].start
        title_end = document.lines[min(line + last, len(document.lines) - 1)].end
    else:
        title_start, title_end = (_offset(pieces, offset) for offset in bounds)
    last_line = document.line_of(first + max(len(pieces), 1) - 1)
    return _Heading(level, title_start, document.text[title_start:title_end], custom_id, last_line, max(end_line, 1))


def _atx_content(document: _Document, number: int, level: int) -> tuple[int, str, str | None]:
    """Start and text of what is between `##` and the closing `##`, and the id after it."""
    line_start, line = document.markdown_line(number)
    after_mark = line[line.index("#") + level :]
    content = after_mark.lstrip(_ASCII_SPACES)
    start = line_start + len(line) - len(content)
    content, custom_id = _split_attributes(content)
    content = content.rstrip(" ")
    unclosed = content.rstrip("#")
    if not unclosed:
        content = ""
    elif unclosed.endswith(" "):
        content = unclosed.rstrip(" ")
    return start, content, custom_id


def _is_closed(text: str, end: int) -> bool:
    """Whether closing `##` follow the content of a heading."""
    return text[end : text.find("\n", end)].lstrip(" ").startswith("#")


def _setext_content(document: _Document, first: int, content: str) -> tuple[list[tuple[int, str]], str | None]:
    """Start and text of each line of an underlined heading, and the id after the last one."""
    pieces = []
    for number, piece in enumerate(content.split("\n"), first):
        line_start, line = document.markdown_line(number)
        # The parser strips more characters than Markdown's white space.
        start = len(line[: max(line.find(trim(piece)), 0)].rstrip(_NOT_MARKDOWN_SPACES))
        pieces.append((line_start + start, line[start:]))
    joined, custom_id = _split_attributes("\n".join(piece for _, piece in pieces))
    texts = joined.rstrip(_ASCII_SPACES).split("\n")
    return [(start, text) for (start, _), text in zip(pieces, texts, strict=False)], custom_id


def _split_attributes(content: str) -> tuple[str, str | None]:
    found = _ATTRIBUTES.search(content) if "}" in content else None
    if found is None:
        return content, None
    ids = [word[1:] for word in re.split(r"[ \t\n\r\x0c]+", found.group(1)) if word.startswith("#") and len(word) > 1]
    return content[: found.start()], ids[-1] if ids else None


def _offset(pieces: list[tuple[int, str]], position: int) -> int:
    """The offset in the document of a position in the joined pieces."""
    for start, piece in pieces:
        if position <= len(piece):
            return start + position
        position -= len(piece) + 1
    start, piece = pieces[-1]
    return start + len(piece)


def _title_bounds(content: str, environment: dict[str, Any]) -> tuple[int, int] | None:
    """Start and end of a title: from the first plain text, after any markup, to the end, without a final `&name;`."""
    if content and not _INLINE_MARKUP.search(content):
        return 0, len(content)
    text = content.rstrip(_ASCII_SPACES)
    # White space after a code span at the end does not count as text.
    children = _inline(text if text.endswith("`") else content, environment)
    start = _text_start(content, children, 0)
    if start is None:
        return None
    end = len(content)
    for child in reversed(children):
        if child.type != "text_special" or child.info != "entity":
            break
        end -= len(child.markup)
    return start, end


def _text_start(content: str, children: list[Token], position: int) -> int | None:
    for child in children:
        match child.type:
            case "text" if child.content:
                return position
            case "text_special" if child.info == "escape":
                return position + 1
            case "text_special":
                position += len(child.markup)
            case "code_inline":
                closing = content.find(child.markup, position + len(child.markup) + len(child.content))
                position = closing + len(child.markup)
            case "html_inline":
                position += len(child.content)
            case "image":
                inner = _text_start(content, child.children or [], position + 2)
                if inner is not None:
                    return inner
                position = _after_link(content, position + 2)
            case "link_open":
                position += 1
            case "link_close":
                position = _after_link(content, position)
            case "softbreak" | "hardbreak":
                position = content.index("\n", position) + 1
            case _:
                position += len(child.markup)
    return None


_LINK_TAIL = re.compile(r">|\]\([^)]*\)|\]\[[^\]]*\]|\]")


def _after_link(content: str, position: int) -> int:
    """The end of a link whose text ends at or after a position."""
    found = _LINK_TAIL.search(content, position)
    return found.end() if found else position
