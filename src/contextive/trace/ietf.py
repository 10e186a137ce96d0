"""IETF plain text (RFCs and Internet-Drafts) as sections.

The text has no markup: a heading is a line at the left edge that starts with a number which can follow the one before.
Page headers, footers and form feeds are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from contextive.trace.specification import Format, Section, Specification, SpecLine, slug
from contextive.trace.text import WHITESPACE, SourceText, iter_lines, trim, trim_start

_APPENDIX_WORDS = ("Appendix ", "APPENDIX ", "Annex ")
_SPACES = f"[{WHITESPACE}]+"
_APPENDIX_FORMS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"([A-Z])\Z",
        r"([A-Z])\.\Z",
        *(rf"([A-Z]){mark}{_SPACES}(.*)" for mark in (r"\.", ":", " :", " -", " --", "")),
    )
)
_NUMBERED = re.compile(rf"((?:[A-Z]\.?)?[0-9.]+):?{_SPACES}(.*)", re.DOTALL)
_NUMBER_ALONE = re.compile(r"((?:[A-Z]\.)?[0-9.]+)\Z")
_HEADER_AT_START = re.compile(r"RFC [1-9][0-9]*  |\[Page [1-9][0-9]*\]")
_FOOTER_AT_END = re.compile(r" \[Page [1-9][0-9]*\]\Z")
_MAX_NUMBER = 199

_NAMED = frozenset(
    {
        "Abstract",
        "Status of this Memo",
        "Status of This Memo",
        "Copyright Notice",
        "Table of Contents",
        "References",
        "REFERENCES",
        "Normative References",
        "Informative References",
        "Security Considerations",
        "IANA Considerations",
        "Acknowledgments",
        "Acknowledgement",
        "Acknowledgements",
        "Contributors",
        "Index",
        "Author's Address",
        "Authors' Addresses",
        "AUTHORS' ADDRESSES",
        "Editors' Addresses",
        "Full Copyright Statement",
        "Intellectual Property",
        "Intellectual Property Statement",
        "Working Group Information",
        "Appendix",
    }
)


class _Kind(Enum):
    TEXT = auto()
    LINE_BREAK = auto()
    PAGE_BREAK = auto()
    HEADER = auto()
    HEADING = auto()


@dataclass(slots=True)
class _Token:
    kind: _Kind
    start: int
    text: str
    section_id: str = ""
    title_start: int = 0
    title: str = ""


def parse_ietf(text: str) -> Specification:
    """The sections of an IETF document. Of two sections with one id the last one counts, as it does in duvet."""
    tokens = _drop_page_furniture(_named_sections(_headings(_lines(text))))
    sections: dict[str, Section] = {}
    duplicates: list[str] = []
    for section in _collect(tokens):
        if section.id in sections:
            duplicates.append(section.id)
        sections[section.id] = section
    ordered = tuple(sorted(sections.values(), key=lambda section: section.title_start))
    return Specification(SourceText(text), Format.IETF, None, ordered, tuple(dict.fromkeys(duplicates)))


def _lines(text: str) -> Iterator[_Token]:
    for index, (start, line) in enumerate(iter_lines(text)):
        if index == 0:
            stripped = line.lstrip("\ufeff")
            start, line = start + len(line) - len(stripped), stripped
        if line == "\x0c":
            yield _Token(_Kind.PAGE_BREAK, start, line)
        elif not trim(line):
            yield _Token(_Kind.LINE_BREAK, start, line)
        else:
            yield _Token(_Kind.TEXT, start, line)


def _headings(tokens: Iterator[_Token]) -> Iterator[_Token]:
    reader = _HeadingReader()
    for token in tokens:
        if token.kind is _Kind.TEXT:
            reader.read(token)
            if token.kind is _Kind.TEXT and _is_page_furniture(token.text):
                token.kind = _Kind.HEADER
                reader.after_break = False
                yield token
                continue
        reader.after_break = token.kind in (_Kind.LINE_BREAK, _Kind.PAGE_BREAK)
        yield token


def _is_page_furniture(line: str) -> bool:
    return _HEADER_AT_START.match(line) is not None or _FOOTER_AT_END.search(line) is not None


@dataclass(slots=True)
class _HeadingReader:
    """Decides, line by line, whether a line is a heading, from its form and from the number before it."""

    after_break: bool = False
    previous: str | None = None

    def read(self, token: _Token) -> None:
        line = token.text
        prefix = next((word for word in _APPENDIX_WORDS if line.startswith(word)), "")
        rest, shift = line[len(prefix) :], len(prefix)
        if prefix:
            for form in _APPENDIX_FORMS:
                if (found := form.match(rest)) is None:
                    continue
                title_at = found.start(2) if form.groups == 2 else found.end(1)
                title = found.group(2) if form.groups == 2 else ""
                if self._accept(token, found.group(1), title, shift + title_at, appendix=True):
                    return
        if found := _NUMBERED.match(rest):
            number = found.group(1).rstrip(".")
            if self._accept(token, number, found.group(2), shift + found.start(2), appendix=bool(prefix)):
                return
        if found := _NUMBER_ALONE.match(rest):
            number = rest.rstrip(".")
            self._accept(token, number, "", shift + len(number), appendix=bool(prefix))

    ##= docs/spec/trace.md#ietf-sections
    ##% The id of a numbered IETF section MUST be `section-` or `appendix-` and the number.
    def _accept(self, token: _Token, number: str, title: str, title_at: int, *, appendix: bool) -> bool:
        trimmed = trim(title)
        if not _is_title(trimmed) or not self._may_follow(number, trimmed):
            return False
        leading = len(title) - len(trim_start(title))
        token.kind = _Kind.HEADING
        token.section_id = f"section-{number}" if not appendix and number[:1].isdigit() else f"appendix-{number}"
        token.title_start, token.title = token.start + title_at + leading, trimmed
        self.previous = number
        return True

    def _may_follow(self, number: str, title: str) -> bool:
        parts = _parts(number)
        if parts is None:
            return False
        if self.after_break and "|" not in title.rstrip("|"):
            return True
        if self.previous is None:
            return number in ("1", "1.0")
        return _follows(self.previous, number)


def _is_title(title: str) -> bool:
    """Neither a line of a table of contents, nor a piece of code or of a figure."""
    if "....." in title or ". . ." in title or " . . " in title:
        return False
    return not title.startswith(";") and not title.endswith(("{", "[", "(", ";")) and "     " not in title


def _parts(number: str) -> list[int | str] | None:
    """A section number in parts: an optional letter, then numbers from 0 to 199, the first one above 0."""
    first_digit = next((index for index, character in enumerate(number) if character in "0123456789"), 0)
    letter, digits = number[:first_digit], number[first_digit:]
    words = ([letter.rstrip(".")] if letter else []) + digits.split(".")
    parts: list[int | str] = []
    for index, word in enumerate(words):
        if word.isascii() and word.isdigit():
            # Python refuses to read, and takes long over, integers of thousands of digits.
            significant = word.lstrip("0") or "0"
            if len(significant) > 3 or int(significant) > _MAX_NUMBER:
                return None
            parts.append(int(significant))
        elif len(word) == 1 and "A" <= word <= "Z" and index == 0:
            parts.append(word)
        else:
            return None
    return None if parts[0] == 0 else parts


def _follows(previous: str, current: str) -> bool:
    """Whether `current` can be the next number: equal part by part until one part is the successor."""
    if previous == current:
        return False
    before, after = _parts(previous), _parts(current)
    if before is None or after is None:
        return False
    for old, new in zip(before, after, strict=False):
        if _is_successor(old, new):
            return True
        if old != new:
            return False
    return True


def _is_successor(old: int | str, new: int | str) -> bool:
    if isinstance(old, int):
        return new == old + 1 if isinstance(new, int) else new == "A"
    return isinstance(new, str) and ord(new) == ord(old) + 1


def _named_sections(tokens: Iterator[_Token]) -> Iterator[_Token]:
    """Well-known titles without a number, standing alone between two blank lines."""
    window: list[_Token] = []
    for token in tokens:
        window.append(token)
        if len(window) == 3:
            before, candidate, after = window
            if before.kind is candidate.kind is _Kind.LINE_BREAK or before.kind is not _Kind.LINE_BREAK:
                yield window.pop(0)
                continue
            is_named = candidate.kind is _Kind.TEXT and candidate.text in _NAMED and after.kind is _Kind.LINE_BREAK
            if is_named:
                candidate.kind = _Kind.HEADING
                candidate.section_id = f"name-{slug(candidate.text)}"
                candidate.title_start, candidate.title = candidate.start, candidate.text
                # The blank line after a title does not open another one.
                yield from window
                window.clear()
            else:
                yield window.pop(0)
    yield from window


def _drop_page_furniture(tokens: Iterator[_Token]) -> Iterator[_Token]:
    """Runs of breaks become one; headers go, and so does the line that follows a page break."""
    last_break: _Kind | None = None
    for token in tokens:
        previous, last_break = last_break, None
        if token.kind in (_Kind.LINE_BREAK, _Kind.PAGE_BREAK):
            last_break = token.kind
            if previous is not None:
                continue
        elif token.kind is _Kind.HEADER or (token.kind is _Kind.TEXT and previous is _Kind.PAGE_BREAK):
            last_break = _Kind.LINE_BREAK
            continue
        yield token


@dataclass(slots=True)
class _OpenSection:
    heading: _Token
    lines: list[SpecLine] = field(default_factory=list)

    def close(self) -> Section:
        while self.lines and not trim(self.lines[-1].text):
            self.lines.pop()
        heading = self.heading
        return Section(heading.section_id, heading.title, heading.title_start, heading.title, tuple(self.lines))


def _collect(tokens: Iterator[_Token]) -> Iterator[Section]:
    current: _OpenSection | None = None
    for token in tokens:
        if token.kind is _Kind.HEADING:
            if current is not None:
                yield current.close()
            current = _OpenSection(token)
        elif current is not None:
            text = token.text if token.kind is _Kind.TEXT else ""
            if current.lines or trim(text):
                current.lines.append(SpecLine(token.start, text))
    if current is not None:
        yield current.close()
