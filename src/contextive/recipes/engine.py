"""Runs the steps of a recipe in order, stops at the first error, and returns outputs only if all steps succeed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from contextive.errors import AssertFailed, ContextiveError, InvalidRequest, TimedOut, ToolFailed
from contextive.recipes.recipe import ModelCall, Recipe, RecipeStep, ResultCondition, ToolCall, Variable, Wait
from contextive.recipes.run import ActiveRun, RunRecord, StepRecord
from contextive.recipes.template import MissingValue, TemplateError, TemplateValues, as_text, format_path, render

_MAX_VALUE_LENGTH = 200


class ToolCaller(Protocol):
    """Calls tools with the rights of the caller of the recipe."""

    async def call(self, tool: str, params: Mapping[str, Any]) -> Any:
        """The tool's result as plain data. Raises a `ContextiveError`."""
        ...


class ModelAsker(Protocol):
    """Calls models for the caller of the recipe."""

    async def ask(self, model: str, prompt: str) -> Mapping[str, Any]:
        """The model's answer as plain data, with its text in `text`. Raises a `ContextiveError`."""
        ...


class ProgressCallback(Protocol):
    """Receives the progress of a run."""

    async def __call__(self, done: float, total: float | None = None, message: str | None = None, /) -> None: ...


async def _no_progress(_done: float, _total: float | None = None, _message: str | None = None) -> None:
    return None


