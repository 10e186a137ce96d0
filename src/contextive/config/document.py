"""Parses a configuration file into values, with their line numbers.

The YAML and TOML parsers are imported only when a file of that format is read, to keep other starts fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, Literal, TypeAlias

from contextive.config.json_text import json_lines, parse_json
from contextive.config.keypath import LineMap, dotted, nearest_line
from contextive.config.plain_data import TOO_DEEP, find_non_json_value
from contextive.errors import ConfigError, ParseError

Format: TypeAlias = Literal["json", "yaml", "toml"]

FORMATS: Final[Mapping[str, Format]] = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """A parsed file; the values are plain JSON data."""

    name: str
    format: Format
    text: str = field(repr=False)
    values: dict[str, Any] = field(repr=False)
    known_lines: LineMap | None = field(default=None, repr=False)

    def lines(self) -> LineMap:
        """The line of each key. JSON and TOML are scanned again for this, because only error messages need it."""
        if self.known_lines is not None:
            return self.known_lines
        if self.format == "json":
            return json_lines(self.text)
        from contextive.config.toml_lines import toml_lines

        return toml_lines(self.text)


def parse_config(name: str, content: bytes) -> ConfigDocument:
    """The document in a file with this name and content; raises ConfigError."""
    file_format = FORMATS.get(PurePath(name).suffix.lower())
    if file_format is None:
        raise ConfigError(f"{name}: unknown format.", hint="Use a .json, .yaml, .yml or .toml file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: not UTF-8 text.") from None
    try:
        values, known_lines = _parse(file_format, text)
        if not isinstance(values, dict):
            raise ParseError("the top level must be an object", 1)
        document = ConfigDocument(name, file_format, text, values, known_lines)
        if invalid := find_non_json_value(values):
            path, fault = invalid
            prefix = "" if fault == TOO_DEEP or not path else f"{dotted(path)}: "
            raise ParseError(prefix + fault, nearest_line(document.lines(), path))
    except ParseError as problem:
        raise ConfigError(problem.located_in(name)) from None
    return document


def _parse(file_format: Format, text: str) -> tuple[Any, LineMap | None]:
    match file_format:
        case "json":
            return parse_json(text), None
        case "yaml":
            from contextive.config.yaml_text import parse_yaml

            values, lines = parse_yaml(text)
            return ({} if values is None else values), lines
        case "toml":
            from contextive.toml.reader import read_toml

            return read_toml(text), None
