from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from contextive.errors import InvalidRequest
from contextive.registry import Context, Pack, Reply, ToolInput
from contextive.registry.dispatch import parse_arguments
from tests.registry.property_tests import property_test

pack = Pack("sample", title="Sample", description="Sample.")


class Inner(ToolInput):
    depth: int


class Given(ToolInput):
    name: str
    limit: int = Field(5, ge=1, le=10)
    kind: Literal["a", "b"] = "a"
    inner: Inner | None = None
    tags: list[str] = Field(default_factory=list)


@pack.tool("find", title="Find", description="Finds.")
async def find(_given: Given, _ctx: Context) -> Reply:
    return Reply(data={})


class Nothing(ToolInput):
    pass


@pack.tool("plain", title="Plain", description="Plain.")
async def plain(_given: Nothing, _ctx: Context) -> Reply:
    return Reply(data={})


FIND, PLAIN = pack.tools


def problem(arguments: dict[str, Any]) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        parse_arguments(FIND, arguments)
    return caught.value


##= docs/spec/host.md#tool-calls
##% Arguments MUST be accepted exactly as the published input schema defines them.
##= docs/spec/host.md#tool-calls
##% An error about arguments MUST name each argument at fault and what is allowed.
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "find needs the argument 'name'."),
        ({"name": "x", "other": 1}, "find has no argument 'other'."),
        ({"name": "x", "kind": "c"}, "'kind' must be one of 'a' or 'b'."),
        ({"name": "x", "limit": 11}, "'limit': input should be less than or equal to 10."),
        ({"name": "x", "limit": "5"}, "'limit': input should be a valid integer."),
        ({"name": "x", "limit": 5.5}, "'limit': input should be a valid integer."),
        ({"name": "x", "limit": 1e300}, "'limit': input should be less than or equal to 10."),
        ({"name": "x", "tags": [1]}, "'tags.0': input should be a valid string."),
        ({"name": "x", "inner": {"depth": "1"}}, "'inner.depth': input should be a valid integer."),
        ({"name": "x", "inner": []}, "'inner': input should be an object."),
        ({"name": "x", "limit": 11.0}, "'limit': input should be less than or equal to 10."),
        ({"name": "x", "limit": True}, "'limit': input should be a valid integer."),
        ({"name": None}, "'name': input should be a valid string."),
    ],
)
def test_each_error_is_reported_with_its_location(arguments: dict[str, Any], message: str) -> None:
    assert problem(arguments).message == message


def test_a_whole_number_is_an_integer_in_any_notation() -> None:
    (limit,) = (value for name, value in parse_arguments(FIND, {"name": "x", "limit": 5.0}) if name == "limit")
    assert (limit, type(limit)) == (5, int)


def test_the_hint_is_the_signature_of_the_tool() -> None:
    hint = problem({}).hint
    assert hint is not None
    assert hint.startswith('Arguments of find: name: string, limit?: integer 1..10, kind?: "a"|"b"')
    assert "tags?: array of string" in hint
    with pytest.raises(InvalidRequest) as caught:
        parse_arguments(PLAIN, {"x": 1})
    assert caught.value.hint == "plain takes no arguments."


def test_the_hint_for_a_nested_argument_lists_its_fields() -> None:
    assert problem({"name": "x", "inner": {"width": 1}}).hint == "Fields of inner: depth: integer."
    both = problem({"name": "x", "inner": {"depth": "1"}, "tags": [1]}).hint
    assert both is not None
    assert both.startswith("Arguments of find:")
    assert (problem({"name": "x", "tags": [1]}).hint or "").startswith("Arguments of find:")


def test_a_whole_number_may_be_written_with_a_point() -> None:
    given = parse_arguments(FIND, {"name": "x", "limit": 5.0, "inner": {"depth": 1e3}})
    assert given == Given(name="x", limit=5, inner=Inner(depth=1000))


def test_at_most_five_errors_are_reported() -> None:
    message = problem({f"x{number}": 1 for number in range(100)} | {"name": "x"}).message
    assert message.count("has no argument") == 5
    assert message.endswith("… and 95 more.")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e999])
def test_numbers_that_are_not_valid_json_are_refused(value: float) -> None:
    assert "not finite" in problem({"name": "x", "limit": value}).message


def test_deep_nesting_is_refused() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert "nest" in problem({"name": "x", "tags": nested}).message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@property_test
@given(st.dictionaries(st.sampled_from(["name", "limit", "kind", "inner", "tags", "x", "\n", "\ud800"]), JSON))
def test_any_arguments_are_parsed_or_refused_with_a_printable_message(arguments: dict[str, Any]) -> None:
    message = ""
    try:
        parse_arguments(FIND, arguments)
    except InvalidRequest as refusal:
        message = refusal.message
    assert message.isprintable()
    assert len(message) < 1500
