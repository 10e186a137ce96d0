"""Requirement files: TOML with the requirements of a section, or with exceptions and todos that stand outside the code."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from contextive.trace.citation import Citation, ParsedFile, Place, Problem
from contextive.trace.level import CitationType, Level
from contextive.trace.specification import Format
from contextive.trace.text import trim

_HEADER = re.compile(r"^\s*\[\[\s*([A-Za-z0-9_-]+)\s*\]\]")
_KEY = re.compile(r"^\s*([A-Za-z0-9_-]+)\s*=\s*")
_ERROR_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_MULTILINE = ("'''", '"""')


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
    """The requirements, exceptions and todos of one TOML file. One problem spoils the file, as it does in duvet."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as failure:
        return ParsedFile((), (_syntax_problem(str(failure), path),))
    positions = _positions(text)
    unknown = sorted(set(document) - _KIND_OF.keys() - {"target"})
    if unknown:
        line = positions.keys.get(unknown[0], 1)
        return _refused("unknown_key", f"unknown field `{unknown[0]}`", Place(path, line))
    default = document.get("target")
    if default is not None and not isinstance(default, str):
        return _refused("invalid_value", "target must be a string", Place(path, positions.keys.get("target", 1)))
    citations: list[Citation] = []
    for name, kind in _KIND_OF.items():
        entries = document.get(name, [])
        if not isinstance(entries, list):
            return _refused(
                "invalid_value", f"{name} must be a list of tables", Place(path, positions.keys.get(name, 1))
            )
        for index, entry in enumerate(entries):
            place = positions.entry(name, index)
            outcome = _entry(kind, entry, default, path, place, positions.keys.get("target", 1))
            if isinstance(outcome, Problem):
                return ParsedFile((), (outcome,))
            citations.append(outcome)
    return ParsedFile(tuple(citations))


def _entry(
    kind: _Kind, entry: Any, default: str | None, path: str, place: _EntryPlace, target_line: int
) -> Citation | Problem:
    here = Place(path, place.line)
    if not isinstance(entry, dict):
        return Problem("invalid_value", "an entry must be a table", here)
    for key, value in entry.items():
        if key not in kind.keys:
            return Problem("unknown_key", f"unknown field `{key}`", Place(path, place.keys.get(key, place.line)))
        wanted = list if key == "tags" else str
        if not isinstance(value, wanted):
            return Problem("invalid_value", f"{key} has the wrong type", Place(path, place.keys.get(key, place.line)))
    for key in kind.required:
        if key not in entry:
            return Problem("missing_field", f"missing field `{key}`", here)
    target = entry.get("target", default)
    if target is None:
        return Problem("missing_target", "missing target", here)
    level = Level[entry["level"]] if entry.get("level") in Level.__members__ else None
    if "level" in entry and level is None:
        words = '"AUTO", "MUST", "SHOULD", "MAY"'
        message = f'Invalid annotation level "{entry["level"]}", expected one of [{words}]'
        return Problem("invalid_level", message, Place(path, place.keys.get("level", place.line)), "defined here")
    format_ = Format.parse(entry["format"]) if "format" in entry else Format.AUTO
    if format_ is None:
        message = f'Invalid spec type "{entry["format"]}", expected one of ["auto", "ietf", "markdown"]'
        return Problem("invalid_format", message, Place(path, place.keys.get("format", place.line)), "defined here")
    raw = entry["quote"]
    return Citation(
        source=path,
        line=place.line,
        type=kind.type,
        target=target,
        quote=normalise_quote(raw),
        level=level if level is not None else Level.AUTO,
        format=format_,
        comment=raw if kind.type is CitationType.SPEC else entry.get("reason", ""),
        feature=entry.get("feature", ""),
        tracking_issue=str(entry.get("tracking-issue", entry.get("tracking_issue", ""))),
        tags=tuple(sorted({str(tag) for tag in entry.get("tags", ())})),
        base=path,
        target_place=Place(path, place.keys.get("target", target_line), 10),
        quote_place=Place(path, place.keys.get("quote", place.line), 9),
        text=f"[[{kind.type.value}]]",
        end_line=place.line,
    )


def normalise_quote(text: str) -> str:
    """Each line trimmed, empty ones dropped, joined with one space."""
    return " ".join(line for line in (trim(piece) for piece in text.split("\n")) if line)


@dataclass(frozen=True, slots=True)
class _EntryPlace:
    line: int
    keys: dict[str, int]


@dataclass(slots=True)
class _Positions:
    keys: dict[str, int]
    entries: dict[str, list[_EntryPlace]]

    def entry(self, name: str, index: int) -> _EntryPlace:
        known = self.entries.get(name, [])
        return known[index] if index < len(known) else _EntryPlace(self.keys.get(name, 1), {})


def _positions(text: str) -> _Positions:
    """On which line each table and key stands. Strings over several lines are stepped over."""
    found = _Positions({}, {})
    current: _EntryPlace | None = None
    inside: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if inside is not None:
            if inside in line:
                inside = None
            continue
        if header := _HEADER.match(line):
            current = _EntryPlace(number, {})
            found.entries.setdefault(header.group(1), []).append(current)
        elif key := _KEY.match(line):
            (found.keys if current is None else current.keys).setdefault(key.group(1), number)
            rest = line[key.end() :]
            for mark in _MULTILINE:
                if rest.startswith(mark) and mark not in rest[3:]:
                    inside = mark
    return found


def _syntax_problem(message: str, path: str) -> Problem:
    place = _ERROR_PLACE.search(message)
    line, column = (int(place.group(1)), int(place.group(2))) if place else (1, 1)
    return Problem(
        "invalid_toml", f"not a TOML file: {_ERROR_PLACE.sub('', message).strip()}", Place(path, line, column)
    )


def _refused(code: str, message: str, place: Place) -> ParsedFile:
    return ParsedFile((), (Problem(code, message, place),))
