"""Runs recipes, for the recipe tool and the workflow tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contextive.errors import ContextiveError
from contextive.models.router import ModelRouter
from contextive.packs.introspect import ServerFacts
from contextive.recipes.recipe import RecipePaths
from contextive.registry import Context, Dispatcher

if TYPE_CHECKING:
    from contextive.recipes.recipe import Recipe
    from contextive.recipes.run import RunRecord

LONGEST_RUN_SECONDS = 86_400.0
"""Overrides the server's time limit for tools; each run has its own limit."""
RUN_FIELDS = ("outputs", "steps")
"""The fields of a run that contain what the called tools and models returned."""


class RecipeStepAnswer(BaseModel):
    """One step of a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    status: Literal["success", "error", "skipped"]
    duration_seconds: float
    message: str
    result: Any = None
    result_bytes: int | None = Field(None, description="Size of a result that is too long to include")


class RecipeRunAnswer(BaseModel):
    """A successful run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["success"] = "success"
    recipe: str
    started_at: str
    finished_at: str
    duration_seconds: float
    success: bool
    dry_run: bool
    outputs: dict[str, Any]
    steps: list[RecipeStepAnswer]
    omitted: dict[str, int] | None = Field(None, description="Entries left out of lists of the outputs")


##= docs/spec/models-and-recipes.md#model-router
##% Every tool that invokes a model MUST do so through the router, or through the connected client.
async def run_recipe(
    recipe: Recipe,
    variables: Mapping[str, Any],
    ctx: Context,
    *,
    dry_run: bool = False,
    tokens: int | None = None,
    keep_outputs: bool = False,
) -> RecipeRunAnswer:
    """Run a recipe as the caller of `ctx`. Raises a `ContextiveError` with the steps in its details.

    With `tokens`, steps and, unless `keep_outputs` is true, outputs are shortened to that budget.
    """
    from contextive.recipes.adapters import RouterAsker, SurfaceCaller
    from contextive.recipes.engine import RecipeEngine  # loaded late: every server offers recipes, few run one
    from contextive.recipes.run import short_run
    from contextive.workspace.audit_log import AuditLog

    surface = ctx.service(ServerFacts).surface_of(ctx)

    ##= docs/spec/models-and-recipes.md#step-execution
    ##% Each run except a dry run MUST add one line to the recipe audit log.
    def audit(record: RunRecord) -> None:
        who = {"caller": ctx.caller.name, "door": ctx.door, "request_id": ctx.request_id}
        AuditLog(ctx.service(RecipePaths).state, "recipes").append({**record.audit_line(), **who})

    engine = RecipeEngine(
        tools=SurfaceCaller(ctx.service(Dispatcher), surface, ctx),
        models=RouterAsker(ctx.service(ModelRouter)),
        progress=ctx.client.progress,
        audit=audit,
    )
    try:
        run = (await engine.run(recipe, variables, dry_run=dry_run)).as_dict()
    except ContextiveError as failure:
        if failure.details and tokens is not None:
            failure.details = short_run(failure.details, tokens)
        raise
    return RecipeRunAnswer.model_validate(run if tokens is None else short_run(run, tokens, keep_outputs=keep_outputs))
