"""Citations in comments: which text of a specification a piece of code implements, tests or leaves as a todo.

The grammar does not depend on the programming language. A citation is a run of consecutive lines: meta lines
(`//= …`), then quoted lines (`//# …`), each after optional white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache

from contextive.trace.level import CitationType, Level
from contextive.trace.specification import Format
from contextive.trace.target import TargetQuery
from contextive.trace.text import SPACE_IN_LINE, WHITESPACE, quoted

_INDENT = f"{SPACE_IN_LINE}*+"


@dataclass(frozen=True, slots=True)
class Location:
    """A position in a file, 1-based."""

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error or warning, its location and, if known, how to fix it."""

    code: str
    message: str
    location: Location
    label: str = ""
    help: str = ""
    fatal: bool = True


@dataclass(frozen=True, slots=True)
class CommentStyle:
    """The prefixes of meta lines and quoted lines."""

    meta: str = "//="
    content: str = "//#"


DEFAULT_STYLE = CommentStyle()
_NO_LOCATION = Location("", 0)


@dataclass(frozen=True, slots=True)
class Citation:
    """One citation, as written. Those with `type=spec` are the requirements themselves.

    Two citations are equal if they have the same content on the same line; columns are not compared.
    """

    source: str
    line: int
    type: CitationType
    target: str
    quote: str
    level: Level = Level.AUTO
    format: Format = Format.AUTO
    comment: str = ""
    feature: str = ""
    tracking_issue: str = ""
    tags: tuple[str, ...] = ()
    blob_link: str | None = None
    base: str | None = None
    """The file whose directories are searched for a relative target; None means the project directory."""
    target_location: Location = field(default=_NO_LOCATION, compare=False)
    quote_location: Location = field(default=_NO_LOCATION, compare=False)
    quote_end: Location = field(default=_NO_LOCATION, compare=False)
    text: str = field(default="", compare=False)
    """The first line of the citation in the file."""
    end_line: int = field(default=0, compare=False)

    def with_type(self, kind: CitationType) -> Citation:
        return replace(self, type=kind)

    ##= docs/spec/trace.md#citation-comments
    ##% The id of a citation MUST be its path and the number of its first line, separated by a colon.
    @property
    def id(self) -> str:
        return f"{self.source}:{self.line}"

    @property
    def target_path(self) -> str:
        return self.target.partition("#")[0]

    @property
    def target_query(self) -> TargetQuery:
        return TargetQuery(self.target_path, self.format, self.base)

    @property
    def section_id(self) -> str | None:
        _, mark, section = self.target.partition("#")
        return section if mark else None


@dataclass(frozen=True, eq=False)
class ParsedFile:
    """The citations of one file and its problems. Compared by identity; see `is_same_content`."""

    citations: tuple[Citation, ...]
    problems: tuple[Problem, ...] = ()

    @cached_property
    def queries(self) -> tuple[TargetQuery, ...]:
        """The distinct targets of its citations."""
        return tuple(dict.fromkeys(citation.target_query for citation in self.citations))

    def is_same_content(self, other: ParsedFile) -> bool:
        """Whether two files have the same citations and problems at the same locations."""
        return self.problems == other.problems and _all_fields(self) == _all_fields(other)


def _all_fields(parsed: ParsedFile) -> list[list[object]]:
    names = [each.name for each in fields(Citation)]
    return [[getattr(citation, name) for name in names] for citation in parsed.citations]


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str
    is_meta: bool
    value: str
    """The text after the prefix, without leading white space."""


@dataclass(frozen=True, slots=True)
class _Grammar:
    """The patterns of a comment style."""

    meta: re.Pattern[str]
    """The prefix of a meta line."""
    line: re.Pattern[str]
    """The start of any line of a citation; the group matches only in a meta line."""


@lru_cache(maxsize=64)
def _grammar(style: CommentStyle) -> _Grammar:
    meta, content = re.escape(style.meta), re.escape(style.content)
    return _Grammar(re.compile(meta), re.compile(f"^{_INDENT}(?:({meta})|{content})", re.MULTILINE))


