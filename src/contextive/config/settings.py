"""All settings with their types as text, and the schema rule for a path.

Everything is read from the generated JSON Schema, so a new field needs no change here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from contextive.config.keypath import KeyPath
from contextive.config.schema import shared_json_schema
from contextive.config.values import PATTERN_DESCRIPTIONS

Rule: TypeAlias = Mapping[str, Any]


class Setting(NamedTuple):
    """A setting for the documentation; `default` is JSON text, or the word `required`."""

    key: str
    type: str
    default: str
    description: str


def rule_at(path: KeyPath) -> Rule | None:
    """The rule for the value at the path; None if the schema has no such path, {} if any value is allowed."""
    rule: Rule | None = shared_json_schema()
    for part in path:
        if rule is None:
            return None
        rule = child_rule(rule, part)
    return None if rule is None else resolve_rule(rule)


def child_rule(rule: Rule, part: str | int) -> Rule | None:
    """The rule for a key of an object or an index of a list."""
    rule = resolve_rule(rule)
    if isinstance(part, int):
        items: Rule | None = rule.get("items")
        return items
    properties: Mapping[str, Rule] = rule.get("properties", {})
    if part in properties:
        return properties[part]
    return entry_rule(rule)


def entry_rule(rule: Rule) -> Rule | None:
    """The rule for an entry whose key the user chooses; None if the keys are fixed."""
    if not rule:
        return {}  # anything is allowed here
    match rule.get("additionalProperties"):
        case True:
            return {}
        case Mapping() as values:
            return values
        case _:
            return None


def resolve_rule(rule: Rule) -> Rule:
    """The rule with references resolved and `or null` removed."""
    if "$ref" in rule:
        name = str(rule["$ref"]).rpartition("/")[2]
        return resolve_rule(shared_json_schema()["$defs"][name])
    if "anyOf" in rule:
        return resolve_rule(next(choice for choice in rule["anyOf"] if choice.get("type") != "null"))
    return rule


def allows_null(rule: Rule) -> bool:
    """Whether the value may be null, which means "not set"."""
    return any(choice.get("type") == "null" for choice in rule.get("anyOf", ()))


def nullable_at(path: KeyPath) -> bool:
    """Whether the setting at the path may be null."""
    parent = rule_at(path[:-1])
    rule = child_rule(parent, path[-1]) if parent is not None else None
    return rule is not None and allows_null(rule)


def describe_rule(rule: Rule) -> str:
    """What the rule allows, as text: `integer from 1 to 65535`."""
    rule = resolve_rule(rule)
    if "enum" in rule:
        return ", ".join(str(value) for value in rule["enum"])
    if rule.get("pattern") in PATTERN_DESCRIPTIONS:
        return PATTERN_DESCRIPTIONS[rule["pattern"]]
    match rule.get("type"):
        case "integer" | "number" as kind:
            return f"{kind}{_describe_range(rule)}"
        case "boolean":
            return "true or false"
        case "string" if rule.get("minLength"):
            return "non-empty string"
        case "array":
            emptiness = "non-empty list" if rule.get("minItems") else "list"
            return f"{emptiness} of {_plural(describe_rule(rule['items']))}"
        case str(kind):
            return kind
        case _:
            return "any value"


def list_settings() -> list[Setting]:
    """All settings in the order of the model, with `<name>` for a key that the user chooses."""
    return list(_settings(shared_json_schema(), ""))


def _settings(rule: Rule, prefix: str) -> Iterator[Setting]:
    rule = resolve_rule(rule)
    required = rule.get("required", ())
    for key, child in rule.get("properties", {}).items():
        dotted_key = f"{prefix}{key}"
        inner = resolve_rule(child)
        entry = entry_rule(inner)
        items = resolve_rule(inner.get("items", {}))
        if "properties" in inner:
            yield from _settings(inner, f"{dotted_key}.")
        elif entry:
            yield from _settings(entry, f"{dotted_key}.<name>.")
        else:
            yield Setting(dotted_key, describe_rule(child), _default(child, key in required), str(child["description"]))
            if "properties" in items:
                yield from _settings(items, f"{dotted_key}[].")


def _default(rule: Rule, required: bool) -> str:
    if required:
        return "required"
    fallback: Any = {} if resolve_rule(rule).get("type") == "object" else None
    return json.dumps(rule.get("default", fallback), ensure_ascii=False)


def _describe_range(rule: Rule) -> str:
    low, above, high = rule.get("minimum"), rule.get("exclusiveMinimum"), rule.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if above is not None and high is not None:
        return f" above {above}, at most {high}"
    return "" if low is None else f" of at least {low}"


def _plural(text: str) -> str:
    return f"{text}s" if text in {"non-empty string", "object"} else f"values, each a {text}"
