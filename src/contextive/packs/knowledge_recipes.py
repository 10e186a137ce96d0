"""`km-recipe-run`: runs a recipe by name. The knowledge pack includes it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from contextive.packs.recipe_runner import LONGEST_RUN_SECONDS, RUN_FIELDS, RecipeRunAnswer, run_recipe
from contextive.recipes.recipe import RECIPE_RUNNER_LABEL, RecipePaths
from contextive.registry import Annotations, Context, Pack, Scope, ToolInput
from contextive.registry.budget import Detail
from contextive.registry.threads import run_in_thread

_TOKENS = 1_500


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The tool `km-recipe-run` MUST take `recipe`, and optionally `vars` and `dry_run`.
class RecipeInput(ToolInput):
    """The arguments of `km-recipe-run`."""

    recipe: str = Field(min_length=1, max_length=64, description="Name of the recipe, such as daily-health")
    vars: dict[str, Any] = Field(default_factory=dict, description="Values for the recipe's variables")
    dry_run: bool = Field(False, description="Check the recipe and list its steps without calling anything")
    detail: Detail = "concise"


async def recipe_run(given: RecipeInput, ctx: Context) -> RecipeRunAnswer:
    """Run a recipe as the caller."""
    from contextive.recipes.catalog import RecipeCatalog  # loaded late: building the recipe schemas takes time

    catalog = RecipeCatalog(ctx.service(RecipePaths).project)
    recipe = await run_in_thread(lambda: catalog.entry(given.recipe).recipe())
    tokens = None if given.detail == "full" else _TOKENS
    return await run_recipe(recipe, given.vars, ctx, dry_run=given.dry_run, tokens=tokens)


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The tool `km-recipe-run` MUST require the maintainer scope.
def declare(pack: Pack) -> None:
    """Add the tool to a pack."""
    pack.tool(
        "km-recipe-run",
        title="Run a recipe",
        description="Run a named recipe (daily-health, release-prep, stale-audit, …): its steps in order, up to the first "
        "that fails. Returns outputs and each step. The error for an unknown name lists all.",
        scope=Scope.MAINTAINER,
        labels=("knowledge", RECIPE_RUNNER_LABEL),
        safety_notes="Calls the tools that the recipe names, with your scope; some index, write or back up.",
        invocation_hints="for routine tasks that take several tools; dry_run shows the steps first",
        untrusted=RUN_FIELDS,
        annotations=Annotations(read_only=False, destructive=False, idempotent=False, open_world=True),
        timeout_seconds=LONGEST_RUN_SECONDS,
    )(recipe_run)
