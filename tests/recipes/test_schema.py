"""The recipe format: what is accepted, and that every error names the line and the reason."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import SchemaInvalid
from contextive.recipes.recipe import ModelCall, Recipe, ResultCondition, ToolCall, Wait
from contextive.recipes.schema import MAX_BYTES, parse_recipe

FULL = """\
version: 1
name: full
summary: |
  All that a recipe
  can say.
variables:
  profile: release
  count: 3
  topic: {type: string, description: What about}
  deep: {type: object, default: {a: 1}}
steps:
  - id: first
    tool: a-tool
    params: {query: "${topic} of ${vars.profile}", limit: "${count}"}
    expect: {result.status: ok}
    assert:
      - {path: "result.items[0]", exists: true}
      - {path: error, exists: false}
      - {path: total, not_equals: 0}
    capture:
      - {name: item, path: "result.items[0].id"}
      - {name: all}
    description: Find it
    prompt: For people who read this
    timeout_seconds: 30
    fallback:
      - tool: another-tool
  - id: second
    wait:
      tool: status
      params: {of: "${captures.item}"}
      until: {path: result.state, equals: "${vars.profile}"}
      interval_seconds: 0.5
      timeout_seconds: 60
  - id: third
    model: some-model
    prompt: Say ${steps.first.items[0].name}
outputs:
  text: ${steps.third.text}
