"""Error messages for an invalid configuration: they name the key, what was found and what is allowed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from contextive.config.document import ConfigDocument
from contextive.config.environment import EnvironmentOverrides
from contextive.config.keypath import KeyPath, LineMap, dotted, nearest_line, quoted, value_at
from contextive.config.settings import Rule, describe_rule, rule_at
from contextive.config.values import NAME_PATTERN, PATTERN_DESCRIPTIONS
from contextive.errors import ConfigError

HIDDEN: Final = "(hidden)"
_MAX_SHOWN: Final = 10
_SECRET_KEYS: Final = frozenset({"apiKey", "embeddingKey", "readerToken", "adminToken", "dsn", "sha256"})
# A secret that is one level too high must not be shown either.
_SECRET_SECTIONS: Final = frozenset({"providers", "auth", "store"})
_KEY_MARK: Final = "[key]"  # pydantic's last location part for a fault in a key of a map


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One error, in the document or in an environment variable."""

    path: KeyPath
    text: str
    variable: str | None = None
    shown_path: str | None = None


@dataclass(frozen=True, slots=True)
class ValueOrigins:
    """Where the values come from: to name the source in messages, and to know which values must be hidden."""

    values: Mapping[str, Any]
    overrides: EnvironmentOverrides
    expanded: frozenset[KeyPath]

    def problem(self, path: KeyPath, text: str) -> ConfigProblem:
        """The problem, with the environment variable that caused it, if there is one."""
        source = self.overrides.source_of(path)
        return ConfigProblem(path, text, source[1] if source else None)

    ##= docs/spec/host.md#validation
    ##% A configuration error MUST NOT show a secret or the value of a variable.
    def must_hide(self, path: KeyPath, value: Any, rule: Rule) -> bool:
        """Whether the value at the path must not be shown."""
        if self.overrides.source_of(path) or path in self.expanded or _SECRET_KEYS.intersection(map(str, path)):
            return True
        if rule.get("type") in {"object", "array"}:
            return True
        return isinstance(value, str) and (path[0] in _SECRET_SECTIONS or "@" in value)


def unknown_keys(error: ValidationError) -> list[ConfigProblem]:
    """The unknown keys among pydantic's errors."""
    found = (_loc(details) for details in error.errors(include_url=False) if details["type"] == "extra_forbidden")
    return [ConfigProblem(path, _unknown_key(path)) for path in found]


def describe_errors(error: ValidationError, origins: ValueOrigins) -> list[ConfigProblem]:
    """Pydantic's errors as problems."""
    return [
        _describe_error(details, origins)
        for details in error.errors(include_url=False)
        if not _follows_from_items(details, origins)
    ]


##= docs/spec/host.md#validation
##% A configuration error SHOULD name the line of the file.
##= docs/spec/host.md#validation
##% All errors in a configuration SHOULD be reported together.
def as_config_error(problems: Iterable[ConfigProblem], document: ConfigDocument | None) -> ConfigError:
    """One error that lists the first ten problems, ordered by line."""
    lines = document.lines() if document else {}
    unique = {(problem.path, problem.variable): problem for problem in reversed(list(problems))}
    ordered = sorted(unique.values(), key=lambda problem: _sort_key(problem, lines))
    shown = [_format_problem(problem, document, lines) for problem in ordered[:_MAX_SHOWN]]
    if len(ordered) > _MAX_SHOWN:
        shown.append(f"and {len(ordered) - _MAX_SHOWN} more")
    return ConfigError("\n".join(shown))


##= docs/spec/host.md#validation
##% A configuration error MUST name the key, what was found, and what is allowed.
def _describe_error(details: ErrorDetails, origins: ValueOrigins) -> ConfigProblem:
    path = _loc(details)
    match details["type"]:
        case "extra_forbidden":
            return _unknown_key_problem(path, origins)
        case "missing":
            return origins.problem(path, "required key is missing")
        case "one_action" | "one_operator":
            return origins.problem(path, details["msg"])
        case _ if details["loc"][-1] == _KEY_MARK:
            allowed = PATTERN_DESCRIPTIONS[NAME_PATTERN] if path[0] != "routing" else "non-empty string"
            return origins.problem(path, f"the key is not allowed here, allowed: {allowed}")
        case _:
            rule = rule_at(path) or {}
            return origins.problem(
                path, f"found {_describe_value(path, rule, origins)}, allowed: {describe_rule(rule)}"
            )


def _follows_from_items(details: ErrorDetails, origins: ValueOrigins) -> bool:
    # Pydantic counts only valid items, so it also calls a list with one invalid item too short.
    return details["type"] == "too_short" and bool(value_at(origins.values, _loc(details)))


def _loc(details: ErrorDetails) -> KeyPath:
    path = details["loc"]
    return path[:-1] if path and path[-1] == _KEY_MARK else path


def _unknown_key_problem(path: KeyPath, origins: ValueOrigins) -> ConfigProblem:
    source = origins.overrides.source_of(path)
    if source is None:
        return ConfigProblem(path, _unknown_key(path))
    # The key is part of the variable's value, so it is hidden like the rest of it.
    return ConfigProblem(path, f"unknown key {HIDDEN}", source[1], shown_path=dotted(path[:-1]))


def _unknown_key(path: KeyPath) -> str:
    parent = rule_at(path[:-1]) or {}
    close = difflib.get_close_matches(str(path[-1]), parent.get("properties", {}), n=1)
    return "unknown key" + (f"; did you mean {quoted(close[0])}?" if close else "")


def _describe_value(path: KeyPath, rule: Rule, origins: ValueOrigins) -> str:
    try:
        value = value_at(origins.values, path)
    except LookupError:
        return "nothing"
    match value:
        case dict():
            return "an object"
        case list():
            return "an empty list" if not value else "a list"
        case None:
            return "null"
        case _ if origins.must_hide(path, value, rule):
            return HIDDEN
        case bool():
            return f"{json.dumps(value)} (boolean)"
        case str():
            return f"{quoted(value)} (string)"
        case int() if value.bit_length() > 256:  # its digits would fill the terminal
            return "a very large integer"
        case _:
            return f"{value} ({'integer' if isinstance(value, int) else 'number'})"


def _sort_key(problem: ConfigProblem, lines: LineMap) -> tuple[bool, int, str]:
    return (
        problem.variable is not None,
        nearest_line(lines, problem.path) or 0,
        problem.variable or dotted(problem.path),
    )


def _format_problem(problem: ConfigProblem, document: ConfigDocument | None, lines: LineMap) -> str:
    if problem.variable is not None:
        origin = problem.variable
    elif document is not None:
        line = nearest_line(lines, problem.path)
        origin = document.name if line is None else f"{document.name}:{line}"
    else:
        origin = "configuration"
    path = dotted(problem.path) if problem.shown_path is None else problem.shown_path
    return ": ".join(part for part in (origin, path, problem.text) if part)