@dataclass(frozen=True, slots=True)
class RecipeEngine:
    """Runs recipes with the given tools, models and callbacks."""

    tools: ToolCaller
    models: ModelAsker
    progress: ProgressCallback = _no_progress
    audit: Callable[[RunRecord], None] = lambda _record: None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic

    async def run(self, recipe: Recipe, given: Mapping[str, Any], *, dry_run: bool = False) -> RunRecord:
        """Run a recipe. Raises a `ContextiveError` with the steps in its details."""
        variables = bind_variables(recipe, given)
        active_run = ActiveRun(recipe.name, dry_run)
        if dry_run:
            active_run.steps += [StepRecord(step.id, "skipped", 0.0, _plan(step)) for step in recipe.steps]
            return active_run.close(success=True)  # a dry run is not audited
        try:
            async with asyncio.timeout(recipe.timeout_seconds) as limit:
                outputs = await self._run(recipe, variables, active_run)
        except TimeoutError:
            assert limit.expired()
            failure = TimedOut(f"The recipe {recipe.name} took longer than {recipe.timeout_seconds:g} seconds.")
            raise self._failed(recipe, active_run, failure) from None
        except ContextiveError as failure:
            raise self._failed(recipe, active_run, failure) from None
        except asyncio.CancelledError:
            self._close(active_run, success=False)
            raise
        return self._close(active_run, success=True, outputs=outputs)

    ##= docs/spec/models-and-recipes.md#step-execution
    ##% Steps MUST run in order, and the first step that fails ends the run.
    ##= docs/spec/models-and-recipes.md#step-execution
    ##% A run MUST return outputs only if every step succeeded.
    async def _run(self, recipe: Recipe, variables: Mapping[str, Any], active_run: ActiveRun) -> dict[str, Any]:
        total = len(recipe.steps)
        for done, step in enumerate(recipe.steps):
            await self.progress(done, total, f"{step.id}: {step.description or _plan(step)}")
            await self._with_fallback(step, variables, active_run)
        await self.progress(total, total, "done")
        values = TemplateValues(variables, active_run.results, active_run.captures)
        return {name: _render(value, values, f"The output {name}") for name, value in recipe.outputs.items()}

    ##= docs/spec/models-and-recipes.md#step-execution
    ##% A step that fails MUST be replaced by its fallback if it has one.
    async def _with_fallback(self, step: RecipeStep, variables: Mapping[str, Any], active_run: ActiveRun) -> None:
        try:
            await self._step(step, variables, active_run)
        except (ToolFailed, AssertFailed, TimedOut):
            if not step.fallback:
                raise
            for fallback in step.fallback:
                await self._step(fallback, variables, active_run)
            # Later steps refer to the result by the id of the failed step.
            active_run.results[step.id] = active_run.results[step.fallback[-1].id]

    async def _step(self, step: RecipeStep, variables: Mapping[str, Any], active_run: ActiveRun) -> None:
        """Run one step and record it, whether it succeeds or fails."""
        started = self.clock()
        result: Any = None
        try:
            values = TemplateValues(variables, active_run.results, active_run.captures)
            result = await self._with_timeout(step, self._run_action(step, values))
            for condition in step.asserts:
                check_condition(condition, result, values, step.id)
            captured = {c.name: _captured(c.path, result, values, step.id) for c in step.captures}
        except (ContextiveError, asyncio.CancelledError) as failure:
            message = failure.full_message() if isinstance(failure, ContextiveError) else "The step was stopped."
            active_run.steps.append(StepRecord(step.id, "error", self.clock() - started, message, result))
            raise
        active_run.results[step.id] = result
        active_run.captures.update(captured)
        active_run.steps.append(StepRecord(step.id, "success", self.clock() - started, step.description, result))

    ##= docs/spec/models-and-recipes.md#km-recipe-run
    ##% A step, a wait or a run that takes too long MUST end the run with `timeout`.
    async def _with_timeout(self, step: RecipeStep, work: Awaitable[Any]) -> Any:
        if step.timeout_seconds is None:
            return await work
        try:
            async with asyncio.timeout(step.timeout_seconds):
                return await work
        except TimeoutError:
            raise TimedOut(f"The step {step.id} took longer than {step.timeout_seconds:g} seconds.") from None

    async def _run_action(self, step: RecipeStep, values: TemplateValues) -> Any:
        what = f"The step {step.id}"
        match step.action:
            case ToolCall(tool, params):
                return await self._call(step.id, tool, _render(params, values, what))
            case ModelCall(model, prompt):
                try:
                    return await self.models.ask(model, as_text(_render(prompt, values, what)))
                except ContextiveError as failure:
                    raise _tool_failed(step.id, f"model {model}", failure) from None
            case Wait() as wait:
                return await self._wait(step.id, wait, values, _render(wait.params, values, what))

    ##= docs/spec/models-and-recipes.md#step-execution
    ##% A wait MUST call its tool until the condition is true or its time limit is reached.
    async def _wait(self, step: str, wait: Wait, values: TemplateValues, params: Mapping[str, Any]) -> Any:
        deadline = self.clock() + wait.timeout_seconds
        until = replace(wait.until, value=_render(wait.until.value, values, f"The step {step}"))
        while True:
            result = await self._call(step, wait.tool, params)
            if is_true(until, result, values):
                return result
            if self.clock() + wait.interval_seconds > deadline:
                raise TimedOut(
                    f"The step {step} waited {wait.timeout_seconds:g} seconds for {wait.tool}: {_expectation(until)}."
                )
            await self.sleep(wait.interval_seconds)

    async def _call(self, step: str, tool: str, params: Mapping[str, Any]) -> Any:
        try:
            return await self.tools.call(tool, params)
        except ContextiveError as failure:
            raise _tool_failed(step, tool, failure) from None

    def _close(self, active_run: ActiveRun, *, success: bool, outputs: Mapping[str, Any] | None = None) -> RunRecord:
        record = active_run.close(success=success, outputs=outputs)
        self.audit(record)
        return record

    def _failed(self, recipe: Recipe, active_run: ActiveRun, failure: ContextiveError) -> ContextiveError:
        """The error, with the steps of the run as its details. Steps that were not reached have the status skipped."""
        reached = {record.id for record in active_run.steps}
        active_run.steps += [
            StepRecord(step.id, "skipped", 0.0, "not reached") for step in recipe.steps if step.id not in reached
        ]
        failure.details = self._close(active_run, success=False).as_dict()
        return failure


