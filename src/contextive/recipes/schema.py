"""The YAML schema of recipes, and the parser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from contextive.config.keypath import KeyPath, LineMap, dotted, nearest_line
from contextive.config.plain_data import find_non_json_value
from contextive.errors import ParseError, SchemaInvalid
from contextive.recipes.recipe import (
    Action,
    Capture,
    ModelCall,
    Recipe,
    RecipeStep,
    ResultCondition,
    ToolCall,
    Variable,
    VariableType,
    Wait,
)
from contextive.recipes.references import RecipeFault, check_references
from contextive.recipes.template import TemplateError, parse_path

MAX_BYTES: Final = 256 * 1024
_MAX_PROBLEMS: Final = 5
_MAX_STEPS: Final = 50

Id: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
RecipeName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
NonEmptyText: TypeAlias = Annotated[str, Field(min_length=1, max_length=20_000)]
Seconds: TypeAlias = Annotated[float, Field(strict=False, ge=1, le=86_400)]


class _RecipeModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class VariableEntry(_RecipeModel):
    """A variable with type, description and default."""

    type: VariableType = "any"
    description: str = ""
    default: Any = None


class ConditionEntry(_RecipeModel):
    """A path and exactly one of equals, not_equals and exists."""

    path: NonEmptyText
    equals: Any = None
    not_equals: Any = None
    exists: bool | None = None

    @model_validator(mode="after")
    def _one_operator(self) -> Self:
        if len(self.model_fields_set & {"equals", "not_equals", "exists"}) != 1:
            raise PydanticCustomError("operator", "exactly one of equals, not_equals and exists must be given")
        if "exists" in self.model_fields_set and self.exists is None:
            raise PydanticCustomError("operator", "exists must be true or false")
        return self


class CaptureEntry(_RecipeModel):
    """A name for a value of the result, or for the whole result without a path."""

    name: Id
    path: NonEmptyText | None = None


class WaitEntry(_RecipeModel):
    """A tool that is called until a condition on its result is true."""

    tool: NonEmptyText
    params: dict[str, Any] = Field(default_factory=dict)
    until: ConditionEntry
    interval_seconds: float = Field(5.0, strict=False, ge=0.5, le=3600)
    timeout_seconds: Seconds = 300.0


class FallbackEntry(_RecipeModel):
    """One step: exactly one of tool, model and wait."""

    id: Id | None = None
    tool: NonEmptyText | None = None
    model: NonEmptyText | None = None
    wait: WaitEntry | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    prompt: NonEmptyText | None = None
    expect: dict[str, Any] = Field(default_factory=dict)
    asserts: list[ConditionEntry] = Field(default_factory=list, alias="assert")
    capture: list[CaptureEntry] = Field(default_factory=list)
    description: str = ""
    timeout_seconds: Seconds | None = None

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        if sum(given is not None for given in (self.tool, self.model, self.wait)) != 1:
            raise PydanticCustomError("action", "exactly one of tool, model and wait must be given")
        if self.model is not None and self.prompt is None:
            raise PydanticCustomError("action", "a step with a model needs a prompt")
        if self.tool is None and self.params:
            raise PydanticCustomError("action", "params belong to a tool; put those of a wait inside wait")
        return self


class StepEntry(FallbackEntry):
    """A step of the recipe. It has an id and may have a fallback."""

    id: Id
    fallback: list[FallbackEntry] = Field(default_factory=list, max_length=10)


class RecipeEntry(_RecipeModel):
    """A recipe document."""

    version: Literal[1]
    name: RecipeName | None = None
    summary: str = ""
    variables: dict[Id, Any] = Field(default_factory=dict)
    steps: list[StepEntry] = Field(min_length=1, max_length=_MAX_STEPS)
    outputs: dict[Id, Any] = Field(default_factory=dict)
    timeout_seconds: Seconds = 900.0


##= docs/spec/models-and-recipes.md#recipe-sources
##% A recipe that does not match the schema MUST be refused with the line number before anything runs.
def parse_recipe(text: str, name: str, file: str | None = None) -> Recipe:
    """The recipe in a YAML text. Raises `SchemaInvalid` with the line and what is wrong."""
    from contextive.config.yaml_text import parse_yaml  # loaded late: few servers read YAML

    file = file or f"{name}.yaml"
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise SchemaInvalid(f"{file}: larger than {MAX_BYTES} bytes.")
    try:
        values, lines = parse_yaml(text.removeprefix("\ufeff"))
    except ParseError as problem:
        raise SchemaInvalid(f"{problem.located_in(file)}.") from None
    if not isinstance(values, dict):
        raise SchemaInvalid(f"{file}:1: a recipe must be an object with version and steps.")
    if invalid_value := find_non_json_value(values):
        path, fault = invalid_value
        raise _invalid(file, lines, [(path, fault)])
    try:
        entry = RecipeEntry.model_validate(values)
    except ValidationError as problems:
        found = [(tuple(e["loc"]), _fault(dict(e))) for e in problems.errors(include_url=False, include_input=False)]
        raise _invalid(file, lines, found) from None
    if entry.name is not None and entry.name != name:
        raise _invalid(file, lines, [(("name",), f"must be {name}, the name of the file")])
    try:
        recipe = _recipe(entry, name)
        check_references(recipe)
    except RecipeFault as fault:
        raise _invalid(file, lines, [(fault.path, fault.text)]) from None
    return recipe


def _recipe(entry: RecipeEntry, name: str) -> Recipe:
    return Recipe(
        name=name,
        summary=" ".join(entry.summary.split()),
        steps=tuple(_step(step, ("steps", index)) for index, step in enumerate(entry.steps)),
        variables={key: _variable(key, value) for key, value in entry.variables.items()},
        outputs=entry.outputs,
        timeout_seconds=entry.timeout_seconds,
    )


def _step(entry: FallbackEntry, location: KeyPath, parent: str = "") -> RecipeStep:
    identity = entry.id or f"{parent}-fallback-{int(location[-1]) + 1}"
    expected = [
        ResultCondition(_path(path, (*location, "expect", path)), "equals", value)
        for path, value in entry.expect.items()
    ]
    asserted = [_condition(each, (*location, "assert", index)) for index, each in enumerate(entry.asserts)]
    captures = [
        Capture(each.name, None if each.path is None else _path(each.path, (*location, "capture", index)))
        for index, each in enumerate(entry.capture)
    ]
    fallback = entry.fallback if isinstance(entry, StepEntry) else []
    return RecipeStep(
        id=identity,
        action=_action(entry, location),
        asserts=(*expected, *asserted),
        captures=tuple(captures),
        description=entry.description,
        timeout_seconds=entry.timeout_seconds,
        fallback=tuple(_step(each, (*location, "fallback", i), identity) for i, each in enumerate(fallback)),
    )


def _action(entry: FallbackEntry, location: KeyPath) -> Action:
    if entry.tool is not None:
        return ToolCall(entry.tool, entry.params)
    if entry.model is not None:
        return ModelCall(entry.model, entry.prompt or "")
    assert entry.wait is not None
    wait = entry.wait
    until = _condition(wait.until, (*location, "wait", "until"))
    return Wait(wait.tool, wait.params, until, wait.interval_seconds, wait.timeout_seconds)


def _condition(entry: ConditionEntry, location: KeyPath) -> ResultCondition:
    path = _path(entry.path, (*location, "path"))
    if "exists" in entry.model_fields_set:
        return ResultCondition(path, "exists", entry.exists)
    if "equals" in entry.model_fields_set:
        return ResultCondition(path, "equals", entry.equals)
    return ResultCondition(path, "not_equals", entry.not_equals)


def _path(text: str, location: KeyPath) -> tuple[str | int, ...]:
    try:
        return parse_path(text)
    except TemplateError as fault:
        raise RecipeFault(location, str(fault)) from None


def _variable(name: str, value: Any) -> Variable:
    """An object describes a variable; anything else is its default."""
    location = ("variables", name)
    if name in ("vars", "steps", "captures", "result"):
        raise RecipeFault(location, "the name is reserved; choose another")
    if not isinstance(value, dict):
        return Variable(name, _type_of(value), default=value)
    try:
        entry = VariableEntry.model_validate(value)
    except ValidationError as problems:
        first = problems.errors(include_url=False, include_input=False)[0]
        raise RecipeFault((*location, *first["loc"]), _fault(dict(first))) from None
    has_default = "default" in entry.model_fields_set
    variable = Variable(name, entry.type, entry.description, not has_default, entry.default)
    if has_default and entry.default is not None and not variable.accepts(entry.default):
        raise RecipeFault((*location, "default"), f"the default is not of type {entry.type}")
    return variable


def _type_of(value: Any) -> VariableType:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "any"


def _fault(detail: Mapping[str, Any]) -> str:
    match detail["type"]:
        case "extra_forbidden":
            return "unknown key"
        case "missing":
            return "required key is missing"
        case _:
            message = str(detail["msg"])
            return message[:1].lower() + message[1:]


def _invalid(file: str, lines: LineMap, problems: list[tuple[KeyPath, str]]) -> SchemaInvalid:
    messages = []
    for path, text in problems[:_MAX_PROBLEMS]:
        line = nearest_line(lines, path)
        messages.append(f"{file}:{line}: {dotted(path)}: {text}" if line else f"{file}: {dotted(path)}: {text}")
    if len(problems) > _MAX_PROBLEMS:
        messages.append(f"and {len(problems) - _MAX_PROBLEMS} more")
    return SchemaInvalid("; ".join(messages) + ".", hint="See docs/recipes.md for the format of recipes.")
