"""Parse `.duvet/config.toml`: specifications, sources and reports of a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextive.errors import ConfigError, ParseError
from contextive.toml.reader import read_toml
from contextive.trace.citation import DEFAULT_STYLE, CommentStyle
from contextive.trace.level import CitationType
from contextive.trace.specification import Format

SCHEMA = "https://awslabs.github.io/duvet/config/v0.4.0.json"
_SCHEMAS = frozenset(
    url + ending for url in (SCHEMA, "https://awslabs.github.io/duvet/config/v0.4.json") for ending in ("", "#")
)
_SOURCE_TYPES = {
    "implementation": CitationType.CITATION,
    **{kind.value: kind for kind in CitationType if kind is not CitationType.CITATION},
}
_FORMATS = {"ietf": Format.IETF, "IETF": Format.IETF, "markdown": Format.MARKDOWN, "md": Format.MARKDOWN}
##= docs/spec/trace.md#requirement-files
##% The TOML files below `.duvet/requirements`, `.duvet/exceptions` and `.duvet/todos` MUST be read as requirements,
##% exceptions and todos.
REQUIREMENT_PATTERNS = tuple(f".duvet/{folder}/**/*.toml" for folder in ("requirements", "todos", "exceptions"))


@dataclass(frozen=True, slots=True)
class SourcePattern:
    """Files with citations, and the comment style of these citations."""

    pattern: str
    style: CommentStyle = DEFAULT_STYLE
    type: CitationType = CitationType.CITATION
    blob_link: str | None = None


@dataclass(frozen=True, slots=True)
class SpecificationSource:
    """A specification whose requirements are extracted."""

    source: str
    format: Format = Format.AUTO


@dataclass(frozen=True, slots=True)
class ReportFile:
    """Whether a report is written, and where."""

    enabled: bool
    path: str


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """What a project traces. Paths are relative to the project directory."""

    sources: tuple[SourcePattern, ...] = ()
    specifications: tuple[SpecificationSource, ...] = ()
    requirement_patterns: tuple[str, ...] = REQUIREMENT_PATTERNS
    download_dir: str = ".duvet/specifications"
    requirements_dir: str = ".duvet/requirements"
    html: ReportFile = ReportFile(True, ".duvet/reports/report.html")
    json: ReportFile = ReportFile(False, ".duvet/reports/report.json")
    snapshot: ReportFile = ReportFile(False, ".duvet/snapshot.txt")
    blob_link: str | None = None
    issue_link: str | None = None
    config_path: str | None = None
    automatic: bool = False
    """Whether the sources were guessed. Then vendored and generated directories are skipped, and one walk finds all."""


##= docs/spec/trace.md#bad-input
##% A `.duvet/config.toml` with an unknown key or a wrong value MUST be refused with a message that names it.
def parse_duvet_config(text: str, config_path: str, environ: Mapping[str, str] | None) -> TraceSettings:
    """The settings in a config file. Raises `ConfigError`, which says what is wrong and what is allowed.

    If `environ` is None, links that use environment variables are left out.
    """
    try:
        document = read_toml(text)
    except ParseError as error:
        raise ConfigError(error.located_in(config_path)) from None
    reader = _ConfigReader(config_path, environ)
    schema = document.pop("$schema", None)
    if schema is None:
        raise reader.error("missing field `$schema`", f"Add: '$schema' = \"{SCHEMA}\"")
    if not isinstance(schema, str):
        raise reader.error("`$schema` must be a string", f"Known: {SCHEMA}")
    if schema not in _SCHEMAS:
        raise reader.error(f"unknown $schema {schema!r}", f"Known: {SCHEMA}")
    reader.reject_unknown_keys(document, "", {"source", "specification", "requirement", "report"})
    folder = config_path.rpartition("/")[0]
    report = reader.table(document, "report")
    reader.reject_unknown_keys(report, "report.", {"html", "json", "snapshot"})
    html = reader.table(report, "html", "report.")
    reader.reject_unknown_keys(html, "report.html.", {"enabled", "path", "blob-link", "issue-link"})
    patterns = []
    for entry in reader.tables(document, "requirement"):
        reader.reject_unknown_keys(entry, "requirement.", {"pattern"})
        patterns.append(reader.required(entry, "pattern", "requirement."))
    return TraceSettings(
        sources=tuple(reader.source(entry) for entry in reader.tables(document, "source")),
        specifications=tuple(reader.specification(entry) for entry in reader.tables(document, "specification")),
        requirement_patterns=(*REQUIREMENT_PATTERNS, *patterns),
        download_dir=f"{folder}/specifications" if folder else "specifications",
        requirements_dir=f"{folder}/requirements" if folder else "requirements",
        html=reader.report(html, "html", True, ".duvet/reports/report.html"),
        json=reader.report(reader.table(report, "json", "report."), "json", False, ".duvet/reports/report.json"),
        snapshot=reader.report(reader.table(report, "snapshot", "report."), "snapshot", False, ".duvet/snapshot.txt"),
        blob_link=reader.template(html, "blob-link"),
        issue_link=reader.template(html, "issue-link"),
        config_path=config_path,
    )


class _ConfigReader:
    def __init__(self, path: str, environ: Mapping[str, str] | None) -> None:
        self._path = path
        self._environ = environ

    def error(self, message: str, hint: str | None = None) -> ConfigError:
        return ConfigError(f"{self._path}: {message}.", hint=hint)

    def reject_unknown_keys(self, table: Mapping[str, Any], prefix: str, known: set[str]) -> None:
        if unknown := sorted(set(table) - known):
            raise self.error(f"unknown field `{prefix}{unknown[0]}`", f"Known: {', '.join(sorted(known))}.")

    def table(self, parent: Mapping[str, Any], key: str, prefix: str = "") -> dict[str, Any]:
        value = parent.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"`{prefix}{key}` must be a table")
        return value

    def tables(self, parent: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        value = parent.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self.error(f"`{key}` must be written as [[{key}]]")
        return value

    def text(self, table: Mapping[str, Any], key: str, default: str, prefix: str = "") -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"`{prefix}{key}` must be a string")
        return value

    def required(self, table: Mapping[str, Any], key: str, prefix: str) -> str:
        if key not in table:
            raise self.error(f"missing field `{prefix}{key}`")
        return self.text(table, key, "", prefix)

    ##= docs/spec/trace.md#citation-comments
    ##% The prefixes of meta lines and quoted lines MUST be configurable for each source pattern and default to `//=`
    ##% and `//#`.
    def source(self, entry: dict[str, Any]) -> SourcePattern:
        self.reject_unknown_keys(entry, "source.", {"pattern", "comment-style", "type", "blob-link"})
        style = self.table(entry, "comment-style", "source.")
        self.reject_unknown_keys(style, "source.comment-style.", {"meta", "content"})
        kind = self.text(entry, "type", "implementation", "source.")
        if kind not in _SOURCE_TYPES:
            raise self.error(f"unknown source type {kind!r}", f"Known: {', '.join(_SOURCE_TYPES)}.")
        return SourcePattern(
            pattern=self.required(entry, "pattern", "source."),
            style=CommentStyle(self.text(style, "meta", "//="), self.text(style, "content", "//#")),
            type=_SOURCE_TYPES[kind],
            blob_link=self.template(entry, "blob-link"),
        )

    def specification(self, entry: dict[str, Any]) -> SpecificationSource:
        self.reject_unknown_keys(entry, "specification.", {"source", "format"})
        word = self.text(entry, "format", "", "specification.")
        if word and word not in _FORMATS:
            raise self.error(f"unknown specification format {word!r}", f"Known: {', '.join(_FORMATS)}.")
        return SpecificationSource(self.text(entry, "source", ""), _FORMATS[word] if word else Format.AUTO)

    def report(self, table: dict[str, Any], name: str, enabled: bool, path: str) -> ReportFile:
        if name != "html":
            self.reject_unknown_keys(table, f"report.{name}.", {"enabled", "path"})
        value = table.get("enabled", enabled)
        if not isinstance(value, bool):
            raise self.error(f"`report.{name}.enabled` must be true or false")
        return ReportFile(value, self.text(table, "path", path, f"report.{name}."))

    def template(self, table: Mapping[str, Any], key: str) -> str | None:
        if key not in table:
            return None
        text = self.text(table, key, "")
        if self._environ is None and "${{" in text:
            return None
        pieces: list[str] = []
        position = 0
        while (start := text.find("${{", position)) >= 0 and (end := text.find("}}", start)) >= 0:
            pieces += text[position:start], self._evaluate(text[start + 3 : end])
            position = end + 2
        return "".join([*pieces, text[position:]])

    def _evaluate(self, expression: str) -> str:
        for choice in expression.split("||"):
            word = choice.strip()
            if word.startswith("'"):
                return word[1:].rstrip("'")
            if self._environ is not None and word in self._environ:
                return self._environ[word]
        raise self.error(f"failed to evaluate expression: {expression!r}", "Set one of its variables.")
