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


# The rule of `_tool_or_model` once more, for readers of the JSON Schema. An absent key satisfies `type: null` here.
_TOOL_OR_MODEL: Final[Mapping[str, Any]] = {
    "oneOf": [
        {"required": ["tool"], "properties": {"tool": {"type": "string"}, "model": {"type": "null"}}},
        {
            "required": ["model", "prompt"],
            "properties": {"model": {"type": "string"}, "prompt": {"type": "string"}, "tool": {"type": "null"}},
        },
    ]
}


class FallbackStep(Section):
    """A step that runs when another one failed: a tool with params, or a model with a prompt."""

    model_config = ConfigDict(json_schema_extra=dict(_TOOL_OR_MODEL))

    id: Text | None = Field(None, description="Name under which later steps refer to this one.")
    tool: Text | None = Field(None, description="Tool to call; exactly one of tool and model is given.")
    model: Text | None = Field(None, description="Model to ask; exactly one of tool and model is given.")
    params: Mapping[str, Any] = Field(default_factory=dict, description="Arguments of the tool.")
    prompt: Text | None = Field(None, description="Text for the model; needed with model.")

    @model_validator(mode="after")
    def _tool_or_model(self) -> Self:
        if (self.tool is None) == (self.model is None):
            raise PydanticCustomError("tool_or_model", "exactly one of tool and model must be given")
        if self.model is not None and self.prompt is None:
            raise PydanticCustomError("tool_or_model", "a step with a model needs a prompt")
        return self


class Step(FallbackStep):
    """One step of a workflow: a tool with params, or a model with a prompt."""

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


class Workflow(Section):
    """Steps that run one after another and are offered as one tool."""

    description: Text | None = Field(None, description="What the workflow is for, as the client sees it.")
    variables: Mapping[Name, WorkflowVariable] = Field(
        default_factory=dict,
        description="Arguments of the tool; one that steps name and this does not is required text.",
    )
    timeout_seconds: Seconds = Field(900.0, description="Longest run of the whole workflow.")
    steps: Annotated[tuple[Step, ...], Strict(False)] = Field(min_length=1, description="Steps in order of running.")


class Route(Section):
    """Which model serves a kind of task."""

    model: Text = Field(description="Model for this task.")
    backup: Text | None = Field(None, description="Model to use when the first one cannot be used.")
