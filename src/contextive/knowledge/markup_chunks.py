"""Split reStructuredText and AsciiDoc into chunks at their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextive.knowledge.chunk import ChunkDraft
from contextive.knowledge.languages import suffix_of
from contextive.knowledge.lines import TextLines
from contextive.knowledge.section_chunks import Heading, Outline, cut_sections, heading_text

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*$")
_MIN_RULE = 4
"""A rule of this length underlines a heading even if the line above is longer, as in docutils."""
_NOT_TITLE = re.compile(r"(?:\.\. |[-*+•] |\|)")
_LABEL = re.compile(r"\.\. _[^:]+:[ \t]*$")
_ROLE = re.compile(r"(?<![\w:+.-])([\w:+.-]*+)`+([^`]*+)`+_{0,2}")
"""A word, which may end with the name of a role, and the quoted text after it."""
_EQUALS = re.compile(r"(={1,6})[ \t]++(\S.*)$")
_BLOCK = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|`{3,})[ \t]*$")
_ASCIIDOC = frozenset({"adoc", "asciidoc"})


def is_marked_up(path: str) -> bool:
    """Whether a file is reStructuredText or AsciiDoc."""
    return suffix_of(path) in {"rst", *_ASCIIDOC}


def cut_markup(path: str, lines: TextLines) -> Iterator[ChunkDraft]:
    """One chunk for each section, several for a long one."""
    outline = _asciidoc_outline(lines) if suffix_of(path) in _ASCIIDOC else _rst_outline(lines)
    return cut_sections(path, lines, outline)


def _rst_outline(lines: TextLines) -> Outline:
    """The headings: lines above a rule.

    Each new kind of rule, with or without a rule above the line, is one level deeper.
    """
    items = lines.items
    kinds: dict[tuple[str, bool], int] = {}
    headings: list[Heading] = []
    number = 0
    while number + 1 < len(items):
        is_framed = (
            _is_rule(items, number) and number + 2 < len(items) and items[number + 2].rstrip() == items[number].rstrip()
        )
        at = number + 1 if is_framed else number
        title, rule = items[at].strip(), items[at + 1].rstrip()
        starts = number == 0 or not items[number - 1].strip()
        fits = _is_rule(items, at + 1) and len(rule) >= min(len(title), _MIN_RULE) and not _is_rule(items, at)
        if starts and title and fits and (is_framed or not (items[at][:1].isspace() or _NOT_TITLE.match(title))):
            level = kinds.setdefault((rule[0], is_framed), len(kinds) + 1)
            headings.append(
                Heading(
                    level,
                    _ROLE.sub(_quoted_text, title).replace("*", "").strip(),
                    _start_with_labels(items, number),
                    at + 2,
                )
            )
            number = at + 2
        else:
            number += 1
    return Outline(headings, bytearray(len(items) + 1))


def _quoted_text(role: re.Match[str]) -> str:
    """The visible text of a role: `text` of ``:ref:`text <target>```, without the role and the target."""
    word, quoted = role[1], role[2]
    text, angle, target = quoted.partition("<")
    if angle and (not target.endswith(">") or "<" in target or ">" in target[:-1]):
        return role[0]
    first = word.find(":")
    has_role = word.endswith(":") and 0 <= first < len(word) - 2
    return (word[:first] if has_role else word) + (text.rstrip() if angle else text)


def _start_with_labels(items: list[str], number: int) -> int:
    """The first line of a heading, including the link labels above it."""
    first = number
    for above in range(number - 1, -1, -1):
        if _LABEL.match(items[above]):
            first = above
        elif items[above].strip():
            break
    return first


def _is_rule(items: list[str], number: int) -> bool:
    return _RULE.match(items[number]) is not None


def _asciidoc_outline(lines: TextLines) -> Outline:
    """The headings: lines that start with equals signs, except in a block between two rules."""
    headings: list[Heading] = []
    fenced = bytearray(len(lines.items) + 1)
    block = ""
    for number, line in enumerate(lines.items):
        if block:
            fenced[number] = 1
            block = "" if line.rstrip() == block else block
        elif found := _BLOCK.match(line):
            block = found[1]
        elif line.startswith("=") and (found := _EQUALS.match(line)):
            text = heading_text(found[2], "=").replace("`", "").replace("*", "")
            headings.append(Heading(len(found[1]), text, number, number + 1))
    return Outline(headings, fenced)
