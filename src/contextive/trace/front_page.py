"""What a specification is called and what it is about, from its first page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from contextive.trace.specification import Format, Section, Specification
from contextive.trace.target import Target

_RFC_NUMBER = re.compile(r"/rfc(\d+)(?:\.\w+)?/?\Z")
_FRONT_CHARACTERS = 6_000
_PAGE_WIDTH, _TOLERANCE = 72, 8
_MAX_TITLE, _MAX_DESCRIPTION = 200, 200
_OPENING_SECTIONS = ("abstract", "introduction", "overview", "purpose", "scope", "summary")
_OTHER_SECTIONS = re.compile(
    r"(?:status of|copyright|full copyright|table of contents|.*references|acknowledge?ment|contributors|author|editor|index"
    r"|intellectual property|.*considerations)",
    re.IGNORECASE,
)
_PROSE = re.compile(r"[A-Za-z]{2,}")


def name_of(target: Target, specification: Specification) -> str:
    """A short name for people: the title of a Markdown document, `RFC 9000`, or the last part of the address."""
    if specification.title or not target.is_url:
        return specification.title or target.path
    number = _RFC_NUMBER.search(target.path)
    if number is not None:
        return f"RFC {number[1]}"
    parts = urlsplit(target.path)
    last = parts.path.rstrip("/").rpartition("/")[2]
    return last.removesuffix(".txt").removesuffix(".html").removesuffix(".md") or parts.netloc or target.path


def title_of(specification: Specification, name: str) -> str:
    """The title of a document with its name, such as `RFC 768: User Datagram Protocol`."""
    title = _ietf_title(specification) if specification.format is Format.IETF else specification.title
    return f"{name}: {title}" if title and title != name else name


##= docs/spec/trace.md#specification-resources
##% The description of a specification MUST be the beginning of its abstract or introduction or, if it has neither, its
##% title.
def description_of(specification: Specification, title: str) -> str:
    """The beginning of the text that says what a document is about, or its title."""
    sections = [s for s in specification.sections if not _OTHER_SECTIONS.match(s.title)]
    named = [s for word in _OPENING_SECTIONS for s in sections if word in s.title.lower()]
    for section in (*named, *sections):
        text = _first_paragraph(section)
        if text:
            return text if len(text) <= _MAX_DESCRIPTION else text[: _MAX_DESCRIPTION - 1].rsplit(" ", 1)[0] + "…"
    return title


def _first_paragraph(section: Section) -> str:
    lines: list[str] = []
    for line in section.lines:
        text = line.text.strip() if line is not None else ""
        if text:
            lines.append(text)
        elif _PROSE.search(" ".join(lines)):
            break
        else:
            lines = []
    text = " ".join(lines)
    return text if _PROSE.search(text) else ""


def _ietf_title(specification: Specification) -> str:
    """The title of an RFC or draft: the first block on the first page in which every line is centred."""
    first = specification.sections[0].title_start if specification.sections else _FRONT_CHARACTERS
    for block in _blocks(specification.source.text[: min(first, _FRONT_CHARACTERS)]):
        lines = [line.strip() for line in block]
        kept = [line for line in lines if _PROSE.search(line) and not line.startswith("draft-")]
        if kept and all(map(_is_centred, block)):
            return " ".join(kept)[:_MAX_TITLE]
    return ""


def _is_centred(line: str) -> bool:
    text = line.strip()
    indent = len(line) - len(line.lstrip())
    return "   " not in text and abs(indent - (_PAGE_WIDTH - len(text)) / 2) <= _TOLERANCE


def _blocks(text: str) -> Iterator[list[str]]:
    block: list[str] = []
    for line in (*text.split("\n"), ""):
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []
