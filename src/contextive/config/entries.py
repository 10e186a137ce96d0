"""The entries of the sections whose keys the user chooses: providers, toolPacks, workflows and routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from contextive.config.values import HttpUrl, Name, Seconds, Section, Text, Texts, as_integer

# Upper limits, because larger numbers are mistakes, and very large ones do not fit into a float.
TokenCount = Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(as_integer)]
Price = Annotated[float, Field(ge=0, le=1_000_000)]


class ModelFacts(Section):
    """Facts about one model, by which the router chooses."""

    family: Text | None = Field(None, description="Family of the model.")
    context_window: TokenCount | None = Field(None, description="Most tokens of prompt and answer together.")
    input_cost: Price | None = Field(None, description="US dollars per million tokens of prompt.")
    output_cost: Price | None = Field(None, description="US dollars per million tokens of answer.")


##= docs/spec/host.md#sections
##% The section `providers` MUST hold the credentials and options of model providers.
class Provider(Section):
    """A service that runs models."""

    kind: Literal["openai", "anthropic", "gemini", "openai-compatible"] | None = Field(
        None, description="API of the provider; unset means that it follows from the name of the entry."
    )
    api_key: Text | None = Field(None, repr=False, description="Key for the provider's API.")
    enabled: bool = Field(True, description="Use this provider.")
    default_model: Text | None = Field(None, description="Model for requests that do not name one.")
    base_url: HttpUrl | None = Field(None, description="Address of the API; unset means the provider's own.")
    timeout_seconds: Seconds = Field(60.0, description="Longest wait for an answer.")
    models: Mapping[Text, ModelFacts] = Field(default_factory=dict, description="Facts about its models, by name.")
    llms_txt: Text | None = Field(None, description="File in the project, or https URL, that lists its models.")


##= docs/spec/host.md#sections
##% The section `toolPacks` MUST enable and disable packs and hold the settings of each pack.
class ToolPack(Section):
    """The settings of a pack, which is a set of tools."""

    enabled: bool = Field(True, description="Offer the tools of this pack.")
    mode: Literal["read-only", "read-write"] | None = Field(
        None,
        description="Whether tools that can write are offered; unset means yes for built-in packs and no for plugins.",
    )
    allowed_tools: Texts | None = Field(None, description="The only tools to offer; unset means all.")
    blocked_tools: Texts = Field((), description="Tools that are never offered; overrides allowedTools.")
    tools: Literal["default", "all"] | Texts = Field(
        "default", description="The tools that the default profile lists; the others can still be called by name."
    )
    settings: Mapping[str, Any] = Field(default_factory=dict, description="Settings that the pack itself defines.")


class StepCondition(Section):
    """A condition on a step's result: a path and exactly one of equals, notEquals and exists."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [key]} for key in ("equals", "notEquals", "exists")]}
    )

    path: Text = Field(description="Path in the result, such as result.results[0].")
    equals: Any = Field(None, description="The value must be equal to this.")
    not_equals: Any = Field(None, description="The value must not be equal to this.")
    exists: bool | None = Field(None, description="Whether there must be a value.")

    @model_validator(mode="after")
    def _one_operator(self) -> Self:
        if len(self.model_fields_set & {"equals", "not_equals", "exists"}) != 1:
            raise PydanticCustomError("one_operator", "exactly one of equals, notEquals and exists must be given")
        return self


class StepCapture(Section):
    """A value of a step's result that later steps can use."""

    name: Text = Field(description="Name; later steps use it as captures.<name>.")
    path: Text | None = Field(None, description="Path in the result; unset means the whole result.")


class StepWait(Section):
    """A tool that is called until its result meets a condition."""

    tool: Text = Field(description="Tool to call.")
    params: Mapping[str, Any] = Field(default_factory=dict, description="Arguments of the tool.")
    until: StepCondition = Field(description="Condition that ends the wait.")
    interval_seconds: Seconds = Field(5.0, ge=0.5, description="Pause between two calls.")
    timeout_seconds: Seconds = Field(300.0, description="Longest wait.")


