"""Converts configured workflows to recipes."""

from __future__ import annotations

from collections.abc import Mapping

from contextive.config import FallbackStep, StepCondition, Workflow, WorkflowVariable
from contextive.config import Step as ConfiguredStep
from contextive.errors import ConfigError
from contextive.recipes.recipe import (
    Action,
    Capture,
    ModelCall,
    Recipe,
    RecipeStep,
    ResultCondition,
    ToolCall,
    Variable,
    Wait,
)
from contextive.recipes.references import RecipeFault, check_references, variables_named
from contextive.recipes.template import TemplateError, parse_path, paths_in


##= docs/spec/models-and-recipes.md#workflow-tools
##% The steps of a workflow MUST run in order.
##= docs/spec/models-and-recipes.md#workflow-tools
##% A workflow with a template that refers to a value that no earlier step and no variable provides MUST prevent the
##% server from starting.
def recipe_from_workflow(name: str, workflow: Workflow) -> Recipe:
    """The workflow as a recipe. Undeclared names in its templates become required text variables.

    Raises `ConfigError` for a template that is invalid or refers to a step that has not run yet.
    """
    try:
        steps: tuple[RecipeStep, ...] = ()
        for number, configured in enumerate(workflow.steps, 1):
            steps += (_step(configured, f"step{number}", steps[-1].id if steps else None),)
        draft = Recipe(name, workflow.description or f"Runs {len(steps)} steps.", steps, outputs=workflow.outputs)
        variables: Mapping[str, Variable] = {
            each: Variable(each, "string", required=True) for each in variables_named(draft)
        } | {each: _variable(each, declared) for each, declared in workflow.variables.items()}
        outputs = workflow.outputs or {"result": f"${{steps.{steps[-1].id}}}"}
        recipe = Recipe(name, draft.summary, steps, variables, outputs, workflow.timeout_seconds)
        check_references(recipe)
    except TemplateError as fault:
        raise ConfigError(f"workflows.{name}: {fault}.") from None
    except RecipeFault as fault:
        location = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.path)
        raise ConfigError(f"workflows.{name}{location}: {fault.text}.") from None
    return recipe


def _variable(name: str, declared: WorkflowVariable) -> Variable:
    required = "default" not in declared.model_fields_set
    return Variable(name, declared.type, declared.description or "", required, declared.default)


def _step(step: FallbackStep, default_id: str, previous: str | None) -> RecipeStep:
    identity = step.id or default_id
    action: Action
    if step.tool is not None:
        action = ToolCall(step.tool, step.params)
    elif step.model is not None:
        action = ModelCall(step.model, _prompt(step.prompt or "", previous))
    else:
        assert step.wait is not None
        wait = step.wait
        action = Wait(wait.tool, wait.params, _condition(wait.until), wait.interval_seconds, wait.timeout_seconds)
    fallback = step.fallback if isinstance(step, ConfiguredStep) and step.fallback else ()
    expected = [ResultCondition(parse_path(path), "equals", value) for path, value in step.expect.items()]
    return RecipeStep(
        identity,
        action,
        asserts=(*expected, *map(_condition, step.asserts)),
        captures=tuple(Capture(c.name, parse_path(c.path) if c.path else None) for c in step.capture),
        description=step.description or "",
        timeout_seconds=step.timeout_seconds,
        fallback=tuple(
            _step(each, f"{identity}-fallback-{number}", previous) for number, each in enumerate(fallback, 1)
        ),
    )


def _condition(given: StepCondition) -> ResultCondition:
    path = parse_path(given.path)
    if "exists" in given.model_fields_set:
        return ResultCondition(path, "exists", bool(given.exists))
    if "equals" in given.model_fields_set:
        return ResultCondition(path, "equals", given.equals)
    return ResultCondition(path, "not_equals", given.not_equals)


def _prompt(prompt: str, previous: str | None) -> str:
    """The prompt; if it has no template, followed by the result of the previous step."""
    if previous is None or any(True for _ in paths_in(prompt)):
        return prompt
    return f"{prompt}\n\n${{steps.{previous}}}"