##= docs/spec/models-and-recipes.md#step-execution
##% A variable that is missing, unknown or of the wrong type MUST be refused before anything runs.
def bind_variables(recipe: Recipe, given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every variable: the given one or its default. Raises `InvalidRequest`."""
    known = ", ".join(recipe.variables) or "none"
    if unknown := sorted(set(given) - set(recipe.variables)):
        printable = "".join(c if c.isprintable() else "?" for c in unknown[0][:60])
        raise InvalidRequest(f"{recipe.name} has no variable {printable!r}.", hint=f"Variables: {known}.")
    bound: dict[str, Any] = {}
    for name, variable in recipe.variables.items():
        if name not in given:
            if variable.required:
                raise InvalidRequest(f"{recipe.name} needs the variable {name}.", hint=_described(variable))
            bound[name] = variable.default
            continue
        if not variable.accepts(given[name]):
            raise InvalidRequest(f"The variable {name} of {recipe.name} must be of type {variable.type}.")
        bound[name] = given[name]
    return bound


def is_true(condition: ResultCondition, result: Any, values: TemplateValues) -> bool:
    """Whether a condition with a rendered value is true for a result. For a missing path only `exists: false` is true."""
    try:
        found = values.look_up_in(result, condition.path)
    except MissingValue:
        return condition.operator == "exists" and condition.value is False
    match condition.operator:
        case "exists":
            return bool(condition.value)
        case "equals":
            return _json_equal(found, condition.value)
        case "not_equals":
            return not _json_equal(found, condition.value)


##= docs/spec/models-and-recipes.md#km-recipe-run
##% A result that fails an assertion of the recipe MUST end the run with `assert_failed`.
def check_condition(condition: ResultCondition, result: Any, values: TemplateValues, step: str) -> None:
    """Raise `AssertFailed` if a condition is not true."""
    rendered = replace(condition, value=_render(condition.value, values, f"The step {step}"))
    if not is_true(rendered, result, values):
        raise AssertFailed(f"The step {step} expects {_expectation(rendered)}; {_found(rendered, result, values)}.")


def _json_equal(left: Any, right: Any) -> bool:
    """JSON equality: true is not equal to 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    match left, right:
        case Mapping(), Mapping():
            return left.keys() == right.keys() and all(_json_equal(left[key], right[key]) for key in left)
        case list() | tuple(), list() | tuple():
            return len(left) == len(right) and all(map(_json_equal, left, right))
        case _:
            return bool(left == right)


def _captured(path: tuple[str | int, ...] | None, result: Any, values: TemplateValues, step: str) -> Any:
    if path is None:
        return result
    try:
        return values.look_up_in(result, path)
    except MissingValue as missing:
        raise AssertFailed(f"The step {step} captures {missing}, which is not in its result.") from None


def _render(value: Any, values: TemplateValues, what: str) -> Any:
    try:
        return render(value, values)
    except MissingValue as missing:
        raise AssertFailed(f"{what} needs {missing}, which does not exist.") from None
    except TemplateError as fault:
        raise AssertFailed(f"{what} cannot be rendered: {fault}.") from None


##= docs/spec/models-and-recipes.md#km-recipe-run
##% A tool or model that fails MUST end the run with `tool_failed`.
def _tool_failed(step: str, what: str, failure: ContextiveError) -> ContextiveError:
    """The error of a step whose tool or model failed: a `ToolFailed`, or a `TimedOut` if it timed out."""
    message = f"The step {step} failed: {what}: {failure.message}"
    if isinstance(failure, TimedOut):
        return TimedOut(message, hint=failure.hint)
    error = ToolFailed(message, hint=failure.hint)
    error.details = {"cause": failure.code}
    return error


##= docs/spec/models-and-recipes.md#step-execution
##% A dry run MUST call nothing and write nothing.
def _plan(step: RecipeStep) -> str:
    match step.action:
        case ToolCall(tool):
            return f"call {tool}"
        case ModelCall(model):
            return f"call {model}"
        case Wait(tool, _, until):
            return f"wait for {tool}: {_expectation(until)}"


def _expectation(condition: ResultCondition) -> str:
    path = format_path(condition.path)
    match condition.operator:
        case "exists":
            return f"{path} to {'exist' if condition.value else 'be missing'}"
        case "equals":
            return f"{path} to be {_shorten(condition.value)}"
        case "not_equals":
            return f"{path} to be other than {_shorten(condition.value)}"


def _found(condition: ResultCondition, result: Any, values: TemplateValues) -> str:
    try:
        return f"it is {_shorten(values.look_up_in(result, condition.path))}"
    except MissingValue:
        return "it does not exist"


def _shorten(value: Any) -> str:
    text = as_text(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else text[:_MAX_VALUE_LENGTH] + "…"


def _described(variable: Variable) -> str:
    return variable.description or f"It is of type {variable.type}."