timeout_seconds: 120
"""


def refused(text: str, name: str = "r") -> str:
    with pytest.raises(SchemaInvalid) as caught:
        parse_recipe(text, name)
    return caught.value.message


def with_steps(*steps: str, **rest: Any) -> str:
    return (
        "version: 1\nsteps:\n" + "".join(f"  - {step}\n" for step in steps) + yaml.safe_dump(rest)
        if rest
        else ("version: 1\nsteps:\n" + "".join(f"  - {step}\n" for step in steps))
    )


def test_every_feature_of_the_recipe_format_is_parsed() -> None:
    recipe = parse_recipe(FULL, "full")
    first, second, third = recipe.steps
    assert recipe.summary == "All that a recipe can say."
    assert recipe.timeout_seconds == 120
    assert {n: (v.type, v.required, v.default) for n, v in recipe.variables.items()} == {
        "profile": ("string", False, "release"),
        "count": ("integer", False, 3),
        "topic": ("string", True, None),
        "deep": ("object", False, {"a": 1}),
    }
    assert first.action == ToolCall("a-tool", {"query": "${topic} of ${vars.profile}", "limit": "${count}"})
    assert first.asserts == (
        ResultCondition(("result", "status"), "equals", "ok"),
        ResultCondition(("result", "items", 0), "exists", True),
        ResultCondition(("error",), "exists", False),
        ResultCondition(("total",), "not_equals", 0),
    )
    assert [(c.name, c.path) for c in first.captures] == [("item", ("result", "items", 0, "id")), ("all", None)]
    assert [step.id for step in first.fallback] == ["first-fallback-1"]
    assert second.action == Wait(
        "status",
        {"of": "${captures.item}"},
        ResultCondition(("result", "state"), "equals", "${vars.profile}"),
        0.5,
        60,
    )
    assert third.action == ModelCall("some-model", "Say ${steps.first.items[0].name}")
    assert recipe.tools == ("a-tool", "another-tool", "status")


##= docs/spec/models-and-recipes.md#recipe-sources
##% A recipe that does not match the schema MUST be refused with the line number before anything runs.
##= docs/spec/models-and-recipes.md#recipe-sources
##% A template that refers to something unknown, or to something defined later, MUST be refused before anything runs.
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "r.yaml:1: a recipe must be an object"),
        ("- a", "r.yaml:1: a recipe must be an object"),
        ("version: 1\nsteps: []", "r.yaml:2: steps: "),
        ("steps: [{id: a, tool: t}]", "version: required key is missing"),
        ("version: 2\nsteps: [{id: a, tool: t}]", "r.yaml:1: version: "),
        ("version: 1\nname: other\nsteps: [{id: a, tool: t}]", "r.yaml:2: name: must be r"),
        (with_steps("{id: a}"), "r.yaml:3: steps[0]: exactly one of tool, model and wait"),
        (with_steps("{id: a, tool: t, model: m, prompt: p}"), "exactly one of tool, model and wait"),
        (with_steps("{id: a, model: m}"), "a step with a model needs a prompt"),
        (with_steps("{tool: t}"), "steps[0].id: required key is missing"),
        (with_steps("{id: a b, tool: t}"), "steps[0].id: "),
        (with_steps("{id: a, tool: t, tols: x}"), "steps[0].tols: unknown key"),
        (with_steps("{id: a, tool: t}", "{id: a, tool: t}"), "r.yaml:4: steps[1].id: the id a is already used"),
        (with_steps("{id: a, tool: t, assert: [{path: x}]}"), "exactly one of equals, not_equals and exists"),
        (with_steps("{id: a, tool: t, assert: [{path: x, equals: 1, exists: true}]}"), "exactly one of"),
        (with_steps("{id: a, tool: t, assert: [{path: x, exists: null}]}"), "exists must be true or false"),
        (with_steps('{id: a, tool: t, expect: {"a b": 1}}'), "is not a path"),
        (with_steps("{id: a, wait: {tool: t}}"), "steps[0].wait.until: required key is missing"),
        (
            with_steps("{id: a, wait: {tool: t, until: {path: x, equals: 1}, interval_seconds: 0.1}}"),
            "interval_seconds: ",
        ),
        (with_steps('{id: a, tool: t, params: {x: "${nope}"}}'), "steps[0].params: ${nope} is not a variable"),
        (with_steps('{id: a, tool: t, params: {x: "${steps.a.x}"}}'), "is not an earlier step"),
        (with_steps('{id: a, tool: t, params: {x: "${captures.c}"}}'), "is not an earlier capture"),
        (with_steps('{id: a, tool: t, params: {x: "${env:HOME}"}}'), "is not a path"),
        (with_steps('{id: a, tool: t, params: {x: "${result.x}"}}'), "is not a value"),
        (with_steps("{id: a, tool: t, capture: [{name: c, path: steps.b.x}]}"), "is not an earlier step"),
        (with_steps("{id: a, tool: t}", outputs={"o": "${steps.b}"}), "outputs.o: ${steps.b} is not an earlier step"),
        (with_steps("{id: a, tool: t}", variables={"steps": 1}), "the name is reserved"),
        (
            with_steps("{id: a, tool: t}", variables={"n": {"type": "integer", "default": "x"}}),
            "the default is not of type integer",
        ),
        (with_steps("{id: a, tool: t}", variables={"n": {"kind": "x"}}), "variables.n.kind: unknown key"),
        ("version: 1\nversion: 1", "duplicate key"),
        ("version: &a 1\nsteps: *a", "anchors and aliases are not supported"),
        ("version: !!python/object:os.system 1", "tags are not supported"),
        ("a: " + "[" * 70 + "]" * 70, "nested more than"),
        ("x: '" + "y" * MAX_BYTES + "'", "larger than"),
        ("\x00", "not valid YAML"),
    ],
)
def test_an_error_is_reported_with_its_location(text: str, complaint: str) -> None:
    message = refused(text)
    assert complaint in message
    assert len(message) < 1500


def test_fallbacks_can_refer_to_earlier_steps_and_later_steps_to_fallbacks() -> None:
    text = with_steps(
        "{id: a, tool: t, capture: [{name: c}]}",
        '{id: b, tool: t, fallback: [{id: f, tool: t, params: {x: "${captures.c}"}}, {tool: t, params: {x: "${steps.f}"}}]}',
        '{id: d, tool: t, params: {x: "${steps.b}", y: "${steps.f}"}}',
    )
    assert [step.id for step in parse_recipe(text, "r").all_steps()] == ["a", "b", "f", "b-fallback-2", "d"]


@given(st.text(alphabet="versionstep: 1\n-[]{}\"'&*!|>$#\tid,ol", max_size=200))
def test_no_text_raises_an_unexpected_error(text: str) -> None:
    with contextlib.suppress(SchemaInvalid):
        assert isinstance(parse_recipe(text, "r"), Recipe)
