"""Requirement files: TOML with the requirements of a section, or with exceptions and todos that stand outside the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextive.errors import TextError
from contextive.toml.reader import read_toml
from contextive.trace.citation import Citation, ParsedFile, Place, Problem
from contextive.trace.level import CitationType, Level
from contextive.trace.specification import Format
from contextive.trace.text import SourceText, quoted, trim
from contextive.trace.toml_places import TablePlace, TomlPlaces, find_places

_LEVELS = '"AUTO", "MUST", "SHOULD", "MAY"'
_FORMATS = '"auto", "ietf", "markdown"'


@dataclass(frozen=True, slots=True)
class _Kind:
    type: CitationType
    names: tuple[str, ...]
    keys: frozenset[str]
    required: tuple[str, ...]


_KINDS = (
    _Kind(CitationType.SPEC, ("spec", "specs"), frozenset({"target", "level", "format", "quote"}), ("quote",)),
    _Kind(
        CitationType.EXCEPTION,
        ("exception", "exceptions"),
        frozenset({"target", "quote", "reason"}),
        ("quote", "reason"),
    ),
    _Kind(
        CitationType.TODO,
        ("todo", "TODO", "todos"),
        frozenset({"target", "quote", "feature", "tracking-issue", "tracking_issue", "reason", "tags"}),
        ("quote",),
    ),
)
_KIND_OF = {name: kind for kind in _KINDS for name in kind.names}


def parse_requirement_file(text: str, path: str) -> ParsedFile:
    """The requirements, exceptions and todos of one TOML file. A wrong form spoils the file, a wrong value its entry."""
    try:
        document = read_toml(text)
    except TextError as error:
        place = Place(path, error.line or 1, error.column or 1)
        return ParsedFile((), (Problem("invalid_toml", f"not a TOML file: {error.text}", place),))
    reader = _Reader(document, SourceText(text), path, find_places(text))
    if problem := reader.wrong_form():
        return ParsedFile((), (problem,))
    outcomes = list(reader.entries())
    return ParsedFile(
        tuple(outcome for outcome in outcomes if isinstance(outcome, Citation)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Problem)),
    )


def normalise_quote(text: str) -> str:
    """Each line trimmed, empty ones dropped, joined with one space."""
    return " ".join(line for line in (trim(piece) for piece in text.split("\n")) if line)


@dataclass(frozen=True, slots=True)
class _Reader:
    document: dict[str, Any]
    source: SourceText
    path: str
    places: TomlPlaces

    ##= docs/spec/trace.md#requirement-files
    ##% An unknown key in a requirement file, or an exception without a reason, MUST be an error.
    def wrong_form(self) -> Problem | None:
        """The first key that is unknown, missing, given twice, or of the wrong type."""
        for name, value in self.document.items():
            here = self._place(self.places.values.get(name, self.places.entry(name, 0).start))
            if name == "target":
                if not isinstance(value, str):
                    return Problem("invalid_value", "target must be a string", here)
            elif name not in _KIND_OF:
                return Problem("unknown_key", f"unknown field `{name}`", here)
            elif not isinstance(value, list):
                return Problem("invalid_value", f"{name} must be a list of tables", here)
            elif any(other in self.document for other in _KIND_OF[name].names if other != name):
                return Problem("repeated_key", f"`{name}` is given under two names", here)
            else:
                for index, entry in enumerate(value):
                    if problem := self._wrong_entry(_KIND_OF[name], entry, self.places.entry(name, index)):
                        return problem
        return None

    def _wrong_entry(self, kind: _Kind, entry: Any, place: TablePlace) -> Problem | None:
        here = self._place(place.start)
        if not isinstance(entry, dict):
            return Problem("invalid_value", "an entry must be a table", here)
        for key, value in entry.items():
            at = self._place(place.values.get(key, place.start))
            if key not in kind.keys:
                return Problem("unknown_key", f"unknown field `{key}`", at)
            if not isinstance(value, list if key == "tags" else str):
                return Problem("invalid_value", f"{key} has the wrong type", at)
        if not all(isinstance(tag, str) for tag in entry.get("tags", ())):
            return Problem("invalid_value", "tags must be strings", self._place(place.values.get("tags", place.start)))
        if "tracking-issue" in entry and "tracking_issue" in entry:
            return Problem("repeated_key", "`tracking-issue` is given under two names", here)
        for key in kind.required:
            if key not in entry:
                return Problem("missing_field", f"missing field `{key}`", here)
        return None

    def entries(self) -> list[Citation | Problem]:
        return [
            self._entry(_KIND_OF[name], entry, self.places.entry(name, index))
            for name, value in self.document.items()
            if name != "target"
            for index, entry in enumerate(value)
        ]

    def _entry(self, kind: _Kind, entry: dict[str, Any], place: TablePlace) -> Citation | Problem:
        here = self._place(place.start)
        target = entry.get("target", self.document.get("target"))
        if target is None:
            return Problem("missing_target", "missing target", here)
        level = entry.get("level", Level.AUTO.name)
        if level not in Level.__members__:
            message = f"Invalid annotation level {quoted(level)}, expected one of [{_LEVELS}]"
            return Problem("invalid_level", message, self._place(place.values["level"]), "defined here")
        form = Format.parse(entry.get("format", "auto"))
        if form is None:
            message = f"Invalid spec type {quoted(entry['format'])}, expected one of [{_FORMATS}]"
            return Problem("invalid_format", message, self._place(place.values["format"]), "defined here")
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
            target_place=self._place(place.values.get("target", self.places.values.get("target", 0))),
            quote_place=self._place(place.values.get("quote", place.start)),
            quote_end=here,
            text=f"[[{kind.type.value}]]",
            end_line=here.line,
        )

    def _place(self, offset: int) -> Place:
        return Place(self.path, self.source.line_of(offset), self.source.byte_column_of(offset))