# The rule of `_one_action` again, for the JSON Schema. An absent key satisfies `type: null` here.
_NONE: Final = {"type": "null"}
_TEXT: Final = {"type": "string"}
_ONE_ACTION: Final[Mapping[str, Any]] = {
    "oneOf": [
        {"required": ["tool"], "properties": {"tool": _TEXT, "model": _NONE, "wait": _NONE}},
        {
            "required": ["model", "prompt"],
            "properties": {"model": _TEXT, "prompt": _TEXT, "tool": _NONE, "wait": _NONE},
        },
        {"required": ["wait"], "properties": {"wait": {"type": "object"}, "tool": _NONE, "model": _NONE}},
    ]
}


class FallbackStep(Section):
    """A step that runs if another one fails: a tool with params, a model with a prompt, or a wait."""

    model_config = ConfigDict(json_schema_extra=dict(_ONE_ACTION))

    id: Text | None = Field(None, description="Name by which later steps refer to this one.")
    description: Text | None = Field(None, description="What the step is for.")
    tool: Text | None = Field(None, description="Tool to call; exactly one of tool, model and wait is given.")
    model: Text | None = Field(None, description="Model to ask; exactly one of tool, model and wait is given.")
    wait: StepWait | None = Field(None, description="Tool to call repeatedly until its result meets a condition.")
    params: Mapping[str, Any] = Field(default_factory=dict, description="Arguments of the tool.")
    prompt: Text | None = Field(None, description="Text for the model; needed with model.")
    expect: Mapping[Text, Any] = Field(
        default_factory=dict, description="Expected values, by their path in the result."
    )
    asserts: Annotated[tuple[StepCondition, ...], Strict(False)] = Field(
        (), alias="assert", description="Conditions that the result must meet."
    )
    capture: Annotated[tuple[StepCapture, ...], Strict(False)] = Field(
        (), description="Values of the result to save under a name."
    )
    timeout_seconds: Seconds | None = Field(None, description="Time limit of this step; unset means that of the tool.")

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        if sum(action is not None for action in (self.tool, self.model, self.wait)) != 1:
            raise PydanticCustomError("one_action", "exactly one of tool, model and wait must be given")
        if self.model is not None and self.prompt is None:
            raise PydanticCustomError("one_action", "a step with a model needs a prompt")
        return self


class Step(FallbackStep):
    """One step of a workflow: a tool with params, a model with a prompt, or a wait."""

    fallback: Annotated[tuple[FallbackStep, ...], Strict(False)] | None = Field(
        None, description="Steps that run instead of this one if it fails."
    )


class WorkflowVariable(Section):
    """An argument of the tool of a workflow."""

    type: Literal["string", "integer", "number", "boolean", "array", "object"] = Field(
        "string", description="Type of the argument."
    )
    description: Text | None = Field(None, description="What the argument is for, as the client sees it.")
    default: Any = Field(None, description="Value if the caller gives none; without it the argument is required.")


##= docs/spec/host.md#sections
##% The section `workflows` MUST hold workflows that chain tools.
class Workflow(Section):
    """Steps that run in sequence and are offered as one tool."""

    description: Text | None = Field(None, description="What the workflow is for, as the client sees it.")
    variables: Mapping[Name, WorkflowVariable] = Field(
        default_factory=dict,
        description="Arguments of the tool; a variable that steps use but that is not listed is a required string.",
    )
    timeout_seconds: Seconds = Field(900.0, description="Time limit of the whole workflow.")
    steps: Annotated[tuple[Step, ...], Strict(False)] = Field(min_length=1, description="Steps, in order.")
    outputs: Mapping[Text, Any] = Field(
        default_factory=dict, description="Result of the workflow; unset means the result of its last step."
    )


class Route(Section):
    """The model for a kind of task."""

    model: Text = Field(description="Model for this task.")
    backup: Text | None = Field(None, description="Model to use if the first one is not available.")
