"""The entries of sections whose keys the user chooses: providers, toolPacks, workflows and routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from contextive.config.values import HttpUrl, Name, Seconds, Section, Text, Texts, as_integer

# Ceilings, because numbers far above them are no tokens and no prices, and large ones fit no float.
TokenCount = Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(as_integer)]
Price = Annotated[float, Field(ge=0, le=1_000_000)]


class ModelFacts(Section):
    """What is known about one model; the router chooses by it."""

    family: Text | None = Field(None, description="Family that the model belongs to.")
    context_window: TokenCount | None = Field(None, description="Tokens that prompt and answer may have together.")
    input_cost: Price | None = Field(None, description="US dollars for a million tokens of prompt.")
    output_cost: Price | None = Field(None, description="US dollars for a million tokens of answer.")


##= docs/spec/host.md#sections
##% The section `providers` MUST hold the credentials and options of model providers.
class Provider(Section):
    """A service that runs models."""

    kind: Literal["openai", "anthropic", "gemini", "openai-compatible"] | None = Field(
        None, description="Wire that the provider speaks; unset means that the name of the entry says it."
    )
    api_key: Text | None = Field(None, repr=False, description="Key for the provider's API.")
    enabled: bool = Field(True, description="Use this provider.")
    default_model: Text | None = Field(None, description="Model for requests that name none.")
    base_url: HttpUrl | None = Field(None, description="Address of the API, where it is not the provider's own.")
    timeout_seconds: Seconds = Field(60.0, description="Longest wait for an answer.")
    models: Mapping[Text, ModelFacts] = Field(default_factory=dict, description="Facts about its models, by name.")
    llms_txt: Text | None = Field(None, description="File in the project or https URL that lists its models.")


##= docs/spec/host.md#sections
##% The section `toolPacks` MUST enable and disable packs and hold the settings of each pack.
class ToolPack(Section):
    """A set of tools, on or off."""

    enabled: bool = Field(True, description="Offer the tools of this pack.")
    mode: Literal["read-only", "read-write"] | None = Field(
        None,
        description="Whether tools that change something are offered; unset means yes for built-in packs, no for plugins.",
    )
    allowed_tools: Texts | None = Field(None, description="The only tools to offer; unset means all.")
    blocked_tools: Texts = Field((), description="Tools that are never offered; wins over allowedTools.")
    settings: Mapping[str, Any] = Field(default_factory=dict, description="Settings that the pack itself defines.")


class StepCondition(Section):
    """What must be true at a path of a step's result: exactly one of equals, notEquals and exists."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [key]} for key in ("equals", "notEquals", "exists")]}
    )

    path: Text = Field(description="Path from the result, such as result.results[0].")
    equals: Any = Field(None, description="The value that must stand there.")
    not_equals: Any = Field(None, description="A value that must not stand there.")
    exists: bool | None = Field(None, description="Whether there must be a value at all.")

    @model_validator(mode="after")
    def _one_operator(self) -> Self:
        if len(self.model_fields_set & {"equals", "not_equals", "exists"}) != 1:
            raise PydanticCustomError("one_operator", "exactly one of equals, notEquals and exists must be given")
        return self


class StepCapture(Section):
    """A value of a step's result that later steps can name."""

    name: Text = Field(description="Name, used as captures.<name>.")
    path: Text | None = Field(None, description="Path from the result; unset means all of it.")


class StepWait(Section):
    """A tool that is called until its result is as wanted."""

    tool: Text = Field(description="Tool to call.")
    params: Mapping[str, Any] = Field(default_factory=dict, description="Arguments of the tool.")
    until: StepCondition = Field(description="What must be true of its result.")
    interval_seconds: Seconds = Field(5.0, ge=0.5, description="Pause between two calls.")
    timeout_seconds: Seconds = Field(300.0, description="Longest wait.")


# The rule of `_one_action` once more, for readers of the JSON Schema. An absent key satisfies `type: null` here.
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
    """A step that runs when another one failed: a tool with params, a model with a prompt, or a wait."""

    model_config = ConfigDict(json_schema_extra=dict(_ONE_ACTION))

    id: Text | None = Field(None, description="Name under which later steps refer to this one.")
    description: Text | None = Field(None, description="What the step is for.")
    tool: Text | None = Field(None, description="Tool to call; exactly one of tool, model and wait is given.")
    model: Text | None = Field(None, description="Model to ask; exactly one of tool, model and wait is given.")
    wait: StepWait | None = Field(None, description="Tool to call again and again until its result is as wanted.")
    params: Mapping[str, Any] = Field(default_factory=dict, description="Arguments of the tool.")
    prompt: Text | None = Field(None, description="Text for the model; needed with model.")
    expect: Mapping[Text, Any] = Field(
        default_factory=dict, description="Values that must stand at paths of the result."
    )
    asserts: Annotated[tuple[StepCondition, ...], Strict(False)] = Field(
        (), alias="assert", description="What must be true of the result."
    )
    capture: Annotated[tuple[StepCapture, ...], Strict(False)] = Field(
        (), description="Values of the result to keep under a name."
    )
    timeout_seconds: Seconds | None = Field(None, description="Longest run of this step; unset means the tool's own.")

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        if sum(given is not None for given in (self.tool, self.model, self.wait)) != 1:
            raise PydanticCustomError("one_action", "exactly one of tool, model and wait must be given")
        if self.model is not None and self.prompt is None:
            raise PydanticCustomError("one_action", "a step with a model needs a prompt")
        return self


class Step(FallbackStep):
    """One step of a workflow: a tool with params, a model with a prompt, or a wait."""

    fallback: Annotated[tuple[FallbackStep, ...], Strict(False)] | None = Field(
        None, description="Steps that run in place of this one when it fails."
    )


class WorkflowVariable(Section):
    """An argument of a workflow's tool."""

    type: Literal["string", "integer", "number", "boolean", "array", "object"] = Field(
        "string", description="Type of the argument."
    )
    description: Text | None = Field(None, description="What the argument is for, as the client sees it.")
    default: Any = Field(None, description="Value where the caller gives none; without it the argument is required.")


##= docs/spec/host.md#sections
##% The section `workflows` MUST hold workflows that chain tools.
class Workflow(Section):
    """Steps that run one after another and are offered as one tool."""

    description: Text | None = Field(None, description="What the workflow is for, as the client sees it.")
    variables: Mapping[Name, WorkflowVariable] = Field(
        default_factory=dict,
        description="Arguments of the tool; one that steps name and this does not is required text.",
    )
    timeout_seconds: Seconds = Field(900.0, description="Longest run of the whole workflow.")
    steps: Annotated[tuple[Step, ...], Strict(False)] = Field(min_length=1, description="Steps in order of running.")
    outputs: Mapping[Text, Any] = Field(
        default_factory=dict, description="What the workflow gives; unset means the result of its last step."
    )


class Route(Section):
    """Which model serves a kind of task."""

    model: Text = Field(description="Model for this task.")
    backup: Text | None = Field(None, description="Model to use when the first one cannot be used.")