def parse_citations(
    text: str,
    path: str,
    style: CommentStyle = DEFAULT_STYLE,
    default_type: CitationType = CitationType.CITATION,
    blob_link: str | None = None,
) -> ParsedFile:
    """The citations in a source file, and the problems of those that cannot be parsed."""
    grammar = _grammar(style)
    reader = _CitationParser(path, default_type, blob_link)
    number, counted, start = 1, 0, 0
    while start < len(text) and (found := grammar.meta.search(text, start)) is not None:
        start = text.rfind("\n", start, found.start()) + 1 or start
        number, counted = number + text.count("\n", counted, start), start
        for line in _citation_lines(text, start, number, grammar.line):
            reader.add_line(line)
            start = _next_line(text, start)
        if start == counted:
            start = _next_line(text, found.start())  # something else is before the prefix
        reader.finish_citation()
    return ParsedFile(tuple(reader.citations), tuple(reader.problems))


def _citation_lines(text: str, start: int, number: int, pattern: re.Pattern[str]) -> Iterator[_Line]:
    """The lines of a citation and of those directly after it. Quoted lines before the first meta line are ignored."""
    match = pattern.match(text, start)
    if match is None or match.group(1) is None:
        return
    while match is not None:
        begin, start = start, _next_line(text, start)
        line = text[begin : start - 1].removesuffix("\r") if start <= len(text) else text[begin:]
        value = line[match.end() - begin :].lstrip(WHITESPACE)
        yield _Line(number, line, match.lastindex is not None, value)
        number += 1
        match = pattern.match(text, start) if start < len(text) else None


def _next_line(text: str, offset: int) -> int:
    """The start of the next line after an offset; past the end of the text if there is none."""
    end = text.find("\n", offset)
    return end + 1 if end >= 0 else len(text) + 1


def _column(before: str) -> int:
    """The column after the text before it on the line. Columns are counted in bytes."""
    return (len(before) if before.isascii() else len(before.encode("utf-8", "surrogatepass"))) + 1


class _Meta:
    """The values of a citation's meta lines."""

    def __init__(self, line: int, location: Location, text: str, problems_before: int) -> None:
        self.line = line
        """The number of the first meta line …"""
        self.location = location
        """… and the location of its value."""
        self.text = text
        self.problems_before = problems_before
        self.target: str | None = None
        self.target_location: Location | None = None
        self.type: CitationType | None = None
        self.level: Level | None = None
        self.format: Format | None = None
        self.reasons: list[tuple[str, Location]] = []
        self.feature: tuple[str, Location] | None = None
        self.tracking_issue: tuple[str, Location] | None = None
        self.seen: dict[str, Location] = {}
        """The fields that are set, and where."""


