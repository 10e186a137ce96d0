"""A parsed specification: its sections in file order, each with its lines and their offsets in the text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from contextive.trace.text import SourceText, trim
from contextive.trace.transliteration import to_ascii


class Format(StrEnum):
    """The format of a specification's text."""

    AUTO = "auto"
    IETF = "ietf"
    MARKDOWN = "markdown"

    @staticmethod
    def parse(name: str) -> Format | None:
        return _FORMATS_BY_NAME.get(name)


_FORMATS_BY_NAME = {
    "AUTO": Format.AUTO,
    "auto": Format.AUTO,
    "IETF": Format.IETF,
    "ietf": Format.IETF,
    "MARKDOWN": Format.MARKDOWN,
    "markdown": Format.MARKDOWN,
    "md": Format.MARKDOWN,
}


@dataclass(frozen=True, slots=True)
class SpecLine:
    """One line of a section: its text as written and its offset in the file."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Section:
    """One section. A `None` in `lines` separates list items: it ends a sentence and has no text."""

    id: str
    title: str
    title_start: int
    title_text: str
    lines: tuple[SpecLine | None, ...]
    level: int = 1

    @property
    def text_lines(self) -> list[SpecLine]:
        return [line for line in self.lines if line is not None]

    @property
    def title_end(self) -> int:
        return self.title_start + len(self.title_text)

    def content(self) -> str:
        """The section's text without its title."""
        return "\n".join(line.text for line in self.text_lines)


@dataclass(frozen=True)
class Specification:
    """A parsed specification."""

    source: SourceText
    format: Format
    title: str | None
    sections: tuple[Section, ...]
    duplicates: tuple[str, ...] = ()
    """Section ids that occur more than once; only one section of each can be cited."""
    aliases: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further names of sections, with the id of each."""
    _cache: dict[object, object] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Results that depend only on this text, such as where a quote was found."""

    @cached_property
    def by_id(self) -> Mapping[str, Section]:
        return {section.id: section for section in self.sections}

    ##= docs/spec/trace.md#ietf-sections
    ##% A section of an IETF text MUST also be found without its prefix or with the other prefix.
    def section(self, section_id: str) -> Section | None:
        """The section with this id. In IETF texts the prefix `section-` or `appendix-` may be missing or swapped."""
        found = self.by_id.get(section_id) or self.by_id.get(self.aliases.get(section_id, section_id))
        if found is None and self.format is Format.IETF:
            number = _without_prefixes(section_id)
            found = self.by_id.get(f"section-{number}") or self.by_id.get(f"appendix-{number}")
        return found

    def sections_around(self, section: Section) -> tuple[Section, ...]:
        """A section and those that contain it, from the inside out."""
        known = self._cache.get(("around", section.id))
        if not isinstance(known, tuple):
            known = (section, *(self._numbered(section) if self.format is Format.IETF else self._nested(section)))
            self._cache["around", section.id] = known
        return known

    def _numbered(self, section: Section) -> Iterator[Section]:
        """The sections whose number is a beginning of this section's number."""
        name = section.id
        while "." in name:
            name = name.rpartition(".")[0]
            if name in self.by_id:
                yield self.by_id[name]

    def _nested(self, section: Section) -> Iterator[Section]:
        """The sections before this one with a higher heading."""
        level = section.level
        for other in reversed(self.sections[: self.sections.index(section)]):
            if other.level < level:
                level = other.level
                yield other


def _without_prefixes(section_id: str) -> str:
    for prefix in ("section-", "appendix-"):
        while section_id.startswith(prefix):
            section_id = section_id[len(prefix) :]
    return section_id


def parse_specification(text: str, format: Format, name: str) -> Specification:  # noqa: A002 - the domain's word
    """Parse a specification. `name` is its path or URL, whose extension helps to detect the format."""
    if format is Format.AUTO:
        format = Format.MARKDOWN if _looks_like_markdown(text, name) else Format.IETF  # noqa: A001
    if format is Format.MARKDOWN:
        from contextive.trace.markdown import parse_markdown

        return parse_markdown(text)
    from contextive.trace.ietf import parse_ietf

    return parse_ietf(text)


##= docs/spec/trace.md#formats
##% If no format is given, a specification whose path ends with `.md` or `.markdown` MUST be read as Markdown.
##= docs/spec/trace.md#formats
##% Every other text MUST be read as Markdown if it begins with a number sign or with `[//]:`, and as IETF plain text
##% otherwise.
def _looks_like_markdown(text: str, name: str) -> bool:
    if name.rsplit("/", 1)[-1].rpartition(".")[0] and name.endswith((".md", ".markdown")):
        return True
    return trim(text).startswith(("#", "[//]:"))


_ASCII_WORD = re.compile("[a-z0-9]+")


##= docs/spec/trace.md#markdown-sections
##% A slug MUST consist of the letters and digits of a title in lower-case ASCII, with one dash for each run of other
##% characters.
def slug(text: str) -> str:
    """A Markdown title as a section id: letters and digits in lower case, one dash for everything in between."""
    if text.isascii():
        return "-".join(_ASCII_WORD.findall(text.lower()))
    words: list[str] = []
    current: list[str] = []
    for character in text:
        for letter in to_ascii(character).lower():
            if letter.isascii() and letter.isalnum():
                current.append(letter)
            elif current:
                words.append("".join(current))
                current = []
    if current:
        words.append("".join(current))
    return "-".join(words)


def unique_section_id(section_id: str, taken: Collection[str], counters: dict[str, int]) -> str:
    """The id, or the id with the first free number as a suffix. `counters` has the last number used for each id."""
    if section_id not in taken:
        return section_id
    counter = counters.get(section_id, 1)
    while f"{section_id}-{counter}" in taken:
        counter += 1
    counters[section_id] = counter
    return f"{section_id}-{counter}"
