"""Converts strings from the environment to the type of their setting.

A string that cannot be converted stays a string, and validation reports it like any other wrong value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from contextive.config.json_text import parse_json
from contextive.config.keypath import KeyPath
from contextive.config.plain_data import find_non_json_value
from contextive.config.settings import Rule, nullable_at, resolve_rule, rule_at
from contextive.errors import ParseError

_BOOLEANS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
# The bounds keep both conversions below Python's limit on digits, and away from infinity.
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,100}")
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]{1,100}(?:\.[0-9]{0,100})?|\.[0-9]{1,100})(?:[eE][-+]?[0-9]{1,2})?")


def coerce_scalar(text: str, path: KeyPath) -> Any:
    """The text as a number or boolean if the setting is one. Empty text is null if the setting may be null."""
    if not text and nullable_at(path):
        return None
    match _type_at(path):
        case "boolean":
            return _BOOLEANS.get(text.strip().lower(), text)
        case "integer" if _INTEGER.fullmatch(text.strip()):
            return int(text)
        case "number" if _NUMBER.fullmatch(text.strip()):
            return float(text)
        case _:
            return text


def coerce_override(text: str, path: KeyPath) -> Any:
    """The text as the value of any setting: like `coerce_scalar`, but also for lists and objects."""
    rule = rule_at(path)
    match _type_at(path):
        case "array":
            return _coerce_list(text, rule or {})
        case "object" | None:
            return _json_or_text(text)
        case _:
            return coerce_scalar(text, path)


def _type_at(path: KeyPath) -> str | None:
    kind = (rule_at(path) or {}).get("type")
    return str(kind) if kind else None


def _coerce_list(text: str, rule: Rule) -> Any:
    if text.lstrip().startswith("[") or resolve_rule(rule.get("items", {})).get("type") != "string":
        return _json_or_text(text)
    return [item.strip() for item in text.split(",") if item.strip()]


def _json_or_text(text: str) -> Any:
    try:
        value = parse_json(text)
    except ParseError:
        return text
    return text if find_non_json_value(value) else value
