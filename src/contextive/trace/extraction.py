"""Extract the requirements of a specification, the sentences with RFC 2119 key words, and write them to files."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from contextive.trace.citation import Citation, Location, ParsedFile
from contextive.trace.level import CitationType, Level
from contextive.trace.specification import Section, Specification, SpecLine
from contextive.trace.text import WHITESPACE, normalise
from contextive.trace.unicode_classes import is_part_of_word

##= docs/spec/trace.md#extraction
##% The level MUST be "MUST" for "MUST", "SHALL" and "REQUIRED", "SHOULD" for "SHOULD" and "RECOMMENDED", "MAY" for
##% "MAY" and "OPTIONAL".
_LEVELS = {
    "MUST": Level.MUST,
    "SHALL": Level.MUST,
    "REQUIRED": Level.MUST,
    "SHOULD": Level.SHOULD,
    "RECOMMENDED": Level.SHOULD,
    "MAY": Level.MAY,
    "OPTIONAL": Level.MAY,
}
_KEYWORD = re.compile(
    r'\b(?:(MUST|SHALL|SHOULD)(?: NOT)?|(?:NOT )?(RECOMMENDED)|(REQUIRED|MAY|OPTIONAL))\b"?', re.ASCII
)
_ANY_KEYWORD = re.compile("|".join(_LEVELS))
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_NEXT_TO_CAPITAL = re.compile(r"[^\x00-\x7f](?:(?<=[A-Z].)|(?=[A-Z]))")


@dataclass(frozen=True, slots=True)
class ExtractedRequirement:
    """One requirement, with the lines of its text in the section."""

    level: Level
    quote: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.quote)


def extract_requirements(specification: Specification) -> list[tuple[Section, list[ExtractedRequirement]]]:
    """The sections that have requirements, each with its requirements in text order."""
    found = ((section, _extract(section.lines)) for section in specification.sections)
    return [(section, requirements) for section, requirements in found if requirements]


_Position = tuple[int, int]


##= docs/spec/trace.md#extraction
##% Each sentence that is below a heading and contains a key word of RFC 2119 in capitals MUST be a requirement.
##= docs/spec/trace.md#extraction
##% A sentence with several key words MUST have the highest of their levels.
def _extract(lines: Sequence[SpecLine | None]) -> list[ExtractedRequirement]:
    texts = [line.text if line is not None else "" for line in lines]
    sentences = _Sentences(texts)
    by_bounds: dict[tuple[_Position, _Position], str] = {}
    by_quote: dict[str, tuple[_Position, Level, tuple[str, ...]]] = {}
    for index in _lines_with_keywords(texts):
        for hit in _KEYWORD.finditer(_with_ascii_word_boundaries(texts[index])):
            ##= docs/spec/trace.md#extraction
            ##% A key word directly before a quotation mark MUST NOT make a sentence a requirement.
            if hit.group().endswith('"'):
                continue  # the definition of the key word itself
            level = _LEVELS[hit[hit.lastindex or 0]]
            start, end = bounds = (sentences.start(index, hit.start()), sentences.end(index, hit.end()))
            key = by_bounds.get(bounds)
            if key is None:
                quote = _quote(texts, start, end)
                key = by_bounds[bounds] = normalise("\n".join(quote))
                if key not in by_quote:
                    by_quote[key] = (start, level, quote)
            first, known, quote = by_quote[key]
            if level > known:
                by_quote[key] = (first, level, quote)
    return [ExtractedRequirement(level, quote) for _, level, quote in sorted(by_quote.values())]


def _lines_with_keywords(texts: Sequence[str]) -> list[int]:
    """The lines that may contain a key word, in order. Most have none, so all lines are searched as one text."""
    hits = [hit.start() for hit in _ANY_KEYWORD.finditer("\n".join(texts))]
    if not hits:
        return []
    starts = list(accumulate([len(text) + 1 for text in texts], initial=0))
    return list(dict.fromkeys([bisect_right(starts, hit) - 1 for hit in hits]))


def _with_ascii_word_boundaries(text: str) -> str:
    """The text with non-ASCII characters next to a capital replaced by a letter or a space.

    The `\\b` of `re` does not know all characters that are part of a word.
    """
    if text.isascii():
        return text
    return _NEXT_TO_CAPITAL.sub(lambda found: "x" if is_part_of_word(found.group()) else " ", text)


##= docs/spec/trace.md#extraction
##% A sentence MUST end at a full stop before white space, at an empty line, at the start or end of a list item, or at
##% the end of its section.
class _Sentences:
    """Where the sentences of a section begin and end.

    Results are cached, so a section with many key words and few full stops takes linear, not quadratic, time.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._before: dict[int, _Position] = {-1: (0, 0)}
        self._after: dict[int, _Position] = {}
        self._stops: dict[int, _SentenceEnds | None] = {}

    def start(self, index: int, column: int) -> _Position:
        """The start of the sentence at this position."""
        if (stop := self._last_stop(index, column)) is not None:
            return index, stop
        if index == 0 or not self._texts[index - 1]:
            return max(index - 1, 0), 0
        return self._start_before(index - 1)

    def end(self, index: int, column: int) -> _Position:
        """The end of the sentence at this position."""
        if (stop := self._first_stop(index, column)) is not None:
            return index, stop
        if index + 1 == len(self._texts):
            return index + 1, 0
        return self._end_after(index + 1)

    def _start_before(self, index: int) -> _Position:
        """The start of a sentence that continues after this line."""
        passed = []
        while index not in self._before:
            text = self._texts[index]
            if not text:
                self._before[index] = (index + 1, 0)
            elif (stop := self._last_stop(index, len(text))) is not None:
                self._before[index] = (index, stop)
            else:
                passed.append(index)
                index -= 1
        self._before |= dict.fromkeys(passed, self._before[index])
        return self._before[index]

    def _end_after(self, index: int) -> _Position:
        """The end of a sentence that continues on this line."""
        passed = []
        while index not in self._after:
            text = self._texts[index]
            if not text:
                self._after[index] = (index, 0)
            elif (stop := self._first_stop(index, 0)) is not None:
                self._after[index] = (index, stop)
            elif index + 1 == len(self._texts):
                self._after[index] = (index, len(text))
            else:
                passed.append(index)
                index += 1
        self._after |= dict.fromkeys(passed, self._after[index])
        return self._after[index]

    def _last_stop(self, index: int, column: int) -> int | None:
        stops = self._stops_of(index)
        return stops.last_before(column) if stops is not None else None

    def _first_stop(self, index: int, column: int) -> int | None:
        stops = self._stops_of(index)
        return stops.first_from(column) if stops is not None else None

    def _stops_of(self, index: int) -> _SentenceEnds | None:
        """None for a line without any full stop."""
        if index not in self._stops:
            text = self._texts[index]
            self._stops[index] = _SentenceEnds(text) if "." in text else None
        return self._stops[index]