class _CitationParser:
    """Builds citations from lines. An error makes one citation invalid, never the whole file."""

    def __init__(self, path: str, default_type: CitationType, blob_link: str | None) -> None:
        self.citations: list[Citation] = []
        self.problems: list[Problem] = []
        self._path = path
        self._default_type = default_type
        self._blob_link = blob_link
        self._meta: _Meta | None = None
        self._quote: list[_Line] = []
        self._last = 0

    ##= docs/spec/trace.md#citation-comments
    ##% A citation MUST be a contiguous run of comment lines: meta lines first, then quoted lines.
    def add_line(self, line: _Line) -> None:
        if line.number > self._last + 1 or (line.is_meta and self._quote):
            self.finish_citation()
        self._last = line.number
        if not line.is_meta:
            if line.value:
                self._quote.append(line)
            return
        self._set_field(line)

    def finish_citation(self) -> None:
        """Finish the current citation, if any. Quoted lines without a meta line before them are ignored."""
        meta, quote = self._meta, self._quote
        self._meta, self._quote = None, []
        if meta is not None:
            self._build_citation(meta, quote)

    def _value_location(self, line: _Line) -> Location:
        return Location(self._path, line.number, _column(line.text[: len(line.text) - len(line.value)]))

    def _value_end(self, line: _Line) -> Location:
        trailing = len(line.value) - len(line.value.rstrip(WHITESPACE))
        return Location(self._path, line.number, _column(line.text[: len(line.text) - trailing]))

    ##= docs/spec/trace.md#citation-comments
    ##% An unknown field, a second value for a field, or a field that the type does not allow MUST be an error, except
    ##% that a second reason is allowed.
    def _set_field(self, line: _Line) -> None:
        key, equals, value = line.value.partition("=")
        if not equals:
            key, value, location = "source", key.rstrip(WHITESPACE), self._value_location(line)
        else:
            # The location of an empty value is right after the `=`.
            offset = len(line.text) - len(value.lstrip(WHITESPACE) or value)
            location = Location(self._path, line.number, _column(line.text[:offset]))
            key, value = key.rstrip(WHITESPACE), value.strip(WHITESPACE)
        if self._meta is None:
            self._meta = _Meta(line.number, location, line.text, len(self.problems))
        meta = self._meta
        match key:
            case "source":
                meta.target, meta.target_location = value, location
            case "type":
                if (kind := CitationType.parse(value)) is None:
                    self._add_problem(
                        "invalid_type", _not_one_of("annotation type", value, _TYPES), location, "error here"
                    )
                    return
                meta.type = kind
            case "level":
                if value not in Level.__members__:
                    self._add_problem(
                        "invalid_level", _not_one_of("annotation level", value, _LEVELS), location, "error here"
                    )
                    return
                meta.level = Level[value]
            case "format":
                if (form := Format.parse(value)) is None:
                    self._add_problem(
                        "invalid_format", _not_one_of("spec type", value, _FORMATS), location, "error here"
                    )
                    return
                meta.format = form
            case "reason":
                meta.reasons.append((value, location))
                return
            case "feature":
                meta.feature = (value, location)
            case "tracking-issue":
                meta.tracking_issue = (value, location)
            case _:
                self._add_problem("invalid_field", "invalid metadata field", self._value_location(line))
                return
        if key in meta.seen:
            self._add_problem("repeated_field", f'"{key}" already specified', meta.seen[key], "already defined here")
        meta.seen[key] = location

    ##= docs/spec/trace.md#citation-comments
    ##% A citation without a target, or with a target that has no section, MUST be an error.
    def _build_citation(self, meta: _Meta, quote: list[_Line]) -> None:
        if meta.target is None or meta.target_location is None:
            self._add_problem("missing_target", "comment is missing source specification", meta.location)
            return
        kind = meta.type or self._default_type
        if misplaced := _find_misplaced_field(kind, meta):
            self._add_problem("misplaced_field", f"invalid key for type {kind.value.upper()}", misplaced)
            return
        if meta.problems_before != len(self.problems):
            return  # one of its fields is wrong, so the citation is not used
        self.citations.append(
            Citation(
                source=self._path,
                line=meta.line,
                type=kind,
                target=meta.target,
                quote=" ".join([line.value.rstrip(WHITESPACE) for line in quote]),
                level=meta.level if meta.level is not None else Level.AUTO,
                format=meta.format or Format.AUTO,
                comment=" ".join([text for text, _ in meta.reasons]),
                feature=meta.feature[0] if meta.feature else "",
                tracking_issue=meta.tracking_issue[0] if meta.tracking_issue else "",
                blob_link=self._blob_link,
                target_location=meta.target_location,
                quote_location=self._value_location(quote[0]) if quote else meta.location,
                quote_end=self._value_end(quote[-1]) if quote else meta.location,
                text=meta.text.strip(WHITESPACE),
                end_line=self._last,
            )
        )

    def _add_problem(self, code: str, message: str, location: Location, label: str = "defined here") -> None:
        self.problems.append(Problem(code, message, location, label))


_TYPES = ("spec", "test", "implementation", "exception", "todo", "implication")
_LEVELS = ("AUTO", "MUST", "SHOULD", "MAY")
_FORMATS = ("auto", "ietf", "markdown")
_WITH_REASON = frozenset({CitationType.EXCEPTION, CitationType.IMPLICATION, CitationType.CITATION, CitationType.TEST})


def _not_one_of(what: str, found: str, allowed: tuple[str, ...]) -> str:
    choices = ", ".join(f'"{choice}"' for choice in allowed)
    return f"Invalid {what} {quoted(found)}, expected one of [{choices}]"


def _find_misplaced_field(kind: CitationType, meta: _Meta) -> Location | None:
    if meta.reasons and kind not in _WITH_REASON:
        return meta.reasons[0][1]
    if kind is not CitationType.TODO:
        for value in (meta.tracking_issue, meta.feature):
            if value is not None:
                return value[1]
    return None
