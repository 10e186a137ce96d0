"""The model and the JSON Schema accept the same documents.

Only structural rules are compared: the rules of `check_consistency` are in neither of them on purpose. Strings do not end
in a newline here, because the Python validator lets `$` match before one, unlike ECMAScript and the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from contextive.config import config_json_schema, schema_text
from contextive.config.schema import parse_values
from contextive.config.settings import resolve_rule

SCHEMA = config_json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
COMMITTED = Path(__file__).parents[2] / "docs" / "config.schema.json"

# Values that are valid at some paths and invalid at most others.
STRAYS: list[Any] = [
    *[
        None,
        True,
        False,
        0,
        1,
        -1,
        5.0,
        0.5,
        1e300,
        10**400,
        65536,
        "",
        "5",
        "true",
        "stdio",
        "http://a",
        "a" * 20,
        "*",
    ],
    *[[], [""], ["a"], [1], [None], {}, {"a": 1}, {"enabled": True}, {"tool": "t"}, {"model": "m", "prompt": "p"}],
    *[{"a b": {}}, {"": {"model": "m"}}, {"x": {"steps": [{"tool": None, "model": "m", "prompt": "p"}]}}],
]


def accepted_by_model(document: dict[str, Any]) -> bool:
    try:
        parse_values(document)
    except ValidationError:
        return False
    return True


def valid_values(rule: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that the rule accepts."""
    if "anyOf" in rule:
        return st.one_of([valid_values(choice) for choice in rule["anyOf"]])
    rule = dict(resolve_rule(rule))
    if "enum" in rule:
        return st.sampled_from(rule["enum"])
    match rule.get("type"):
        case "object":
            return valid_objects(rule)
        case "array":
            return st.lists(valid_values(rule["items"]), min_size=rule.get("minItems", 0), max_size=3)
        case "integer":
            return st.integers(rule.get("minimum"), rule.get("maximum"))
        case "number":
            low = rule.get("minimum", rule.get("exclusiveMinimum"))
            return st.floats(low, rule.get("maximum"), exclude_min="exclusiveMinimum" in rule)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "string" if "pattern" in rule:
            longer = st.from_regex(rule["pattern"].replace("+$", "{16,20}$"), fullmatch=True)
            return longer.filter(lambda text: not text.endswith("\n"))
        case "string":
            return st.text(st.characters(codec="utf-8"), min_size=rule.get("minLength", 0), max_size=5)
        case _:
            return st.none() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=3)


def valid_objects(rule: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    if "properties" not in rule:
        entries = rule["additionalProperties"]
        values = valid_values(entries if isinstance(entries, dict) else {})
        return st.dictionaries(valid_values({"type": "string", **rule.get("propertyNames", {})}), values, max_size=2)
    required = rule.get("required", [])
    fields = {key: valid_values(child) for key, child in rule["properties"].items()}
    if "oneOf" in rule and "tool" in fields:
        by_tool = {**fields, "tool": st.just("t"), "model": st.none(), "wait": st.none()}
        by_model = {**fields, "tool": st.none(), "model": st.just("m"), "prompt": st.just("p"), "wait": st.none()}
        return chosen(by_tool, ["tool"]) | chosen(by_model, ["model", "prompt"])
    if "oneOf" in rule:
        keys = [alternative["required"][0] for alternative in rule["oneOf"]]
        others = {key: value for key, value in fields.items() if key not in keys}
        return st.one_of([chosen({**others, key: fields[key]}, [*required, key]) for key in keys])
    return chosen(fields, required)


def chosen(fields: dict[str, st.SearchStrategy[Any]], required: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {key: fields[key] for key in required}, optional={k: v for k, v in fields.items() if k not in required}
    )


def containers(value: Any) -> Iterator[dict[str, Any] | list[Any]]:
    if isinstance(value, dict | list):
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from containers(child)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A valid document with one to three values added, removed or replaced."""
    document: dict[str, Any] = json.loads(json.dumps(draw(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        container = draw(st.sampled_from(list(containers(document))))
        stray = deepcopy(draw(st.sampled_from(STRAYS)))
        if isinstance(container, list):
            container.append(stray)
        else:
            key = draw(st.sampled_from([*container, "unknown", "enabled", "model"]))
            if draw(st.booleans()):
                container[key] = stray
            else:
                container.pop(key, None)
    return document


DOCUMENTS = valid_values(SCHEMA)
QUIET = settings(
    database=None,
    max_examples=400,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


##= docs/spec/host.md#validation
##% The configuration MUST be validated against the model in the code.
@QUIET
@given(DOCUMENTS)
def test_a_valid_document_is_accepted_by_model_and_schema(document: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(document)
    assert accepted_by_model(document)


##= docs/spec/host.md#validation
##% The model and the JSON Schema MUST accept the same documents.
##= docs/spec/host.md#tests-of-the-project
##= type=implication
##% The project MUST have tests of the parsing and validation of its configuration.
@QUIET
@given(mutated())
def test_a_mutated_document_is_accepted_by_both_or_by_neither(document: dict[str, Any]) -> None:
    assert accepted_by_model(document) == VALIDATOR.is_valid(document)


def documents_with(rule: dict[str, Any], make: Any) -> Iterator[Any]:
    """For each path of the schema, a function that puts a value there in an otherwise valid document."""
    rule = dict(resolve_rule(rule))
    yield make
    if "properties" in rule:
        for key, child in rule["properties"].items():
            others = {"tool": "t"} if "oneOf" in rule and key != "tool" and "tool" in rule["properties"] else {}
            others |= {other: minimal(rule["properties"][other]) for other in rule.get("required", []) if other != key}
            yield from documents_with(child, lambda value, key=key, others=others: make({**others, key: value}))
    elif isinstance(rule.get("additionalProperties"), dict):
        yield from documents_with(rule["additionalProperties"], lambda value: make({"x": value}))
    elif "items" in rule:
        yield from documents_with(rule["items"], lambda value: make([value]))


def minimal(rule: dict[str, Any]) -> Any:
    rule = dict(resolve_rule(rule))
    if "enum" in rule:
        return rule["enum"][0]
    return [{"tool": "t"}] if rule["type"] == "array" else "a" * 64


@pytest.mark.parametrize("stray", STRAYS, ids=lambda stray: repr(stray)[:20])
def test_model_and_schema_agree_on_a_stray_value_at_every_path(stray: Any) -> None:
    documents = [make(stray) for make in documents_with(SCHEMA, lambda value: value)]
    judged = [(accepted_by_model(document), VALIDATOR.is_valid(document), document) for document in documents]
    assert [document for model, schema, document in judged if model != schema] == []


##= docs/spec/host.md#validation
##% The JSON Schema of the configuration MUST be generated from the model in the code.
def test_the_committed_schema_is_the_generated_one() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == schema_text()


def test_the_schema_is_valid_and_of_2020_12() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["title"] == "Contextive configuration"


def test_every_key_is_described_and_every_section_is_closed() -> None:
    for rule in [SCHEMA, *SCHEMA["$defs"].values()]:
        assert rule["additionalProperties"] is False
        assert rule["description"]
        for key, child in rule["properties"].items():
            assert child.get("description"), key


def test_the_schema_is_a_copy() -> None:
    config_json_schema()["properties"].clear()
    assert config_json_schema()["properties"]


@pytest.mark.parametrize("section", ["providers", "toolPacks", "workflows"])
def test_names_must_match_a_pattern(section: str) -> None:
    assert SCHEMA["properties"][section]["propertyNames"] == {"pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"}