class _SentenceEnds:
    """The ends of sentences in one line: after a full stop before white space or the end of the line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._from: dict[int, int | None] = {}
        self._inner: set[int] | None = None

    def first_from(self, column: int) -> int | None:
        passed = []
        while column not in self._from:
            dot = self._text.find(".", column)
            if dot < 0:
                self._from[column] = None
            elif self._ends(dot):
                self._from[column] = dot + 1
            else:
                # The character after an inner dot cannot end the sentence, not even when it is a dot itself.
                passed.append(column)
                column = dot + 2
        self._from |= dict.fromkeys(passed, self._from[column])
        return self._from[column]

    def last_before(self, column: int) -> int | None:
        """The last end before a column, as if the line ended there. If the last dot is not an end, the first end counts."""
        dot = self._text.rfind(".", 0, column)
        if dot < 0:
            return None
        if dot + 1 == column or self._ends(dot):
            return dot + 1
        first = self.first_from(0)
        if first is not None and first <= dot:
            return first
        return dot if dot - 1 in self._inner_dots() else None

    def _inner_dots(self) -> set[int]:
        """The dots before the first end of a sentence in the line."""
        if self._inner is None:
            self._inner, column = set(), 0
            while (dot := self._text.find(".", column)) >= 0 and not self._ends(dot):
                self._inner.add(dot)
                column = dot + 2
        return self._inner

    def _ends(self, dot: int) -> bool:
        return dot + 1 == len(self._text) or self._text[dot + 1] in " \t"


def _quote(texts: Sequence[str], start: _Position, end: _Position) -> tuple[str, ...]:
    first, last = start[0], min(end[0], len(texts) - 1)
    pieces = list(texts[first : last + 1])
    if pieces and end[0] == last:
        pieces[-1] = pieces[-1][: end[1]]
    if pieces:
        pieces[0] = pieces[0][start[1] :]
    return tuple([text for piece in pieces if (text := piece.strip(WHITESPACE))])


##= docs/spec/trace.md#requirement-files
##% A generated requirement file MUST be valid TOML without raw control characters, whatever the specification
##% contains.
def format_requirement_file(target: str, section: Section, requirements: Sequence[ExtractedRequirement]) -> str:
    """A section's requirements as a TOML file in duvet's format.

    Characters that TOML does not allow, which duvet writes unchanged, are escaped, in comments too.
    """
    parts = [
        f'target = "{_toml_basic_string(f"{target}#{section.id}")}"',
        "",
        f"# {_escape_controls(section.title_text)}",
        "#",
    ]
    parts += [f"# {_escape_controls(line.text)}" for line in section.text_lines]
    parts.append("")
    for requirement in requirements:
        parts += ["[[spec]]", f'level = "{requirement.level.name}"', *_toml_quote_lines(requirement.quote), ""]
    return "\n".join(parts) + "\n"


def _toml_quote_lines(quote: Sequence[str]) -> list[str]:
    """A quote as a multi-line TOML string: literal, as duvet writes it, if the text allows that."""
    if any("'''" in line or _CONTROL.search(line) for line in quote):
        return ['quote = """', *map(_toml_basic_string, quote), '"""']
    return ["quote = '''", *quote, "'''"]


def _toml_basic_string(text: str) -> str:
    """A text escaped for use between double quotes."""
    return _escape_controls(text.replace("\\", "\\\\").replace('"', '\\"'))


def _escape_controls(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def requirement_file_citations(
    path: str, target: str, section: Section, requirements: Sequence[ExtractedRequirement]
) -> ParsedFile:
    """The citations of the file that `format_requirement_file` writes, without parsing it."""
    line = 5 + len(section.text_lines) + 1
    citations = []
    for requirement in requirements:
        citations.append(
            Citation(
                source=path,
                line=line,
                type=CitationType.SPEC,
                target=f"{target}#{section.id}",
                quote=requirement.text,
                level=requirement.level,
                comment="\n".join(requirement.quote) + "\n",
                base=path,
                target_location=Location(path, 1, 10),
                quote_location=Location(path, line + 2, 9),
                text="[[spec]]",
                end_line=line,
            )
        )
        line += 5 + len(requirement.quote)
    return ParsedFile(tuple(citations))


def format_requirement_comments(target: str, section: Section, requirements: Sequence[ExtractedRequirement]) -> str:
    """A section's requirements as Rust comments, for `extract --extension rs`."""
    parts = [f"//! {target}#{section.id}", "//!", f"//! {section.title_text}", "//!"]
    parts += [f"//! {line.text}" for line in section.text_lines]
    parts.append("")
    for requirement in requirements:
        parts += [f"//= {target}#{section.id}", "//= type=spec", f"//= level={requirement.level.name}"]
        parts += [f"//# {line}" for line in requirement.quote]
        parts.append("")
    # Comments have no escapes: the quote of an escaped line does not match its specification and is reported as an error.
    return "\n".join(map(_escape_controls, parts)) + "\n"
