"""The workflows pack: one tool for each configured workflow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field, create_model

from contextive.config import Workflow
from contextive.packs.recipe_runner import LONGEST_RUN_SECONDS, RUN_FIELDS, RecipeRunAnswer, run_recipe
from contextive.recipes.recipe import RECIPE_RUNNER_LABEL, ModelCall, Recipe, VariableType
from contextive.recipes.workflow import recipe_from_workflow
from contextive.registry import Annotations, Context, Pack, Scope, Tool, ToolInput
from contextive.registry.budget import ANSWER_TOKENS

pack = Pack("workflows", title="Workflows", description="Sequences of steps from the configuration, one tool each.")

_TYPES: Mapping[VariableType, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
    "any": Any,
}


##= docs/spec/models-and-recipes.md#workflow-tools
##% Each configured workflow MUST be offered as one tool.
def workflow_pack(workflows: Mapping[str, Workflow], others: Iterable[Pack]) -> Pack:
    """The pack for these workflows. The scope and annotations of each follow from the tools that it calls.

    Raises `ConfigError` for a workflow whose steps refer to something that does not exist.
    """
    result = Pack(pack.name, title=pack.title, description=pack.description)
    known = {tool.name: tool for other in others for tool in other.tools}
    for name, workflow in workflows.items():
        _declare(result, recipe_from_workflow(name, workflow), known)
    return result


##= docs/spec/models-and-recipes.md#workflow-tools
##% A workflow MUST NOT do anything that its caller's scope does not allow.
def _declare(result: Pack, recipe: Recipe, known: Mapping[str, Tool]) -> None:
    input_model = _input_model(recipe)

    async def run(given: ToolInput, ctx: Context) -> RecipeRunAnswer:
        variables = given.model_dump(by_alias=True, exclude_unset=True)
        # The outputs are what the configuration asks for, so they are never shortened.
        return await run_recipe(recipe, variables, ctx, tokens=ANSWER_TOKENS, keep_outputs=True)

    run.__annotations__["given"] = input_model
    called = [known[tool] for tool in recipe.tools if tool in known]
    unknown = [tool for tool in recipe.tools if tool not in known]
    asks_model = any(isinstance(step.action, ModelCall) for step in recipe.all_steps())
    # An unknown tool could do anything.
    read_only = not unknown and all(tool.annotations.read_only for tool in called)
    result.tool(
        f"workflow.{recipe.name}",
        title=f"Workflow {recipe.name}",
        description=_sentence(recipe.summary),
        scope=next((scope for scope in Scope if all(scope.covers(tool.scope) for tool in called)), Scope.MAINTAINER),
        labels=("workflow", RECIPE_RUNNER_LABEL),
        safety_notes="" if read_only else f"Calls {', '.join(recipe.tools)}, with your scope.",
        annotations=Annotations(
            read_only=read_only,
            destructive=bool(unknown) or any(tool.annotations.destructive for tool in called),
            idempotent=read_only and not asks_model,
            open_world=asks_model or bool(unknown) or any(tool.annotations.open_world for tool in called),
        ),
        timeout_seconds=LONGEST_RUN_SECONDS,
        untrusted=RUN_FIELDS,
    )(run)


##= docs/spec/models-and-recipes.md#workflow-tools
##% The variables of a workflow MUST be the typed arguments of its tool.
def _input_model(recipe: Recipe) -> type[ToolInput]:
    """The variables of the workflow as typed arguments. Aliases allow variable names such as `copy` and `a-b`."""
    fields: dict[str, Any] = {
        f"variable_{number}": (
            _TYPES[variable.type],
            Field(
                ... if variable.required else variable.default,
                alias=name,
                description=variable.description or f"Value for ${{vars.{name}}} in the workflow",
            ),
        )
        for number, (name, variable) in enumerate(recipe.variables.items())
    }
    return create_model(f"Workflow_{recipe.name}", __base__=ToolInput, **fields)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
