"""Requirement files: TOML with the requirements of a section, or with exceptions and todos kept outside the code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextive.errors import ParseError
from contextive.toml.reader import read_toml
from contextive.trace.citation import Citation, Location, ParsedFile, Problem
from contextive.trace.level import CitationType, Level
from contextive.trace.specification import Format
from contextive.trace.text import SourceText, quoted, trim
from contextive.trace.toml_positions import TablePositions, TomlPositions, find_positions

_LEVELS = '"AUTO", "MUST", "SHOULD", "MAY"'
_MAX_ENTRY_LINES = 60
_FORMATS = '"auto", "ietf", "markdown"'


@dataclass(frozen=True, slots=True)
class _EntryKind:
    type: CitationType
    names: tuple[str, ...]
    keys: frozenset[str]
    required: tuple[str, ...]


_KINDS = (
    _EntryKind(CitationType.SPEC, ("spec", "specs"), frozenset({"target", "level", "format", "quote"}), ("quote",)),
    _EntryKind(
        CitationType.EXCEPTION,
        ("exception", "exceptions"),
        frozenset({"target", "quote", "reason"}),
        ("quote", "reason"),
    ),
    _EntryKind(
        CitationType.TODO,
        ("todo", "TODO", "todos"),
        frozenset({"target", "quote", "feature", "tracking-issue", "tracking_issue", "reason", "tags"}),
        ("quote",),
    ),
)
_KIND_BY_NAME = {name: kind for kind in _KINDS for name in kind.names}


def parse_requirement_file(text: str, path: str) -> ParsedFile:
    """The requirements, exceptions and todos of one TOML file.

    A wrong key or type makes the whole file invalid; a wrong value makes only its entry invalid.
    """
    try:
        document = read_toml(text)
    except ParseError as error:
        location = Location(path, error.line or 1, error.column or 1)
        return ParsedFile((), (Problem("invalid_toml", f"not a TOML file: {error.text}", location),))
    reader = _RequirementFileParser(document, SourceText(text), path, find_positions(text))
    if problem := reader.find_structure_problem():
        return ParsedFile((), (problem,))
    outcomes = list(reader.parse_entries())
    return ParsedFile(
        tuple(outcome for outcome in outcomes if isinstance(outcome, Citation)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Problem)),
    )


def normalise_quote(text: str) -> str:
    """Each line trimmed, empty ones dropped, joined with one space."""
    return " ".join(line for line in (trim(piece) for piece in text.split("\n")) if line)


def entry_lines(lines: Sequence[str], first: int) -> list[str]:
    """The lines of the entry that begins at an index, as written."""
    kept = [lines[first].strip()]
    quotes = 0
    for line in lines[first + 1 : first + _MAX_ENTRY_LINES]:
        if quotes % 2 == 0 and line.lstrip().startswith("["):
            break
        quotes += line.count("'''") + line.count('"""')
        kept.append(line.rstrip())
    while not kept[-1]:
        kept.pop()
    return kept


@dataclass(frozen=True, slots=True)
class _RequirementFileParser:
    document: dict[str, Any]
    source: SourceText
    path: str
    positions: TomlPositions

    ##= docs/spec/trace.md#requirement-files
    ##% An unknown key in a requirement file, or an exception without a reason, MUST be an error.
    def find_structure_problem(self) -> Problem | None:
        """The first key that is unknown, missing, repeated, or has a value of the wrong type."""
        for name, value in self.document.items():
            here = self._location(self.positions.values.get(name, self.positions.entry(name, 0).start))
            if name == "target":
                if not isinstance(value, str):
                    return Problem("invalid_value", "target must be a string", here)
            elif name not in _KIND_BY_NAME:
                return Problem("unknown_key", f"unknown field `{name}`", here)
            elif not isinstance(value, list):
                return Problem("invalid_value", f"{name} must be a list of tables", here)
            elif any(other in self.document for other in _KIND_BY_NAME[name].names if other != name):
                return Problem("repeated_key", f"`{name}` is given under two names", here)
            else:
                for index, entry in enumerate(value):
                    if problem := self._find_entry_problem(
                        _KIND_BY_NAME[name], entry, self.positions.entry(name, index)
                    ):
                        return problem
        return None

    def _find_entry_problem(self, kind: _EntryKind, entry: Any, table: TablePositions) -> Problem | None:
        here = self._location(table.start)
        if not isinstance(entry, dict):
            return Problem("invalid_value", "an entry must be a table", here)
        for key, value in entry.items():
            at = self._location(table.values.get(key, table.start))
            if key not in kind.keys:
                return Problem("unknown_key", f"unknown field `{key}`", at)
            if not isinstance(value, list if key == "tags" else str):
                return Problem("invalid_value", f"{key} has the wrong type", at)
        if not all(isinstance(tag, str) for tag in entry.get("tags", ())):
            return Problem(
                "invalid_value", "tags must be strings", self._location(table.values.get("tags", table.start))
            )
        if "tracking-issue" in entry and "tracking_issue" in entry:
            return Problem("repeated_key", "`tracking-issue` is given under two names", here)
        for key in kind.required:
            if key not in entry:
                return Problem("missing_field", f"missing field `{key}`", here)
        return None

    def parse_entries(self) -> list[Citation | Problem]:
        return [
            self._parse_entry(_KIND_BY_NAME[name], entry, self.positions.entry(name, index))
            for name, value in self.document.items()
            if name != "target"
            for index, entry in enumerate(value)
        ]

    def _parse_entry(self, kind: _EntryKind, entry: dict[str, Any], table: TablePositions) -> Citation | Problem:
        here = self._location(table.start)
        target = entry.get("target", self.document.get("target"))
        if target is None:
            return Problem("missing_target", "missing target", here)
        level = entry.get("level", Level.AUTO.name)
        if level not in Level.__members__:
            message = f"Invalid annotation level {quoted(level)}, expected one of [{_LEVELS}]"
            return Problem("invalid_level", message, self._location(table.values["level"]), "defined here")
        form = Format.parse(entry.get("format", "auto"))
        if form is None:
            message = f"Invalid spec type {quoted(entry['format'])}, expected one of [{_FORMATS}]"
            return Problem("invalid_format", message, self._location(table.values["format"]), "defined here")
        raw = entry["quote"]
        return Citation(
            source=self.path,
            line=here.line,
            type=kind.type,
            target=target,
            quote=normalise_quote(raw),
            level=Level[level],
            format=form,
            comment=raw if kind.type is CitationType.SPEC else entry.get("reason", ""),
            feature=entry.get("feature", ""),
            tracking_issue=entry.get("tracking-issue", entry.get("tracking_issue", "")),
            tags=tuple(sorted(set(entry.get("tags", ())))),
            base=self.path,
            target_location=self._location(table.values.get("target", self.positions.values.get("target", 0))),
            quote_location=self._location(table.values.get("quote", table.start)),
            quote_end=here,
            text=f"[[{kind.type.value}]]",
            end_line=here.line,
        )

    def _location(self, offset: int) -> Location:
        return Location(self.path, self.source.line_of(offset), self.source.byte_column_of(offset))
