"""The data model of a parsed and checked recipe."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from contextive.recipes.template import ValuePath

VariableType: TypeAlias = Literal["string", "integer", "number", "boolean", "array", "object", "any"]

RECIPE_RUNNER_LABEL = "recipe"
"""The label of tools that run recipes. A recipe may not call them, so recipes cannot call each other endlessly."""


@dataclass(frozen=True, slots=True)
class RecipePaths:
    """The project, which can have recipes in its folder `recipes`, and its state directory."""

    project: pathlib.Path
    state: pathlib.Path


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that the caller of a recipe can set."""

    name: str
    type: VariableType = "any"
    description: str = ""
    required: bool = False
    default: Any = None

    def accepts(self, value: Any) -> bool:
        """Whether a value has the JSON type of the variable."""
        match self.type:
            case "any":
                return True
            case "string":
                return isinstance(value, str)
            case "boolean":
                return isinstance(value, bool)
            case "integer":
                return isinstance(value, int) and not isinstance(value, bool)
            case "number":
                return isinstance(value, int | float) and not isinstance(value, bool)
            case "array":
                return isinstance(value, list)
            case "object":
                return isinstance(value, Mapping)


@dataclass(frozen=True, slots=True)
class ResultCondition:
    """A condition on the value at a path in a result."""

    path: ValuePath
    operator: Literal["equals", "not_equals", "exists"]
    value: Any


@dataclass(frozen=True, slots=True)
class Capture:
    """A value of a result that later steps can refer to as `captures.<name>`."""

    name: str
    path: ValuePath | None = None
    """None means the whole result."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Call a tool."""

    tool: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """Call a model."""

    model: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Call a tool repeatedly until a condition is true."""

    tool: str
    params: Mapping[str, Any]
    until: ResultCondition
    interval_seconds: float = 5.0
    timeout_seconds: float = 300.0


Action: TypeAlias = ToolCall | ModelCall | Wait


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """One action, the conditions on its result, and the steps to run if it fails."""

    id: str
    action: Action
    asserts: tuple[ResultCondition, ...] = ()
    captures: tuple[Capture, ...] = ()
    description: str = ""
    timeout_seconds: float | None = None
    fallback: tuple[RecipeStep, ...] = ()

    @property
    def tool(self) -> str | None:
        """The tool that the step calls; None for a model call."""
        return None if isinstance(self.action, ModelCall) else self.action.tool


@dataclass(frozen=True, slots=True)
class Recipe:
    """The steps of a recipe in order, its variables and its outputs."""

    name: str
    summary: str
    steps: tuple[RecipeStep, ...]
    variables: Mapping[str, Variable] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    timeout_seconds: float = 900.0

    def all_steps(self) -> Iterator[RecipeStep]:
        """Every step, each followed by its fallback."""
        for step in self.steps:
            yield step
            yield from step.fallback

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that a run may call, each once."""
        return tuple(dict.fromkeys(step.tool for step in self.all_steps() if step.tool is not None))
