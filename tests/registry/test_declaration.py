from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from contextive.registry import Context, NoInput, Pack, Reply, ToolInput, ToolOutput
from contextive.registry.schema import input_schema, output_schema


class Item(ToolOutput):
    title: str = Field(description="A title of its own")
    description: str | None = None


class Given(ToolInput):
    """A docstring that is not the tool's description."""

    title: str = Field(description="Which title")
    properties: dict[str, str] = Field(default_factory=dict)
    kind: Literal["a", "b"] = "a"


class Out(ToolOutput):
    """A docstring."""

    items: list[Item]


def test_generated_titles_are_removed_but_a_property_called_title_stays() -> None:
    schema = input_schema(Given)
    assert set(schema["properties"]) == {"title", "properties", "kind"}
    assert schema["properties"]["title"] == {"type": "string", "description": "Which title"}
    assert "title" not in schema
    assert "description" not in schema
    assert schema["required"] == ["title"]
    assert schema["additionalProperties"] is False


def test_generated_titles_are_removed_inside_definitions() -> None:
    schema = output_schema(Out)
    item = schema["$defs"]["Item"]
    assert set(item["properties"]) == {"title", "description"}
    assert "title" not in item
    assert "description" not in item
    assert schema["type"] == "object"


def test_a_tool_without_arguments_has_a_closed_empty_schema() -> None:
    assert input_schema(NoInput) == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize("name", ["", "has space", "ü", "-dash", "x" * 129, "a/b", "new\nline"])
def test_an_invalid_tool_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a tool name"):
        Pack("p", title="P", description="P").tool(name, title="T", description="D")


class Open(BaseModel):
    x: int = 1


async def one_parameter(_given: Given) -> Out: ...  # type: ignore[empty-body]


async def no_model(_given: int, _ctx: Context) -> Out: ...  # type: ignore[empty-body]


async def open_model(_given: Open, _ctx: Context) -> Out: ...  # type: ignore[empty-body]


async def no_result(_given: Given, _ctx: Context) -> None: ...


async def plain_result(_given: Given, _ctx: Context) -> dict[str, Any]: ...  # type: ignore[empty-body]


##= docs/spec/host.md#declaration
##% A tool MUST have a handler that takes the input and a context and returns the output.
@pytest.mark.parametrize("handler", [one_parameter, no_model, open_model, no_result, plain_result])
def test_a_handler_without_type_annotations_is_refused(handler: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=handler.__name__):
        Pack("p", title="P", description="P").tool("t", title="T", description="D")(handler)


##= docs/spec/host.md#declaration
##% The schemas of a tool MUST be generated from the types of its handler.
def test_a_tool_has_its_models_and_runs_in_the_loop_or_a_thread() -> None:
    pack = Pack("p", title="P", description="P")

    @pack.tool("in_loop", title="T", description="D")
    async def in_loop(_given: Given, _ctx: Context) -> Out: ...  # type: ignore[empty-body]

    @pack.tool("in_thread", title="T", description="D", output=Out)
    def in_thread(_given: Given, _ctx: Context) -> Reply: ...  # type: ignore[empty-body]

    first, second = pack.tools
    assert (first.input_model, first.output_model, first.runs_in_loop) == (Given, Out, True)
    assert (second.output_model, second.runs_in_loop) == (Out, False)
    assert first.pack == "p"
