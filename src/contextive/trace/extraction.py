"""Requirements in a specification: the sentences around RFC 2119 key words, and the files they are written to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from contextive.trace.letters import is_part_of_word
from contextive.trace.level import Level
from contextive.trace.specification import Section, Specification, SpecLine
from contextive.trace.text import normalise, trim

##= docs/spec/trace.md#extraction
##% The level MUST be "MUST" for "MUST", "SHALL" and "REQUIRED", "SHOULD" for "SHOULD" and "RECOMMENDED", "MAY" for
##% "MAY" and "OPTIONAL".
_KEYWORDS: tuple[tuple[re.Pattern[str], Level], ...] = tuple(
    (re.compile(rf'\b{word}\b"?'), level)
    for word, level in (
        ("MUST(?: NOT)?", Level.MUST),
        ("SHALL(?: NOT)?", Level.MUST),
        ("REQUIRED", Level.MUST),
        ("SHOULD(?: NOT)?", Level.SHOULD),
        ("(?:NOT )?RECOMMENDED", Level.SHOULD),
        ("MAY", Level.MAY),
        ("OPTIONAL", Level.MAY),
    )
)
_ANY_KEYWORD = re.compile(r"MUST|SHALL|REQUIRED|SHOULD|RECOMMENDED|MAY|OPTIONAL")


@dataclass(frozen=True, slots=True)
class ExtractedRequirement:
    """One requirement as it stands in its section."""

    level: Level
    quote: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.quote)


def extract_requirements(specification: Specification) -> list[tuple[Section, list[ExtractedRequirement]]]:
    """The sections that hold requirements, each with its requirements in the order of the text."""
    found = ((section, _extract(section.lines)) for section in specification.sections)
    return [(section, requirements) for section, requirements in found if requirements]


_Position = tuple[int, int]


##= docs/spec/trace.md#extraction
##% Each sentence below a heading that holds a key word of RFC 2119 in capitals MUST be a requirement.
##= docs/spec/trace.md#extraction
##% A sentence with several key words MUST have the highest of their levels.
def _extract(lines: Sequence[SpecLine | None]) -> list[ExtractedRequirement]:
    by_quote: dict[str, tuple[_Position, Level, tuple[str, ...]]] = {}
    for index, line in enumerate(lines):
        if line is None or not _ANY_KEYWORD.search(line.text):
            continue
        searched = _in_ascii(line.text)
        for pattern, level in _KEYWORDS:
            for hit in pattern.finditer(searched):
                ##= docs/spec/trace.md#extraction
                ##% A key word directly before a quotation mark MUST NOT make a requirement.
                if hit.group().endswith('"'):
                    continue  # the definition of the key word itself
                start = _sentence_start(lines, index, hit.start())
                end = _sentence_end(lines, index, hit.end())
                quote = _quote(lines, start, end)
                key = normalise("\n".join(quote))
                known = by_quote.get(key)
                if known is None:
                    by_quote[key] = (start, level, quote)
                elif level > known[1]:
                    by_quote[key] = (known[0], level, known[2])
    return [ExtractedRequirement(level, quote) for _, level, quote in sorted(by_quote.values())]


def _in_ascii(text: str) -> str:
    """The same with every other character as a letter or a space: `re` does not know all that belongs to a word."""
    if text.isascii():
        return text
    return "".join(c if c.isascii() else "x" if is_part_of_word(c) else " " for c in text)


##= docs/spec/trace.md#extraction
##% A sentence MUST end at a full stop before white space, at an empty line, at the border of a list item, or with
##% its section.
def _sentence_end(lines: Sequence[SpecLine | None], index: int, column: int) -> _Position:
    line = lines[index]
    assert line is not None
    if (stop := _first_stop(line.text, column)) is not None:
        return index, stop
    last = (index + 1, 0)
    for later in range(index + 1, len(lines)):
        following = lines[later]
        if following is None or not following.text:
            return later, 0
        if (stop := _first_stop(following.text, 0)) is not None:
            return later, stop
        last = (later, len(following.text))
    return last


def _sentence_start(lines: Sequence[SpecLine | None], index: int, column: int) -> _Position:
    line = lines[index]
    assert line is not None
    if (stop := _last_stop(line.text[:column])) is not None:
        return index, stop
    if index == 0:
        return index, 0
    start = (index - 1, 0)
    for earlier in range(index - 1, -1, -1):
        previous = lines[earlier]
        if previous is None or not previous.text:
            return start
        if (stop := _last_stop(previous.text)) is not None:
            return earlier, stop
        start = (earlier, 0)
    return start


def _first_stop(text: str, column: int) -> int | None:
    """The end of the first sentence after `column`: behind a full stop that white space or the end of the line follows."""
    while (dot := text.find(".", column)) >= 0:
        if dot + 1 == len(text) or text[dot + 1] in " \t":
            return dot + 1
        # The character after an inner dot cannot end the sentence, not even when it is a dot itself.
        column = dot + 2
    return None


def _last_stop(text: str) -> int | None:
    dot = text.rfind(".")
    if dot < 0:
        return None
    if dot + 1 == len(text) or text[dot + 1] in " \t":
        return dot + 1
    return _first_stop(text[:dot], 0)


def _quote(lines: Sequence[SpecLine | None], start: _Position, end: _Position) -> tuple[str, ...]:
    pieces = []
    for index in range(start[0], min(end[0], len(lines) - 1) + 1):
        line = lines[index]
        if line is None:
            continue
        text = line.text[: end[1]] if index == end[0] else line.text
        text = trim(text[start[1] :] if index == start[0] else text)
        if text:
            pieces.append(text)
    return tuple(pieces)


def requirement_file(target: str, section: Section, requirements: Sequence[ExtractedRequirement]) -> str:
    """A section's requirements as the TOML file that duvet writes and reads."""
    parts = [f'target = "{target}#{section.id}"', "", f"# {section.title_text}", "#"]
    parts += [f"# {line.text}" for line in section.text_lines]
    parts.append("")
    for requirement in requirements:
        parts += ["[[spec]]", f'level = "{requirement.level.name}"', "quote = '''", *requirement.quote, "'''", ""]
    return "\n".join(parts) + "\n"


def requirement_comments(target: str, section: Section, requirements: Sequence[ExtractedRequirement]) -> str:
    """The same as Rust comments, for `extract --extension rs`."""
    parts = [f"//! {target}#{section.id}", "//!", f"//! {section.title_text}", "//!"]
    parts += [f"//! {line.text}" for line in section.text_lines]
    parts.append("")
    for requirement in requirements:
        parts += [f"//= {target}#{section.id}", "//= type=spec", f"//= level={requirement.level.name}"]
        parts += [f"//# {line}" for line in requirement.quote]
        parts.append("")
    return "\n".join(parts) + "\n"
