"""Split Markdown into chunks at its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextive.knowledge.chunk import ChunkDraft
from contextive.knowledge.lines import TextLines
from contextive.knowledge.section_chunks import Heading, Outline, cut_sections, heading_text

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]++(.*))?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r"(?: {4}|\t| {0,3}(?:[-*+>|<]|\d{1,9}[.)][ \t]))")
_FRONT_TITLE = re.compile(r"title\s*+[:=]\s*+(.+)$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_ANCHOR = re.compile(r"\{#[^{}]*+\}\Z")
_MARKS = re.compile(r"[`*]+")
_TAG = re.compile(
    r"</?(?:a|b|br|center|code|div|em|font|h[1-6]|i|img|kbd|p|picture|source|span|strong|sub|sup)\b[^<>]*>",
    re.IGNORECASE,
)
_ALT = re.compile(r"\balt=[\"']([^\"'<>]*)")
_MAX_HEADING_LINES = 3
"""The limit of lines that an underline turns into a heading. A longer paragraph is prose before a rule."""


def cut_markdown(path: str, lines: TextLines) -> Iterator[ChunkDraft]:
    """One chunk for each section, several for a long one."""
    body, front_title = _front_matter(lines)
    headings, fenced = _outline(lines, body)
    return cut_sections(path, lines, Outline(headings, fenced, body, front_title))


def _front_matter(lines: TextLines) -> tuple[int, str]:
    """The line where the body starts, and the title in the front matter."""
    mark = lines.items[0].rstrip().removeprefix("\ufeff")
    if mark not in ("---", "+++"):
        return 0, ""
    title = ""
    for number, line in enumerate(lines.items[1:], start=1):
        if line.rstrip() == mark or (mark == "---" and line.rstrip() == "..."):
            return number + 1, title
        if not title and (found := _FRONT_TITLE.match(line)):
            title = found.group(1).rstrip().strip("'\"")
    return 0, ""


def _outline(lines: TextLines, body: int) -> tuple[list[Heading], bytearray]:
    """The headings, and for each line whether it continues a fenced block."""
    headings: list[Heading] = []
    items = lines.items
    fenced = bytearray(len(items) + 1)
    fence = ""
    comment = False
    paragraph = body
    """Where the paragraph starts that an underline would turn into a heading."""
    for number in range(body, len(items)):
        line = items[number]
        stripped = line.lstrip()
        sign = stripped[:1]
        if fence:
            fenced[number] = 1
            fence = "" if sign == fence[0] and _closes(line, fence) else fence
            paragraph = number + 1
        elif comment:
            comment = "-->" not in line
            paragraph = number + 1
        elif not sign:
            paragraph = number + 1
        elif sign == "#" and (found := _ATX.match(line)):
            headings.append(
                Heading(
                    len(found.group(1)), _plain_heading(heading_text(found.group(2) or "", "#")), number, number + 1
                )
            )
            paragraph = number + 1
        elif sign in "`~" and (found := _FENCE.match(line)) and not (sign == "`" and "`" in found.group(2)):
            fence = found.group(1)
            paragraph = number + 1
        elif sign in "=-" and paragraph < number and (found := _UNDERLINE.match(line)):
            if number - paragraph <= _MAX_HEADING_LINES and not _NOT_PARAGRAPH.match(items[paragraph]):
                text = _plain_heading(" ".join(item.strip() for item in items[paragraph:number]))
                headings.append(Heading(1 if sign == "=" else 2, text, paragraph, number + 1))
            paragraph = number + 1
        elif sign == "<" and stripped.startswith("<!--"):
            comment = "-->" not in stripped
            paragraph = number + 1
    return headings, fenced


def _closes(line: str, fence: str) -> bool:
    found = _FENCE.match(line)
    return found is not None and len(found.group(1)) >= len(fence) and not found.group(2).strip()


def _plain_heading(text: str) -> str:
    text = _ANCHOR.sub("", text.rstrip())
    text = _TAG.sub(_alt_text, text) if "<" in text else text
    text = _LINK.sub(r"\1", text) if "](" in text or "][" in text else text
    return _MARKS.sub("", text).strip()


def _alt_text(tag: re.Match[str]) -> str:
    """The text of an HTML tag in a heading: the description of an image, nothing for other tags."""
    found = _ALT.search(tag[0])
    return found[1] if found else ""
