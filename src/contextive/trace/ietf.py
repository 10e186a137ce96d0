"""Sections of IETF plain text (RFCs and Internet-Drafts).

The text has no markup: a heading is a line without indent whose section number can follow the previous one.
Page headers, footers and form feeds are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from contextive.trace.specification import Format, Section, Specification, SpecLine, slug
from contextive.trace.text import SPACE, WHITESPACE, SourceText, split_lines, trim, trim_start

_APPENDIX_WORDS = ("Appendix ", "APPENDIX ", "Annex ")
_SPACES = f"{SPACE}+"
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
_BYTE_ORDER_MARK = "\ufeff"
"""Some files begin with it."""

_UNNUMBERED_TITLES = frozenset(
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


class _LineKind(Enum):
    TEXT = auto()
    LINE_BREAK = auto()
    PAGE_BREAK = auto()
    PAGE_HEADER_OR_FOOTER = auto()
    HEADING = auto()


_BREAKS = (_LineKind.LINE_BREAK, _LineKind.PAGE_BREAK)


@dataclass(frozen=True, slots=True)
class _Heading:
    section_id: str
    title_start: int
    title: str


def parse_ietf(text: str) -> Specification:
    """The sections of an IETF document. Of two sections with the same id, the last one counts, as in duvet."""
    starts, lines = split_lines(text)
    if lines and lines[0].startswith(_BYTE_ORDER_MARK):
        stripped = lines[0].lstrip(_BYTE_ORDER_MARK)
        starts[0], lines[0] = len(lines[0]) - len(stripped), stripped
    kinds, headings, at_edge = _classify(starts, lines)
    _add_unnumbered_headings(at_edge, starts, lines, kinds, headings)
    sections: dict[str, Section] = {}
    duplicates: list[str] = []
    for section in _build_sections(starts, lines, kinds, headings):
        if section.id in sections:
            duplicates.append(section.id)
        sections[section.id] = section
    ordered = tuple(sorted(sections.values(), key=lambda section: section.title_start))
    return Specification(SourceText(text), Format.IETF, None, ordered, tuple(dict.fromkeys(duplicates)))


def _classify(starts: Sequence[int], lines: Sequence[str]) -> tuple[list[_LineKind], dict[int, _Heading], list[int]]:
    """The kind of each line, the numbered headings, and the indexes of the text lines without indent."""
    reader = _HeadingReader()
    headings: dict[int, _Heading] = {}
    at_edge: list[int] = []
    # Most lines are empty or indented. An indented line with letters is text or a footer.
    kinds = [_LineKind.TEXT if line else _LineKind.LINE_BREAK for line in lines]
    others = [i for i, line in enumerate(lines) if line and (line[0] != " " or line[-1] == "]" or line.isspace())]
    for index in others:
        line = lines[index]
        if not line.strip(WHITESPACE):
            kinds[index] = _LineKind.PAGE_BREAK if line == "\x0c" else _LineKind.LINE_BREAK
        elif line[0] == " ":
            if _FOOTER_AT_END.search(line):
                kinds[index] = _LineKind.PAGE_HEADER_OR_FOOTER
        elif heading := reader.read(starts[index], line, index > 0 and kinds[index - 1] in _BREAKS):
            kinds[index], headings[index] = _LineKind.HEADING, heading
        elif _HEADER_AT_START.match(line) or _FOOTER_AT_END.search(line):
            kinds[index] = _LineKind.PAGE_HEADER_OR_FOOTER
        else:
            at_edge.append(index)
    return kinds, headings, at_edge


class _HeadingReader:
    """Decides, line by line, whether a line is a heading, by its form and the previous section number."""

    __slots__ = ("after_break", "previous")

    def __init__(self) -> None:
        self.previous: str | None = None
        self.after_break = False

    def read(self, start: int, line: str, after_break: bool) -> _Heading | None:
        """The heading on a line, if it is one. `start` is the offset of the line in the text."""
        self.after_break = after_break
        prefix = line[: line.index(" ") + 1] if line.startswith(_APPENDIX_WORDS) else ""
        rest, title_base = line[len(prefix) :], start + len(prefix)
        if prefix:
            for form in _APPENDIX_FORMS:
                if (found := form.match(rest)) is None:
                    continue
                title_at = found.start(2) if form.groups == 2 else found.end(1)
                title = found.group(2) if form.groups == 2 else ""
                if heading := self._build_heading(found.group(1), title, title_base + title_at, appendix=True):
                    return heading
        if found := _NUMBERED.match(rest):
            number, title_start = found.group(1).rstrip("."), title_base + found.start(2)
            if heading := self._build_heading(number, found.group(2), title_start, appendix=bool(prefix)):
                return heading
        if _NUMBER_ALONE.match(rest):
            number = rest.rstrip(".")
            return self._build_heading(number, "", title_base + len(number), appendix=bool(prefix))
        return None

    ##= docs/spec/trace.md#ietf-sections
    ##% The id of a numbered IETF section MUST be `section-` or `appendix-` followed by the number.
    def _build_heading(self, number: str, title: str, title_start: int, *, appendix: bool) -> _Heading | None:
        trimmed = trim(title)
        if not _is_title(trimmed) or not self._may_follow(number, trimmed):
            return None
        leading = len(title) - len(trim_start(title))
        self.previous = number
        section_id = f"section-{number}" if not appendix and number[:1].isdigit() else f"appendix-{number}"
        return _Heading(section_id, title_start + leading, trimmed)

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
    """Whether it is neither a line of a table of contents nor part of code or a figure."""
    if "....." in title or ". . ." in title or " . . " in title:
        return False
    return not title.startswith(";") and not title.endswith(("{", "[", "(", ";")) and "     " not in title


def _parts(number: str) -> list[int | str] | None:
    """The parts of a section number: an optional letter, then numbers from 0 to 199, the first one above 0."""
    first_digit = next((index for index, character in enumerate(number) if character in "0123456789"), 0)
    letter, digits = number[:first_digit], number[first_digit:]
    words = ([letter.rstrip(".")] if letter else []) + digits.split(".")
    parts: list[int | str] = []
    for index, word in enumerate(words):
        if word.isascii() and word.isdigit():
            # Python is slow to parse integers of thousands of digits, and refuses very long ones.
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
    """Whether `current` can be the next number: its parts are equal until one is the successor."""
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


def _add_unnumbered_headings(
    at_edge: Sequence[int],
    starts: Sequence[int],
    lines: Sequence[str],
    kinds: list[_LineKind],
    headings: dict[int, _Heading],
) -> None:
    """Add well-known titles without a number, alone between two blank lines, as headings."""
    closed = -1
    """The blank line after a title does not count as the blank line before another."""
    for index in at_edge:
        line = lines[index]
        if line not in _UNNUMBERED_TITLES or not 0 < index < len(lines) - 1 or index - 1 == closed:
            continue
        if kinds[index - 1] is kinds[index + 1] is _LineKind.LINE_BREAK:
            kinds[index] = _LineKind.HEADING
            headings[index] = _Heading(f"name-{slug(line)}", starts[index], line)
            closed = index + 1


def _build_sections(
    starts: Sequence[int], lines: Sequence[str], kinds: Sequence[_LineKind], headings: Mapping[int, _Heading]
) -> Iterator[Section]:
    """Build the sections. Runs of breaks become one; headers, footers and the line after a page break are removed."""
    heading: _Heading | None = None
    found: list[SpecLine] = []
    last_break: _LineKind | None = None
    for index, kind in enumerate(kinds):
        if kind is _LineKind.TEXT:
            if last_break is _LineKind.PAGE_BREAK:
                last_break = _LineKind.LINE_BREAK
                continue
            last_break = None
            found.append(SpecLine(starts[index], lines[index]))
        elif kind is _LineKind.HEADING:
            if heading is not None:
                yield _section(heading, found)
            heading, found, last_break = headings[index], [], None
        elif kind is _LineKind.PAGE_HEADER_OR_FOOTER:
            last_break = _LineKind.LINE_BREAK
        else:
            if last_break is None and found:
                found.append(SpecLine(starts[index], ""))
            last_break = kind
    if heading is not None:
        yield _section(heading, found)


def _section(heading: _Heading, lines: list[SpecLine]) -> Section:
    while lines and not lines[-1].text:
        lines.pop()
    return Section(heading.section_id, heading.title, heading.title_start, heading.title, tuple(lines))
