"""Give a recipe access to tools and models, with the rights of its caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from contextive.errors import InvalidRequest, ToolFailed
from contextive.models.request import ModelRequest
from contextive.models.router import ModelRouter
from contextive.models.sources import redact
from contextive.recipes.recipe import RECIPE_RUNNER_LABEL
from contextive.registry import Context, Dispatcher, InputNeeded, NoClient, Surface
from contextive.workspace.secrets import contains_secret


@dataclass(frozen=True, slots=True)
class SurfaceCaller:
    """Calls tools through the dispatcher, within the surface and scope of the caller."""

    dispatcher: Dispatcher
    surface: Surface
    ctx: Context

    ##= docs/spec/models-and-recipes.md#step-execution
    ##% A recipe MUST NOT do anything that its caller may not do.
    ##= docs/spec/models-and-recipes.md#workflow-tools
    ##% A workflow MUST NOT run workflows or recipes.
    async def call(self, tool: str, params: Mapping[str, Any]) -> Any:
        declared = self.surface.tools.get(tool)
        if declared is not None and RECIPE_RUNNER_LABEL in declared.labels:
            raise InvalidRequest(f"{tool} runs recipes and cannot be a step of one.")
        # A step cannot ask the client: in the stateless protocol the whole recipe would start again from its first step.
        silent_ctx = replace(self.ctx, client=NoClient())
        try:
            result = await self.dispatcher.call(self.surface, tool, params, silent_ctx)
        except InputNeeded:
            raise ToolFailed(f"{tool} needs input from the client, which is not possible in a recipe.") from None
        if result.is_error:
            raise ToolFailed(result.text[:500] or f"{tool} returned an error.")
        return result.data if result.data is not None else {"text": result.text}


@dataclass(frozen=True, slots=True)
class RouterAsker:
    """Calls models through the router. `model` can also be the name of a task in the routing table."""

    router: ModelRouter

    ##= docs/spec/models-and-recipes.md#step-execution
    ##% A line of a prompt that contains a secret MUST NOT leave the machine.
    async def ask(self, model: str, prompt: str) -> dict[str, Any]:
        safe = redact(prompt, contains_secret)
        if contains_secret(safe):
            raise InvalidRequest("The prompt seems to contain a private key and is not sent.")
        is_task = model in self.router.routing
        request = ModelRequest(safe, model=None if is_task else model, task=model if is_task else None)
        response = await self.router.answer(request)
        return {
            "text": response.text,
            "model": f"{response.provider}/{response.model}",
            "usage": {
                "input_tokens": response.usage.input_tokens,
                "output_tokens": response.usage.output_tokens,
            },
            "warnings": list(response.warnings),
        }
