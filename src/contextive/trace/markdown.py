"""Markdown as sections: CommonMark's headings, wherever they stand, with optional `{#ids}`.

Only block structure is parsed, and the inline structure of headings: requirements are matched against the raw lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from contextive.trace.specification import Format, Section, Specification, SpecLine, slug
from contextive.trace.text import SourceText, iter_lines, trim

_ATTRIBUTES = re.compile(r"[ \t]*\{([^{}\n]*)\}[ \t]*\Z")
_LONE_CARRIAGE_RETURN = re.compile(r"\r(?!\n)")


def parse_markdown(text: str) -> Specification:
    """The sections of a Markdown document. Text before the first heading belongs to none."""
    lines = [SpecLine(start, line) for start, line in iter_lines(text)]
    tokens = _block_parser().parse(_LONE_CARRIAGE_RETURN.sub(" ", text))
    headings = _headings(tokens, lines)
    breaks = _item_borders(tokens, lines)
    sections: dict[str, Section] = {}
    title: str | None = None
    duplicates: list[str] = []
    ends = [heading.first_line for heading in headings[1:]] + [len(lines)]
    for heading, end in zip(headings, ends, strict=True):
        shown = heading.title.replace("\n", " ")
        if title is None and heading.level == 1:
            title = shown
        section_id = heading.custom_id if heading.custom_id is not None else slug(heading.title)
        unique = _unique(section_id, sections)
        if unique != section_id:
            duplicates.append(section_id)
        body = _body(lines, breaks, heading.end_line, end)
        sections[unique] = Section(unique, shown, heading.title_start, heading.title, body, heading.level)
    ordered = tuple(sections.values())
    return Specification(SourceText(text), Format.MARKDOWN, title, ordered, tuple(dict.fromkeys(duplicates)))


@cache
def _block_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


@dataclass(frozen=True, slots=True)
class _Heading:
    first_line: int
    end_line: int
    level: int
    title: str
    title_start: int
    custom_id: str | None


def _headings(tokens: list[Token], lines: list[SpecLine]) -> list[_Heading]:
    found = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.map is not None:
            first, end = token.map[0], min(token.map[1], len(lines))
            found.append(_heading(first, end, int(token.tag[1:]), inline.content, lines))
    return found


def _heading(first: int, end: int, level: int, content: str, lines: list[SpecLine]) -> _Heading:
    attributes = _ATTRIBUTES.search(content)
    custom_id: str | None = None
    if attributes is not None:
        ids = [word[1:] for word in attributes.group(1).split() if word.startswith("#") and len(word) > 1]
        custom_id = ids[-1] if ids else None
        content = content[: attributes.start()]
    content_lines = content.split("\n") if content else []
    start = _text_start(content)
    if start is None:
        # Nothing but markup: the whole line stands in for the title.
        line = lines[first]
        return _Heading(first, end, level, line.text, line.start, custom_id)
    skipped_lines = content.count("\n", 0, start)
    column = start - (content.rfind("\n", 0, start) + 1)
    first_piece, last_piece = content_lines[skipped_lines], content_lines[-1]
    opening, closing = lines[first + skipped_lines], lines[first + len(content_lines) - 1]
    title_start = opening.start + max(opening.text.find(first_piece), 0) + column
    title_end = closing.start + closing.text.rfind(last_piece) + len(last_piece)
    raw = "\n".join(line.text for line in lines[first + skipped_lines : first + len(content_lines)])
    offset = title_start - opening.start
    length = title_end - title_start
    return _Heading(first, end, level, raw[offset : offset + length], title_start, custom_id)


def _text_start(content: str) -> int | None:
    """Where the first plain text of a heading begins, after any markup in front of it."""
    position = 0
    children = _inline_parser().parseInline(content)[0].children or []
    for child in children:
        match child.type:
            case "text" if child.content:
                found = content.find(child.content, position)
                return found if found >= 0 else position
            case "text_special":
                return position + 1
            case "code_inline":
                closing = content.find(child.markup, position + len(child.markup) + len(child.content))
                position = closing + len(child.markup) if closing >= 0 else position
            case "image":
                return position + 2 if child.content else None
            case "link_open" | "html_inline":
                position += len(child.content) or 1
            case _:
                position += len(child.markup)
    return None


def _item_borders(tokens: list[Token], lines: list[SpecLine]) -> tuple[set[int], set[int]]:
    """The lines before which and after which a list item's border runs."""
    before: set[int] = set()
    after: set[int] = set()
    open_items: list[int] = []
    last_line: list[int] = []
    for token in tokens:
        if token.type == "list_item_open" and token.map is not None:
            before.add(token.map[0])
            open_items.append(token.map[0])
            last_line.append(token.map[0])
        elif token.type == "list_item_close" and open_items:
            open_items.pop()
            end = last_line.pop()
            after.add(end)
            if last_line:
                last_line[-1] = max(last_line[-1], end)
        elif open_items and token.map is not None and token.nesting >= 0 and not token.type.endswith("list_open"):
            last_line[-1] = max(last_line[-1], _last_text_line(token, lines))
    return before, after


def _last_text_line(token: Token, lines: list[SpecLine]) -> int:
    assert token.map is not None
    first, end = token.map[0], min(token.map[1], len(lines))
    if token.type == "fence":
        return first + len(token.content.splitlines())
    last = end - 1
    while last > first and not trim(lines[last].text):
        last -= 1
    return last


def _body(
    lines: list[SpecLine], breaks: tuple[set[int], set[int]], first: int, end: int
) -> tuple[SpecLine | None, ...]:
    before, after = breaks
    body: list[SpecLine | None] = []

    def separate() -> None:
        if body and body[-1] is not None:
            body.append(None)

    for index in range(first, end):
        if index in before:
            separate()
        if body or trim(lines[index].text):
            body.append(lines[index])
        if index in after:
            separate()
    while body and (body[-1] is None or not trim(body[-1].text)):
        body.pop()
    return tuple(body)


def _unique(section_id: str, taken: dict[str, Section]) -> str:
    if section_id not in taken:
        return section_id
    counter = 1
    while f"{section_id}-{counter}" in taken:
        counter += 1
    return f"{section_id}-{counter}"
