"""Recipes call tools with the surface and scope of their caller, and never send secrets to models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import Field

from contextive.errors import ContextiveError, Forbidden, InvalidRequest, ToolFailed
from contextive.models.catalog import ModelCatalog
from contextive.models.provider_setup import ProviderSettings, connect_providers
from contextive.models.request import ModelInfo
from contextive.models.router import ModelRouter, TaskRoute
from contextive.recipes.adapters import RouterAsker, SurfaceCaller
from contextive.recipes.recipe import RECIPE_RUNNER_LABEL
from contextive.registry import (
    OWNER_AS_MAINTAINER,
    OWNER_AS_READER,
    Caller,
    Context,
    Dispatcher,
    InputNeeded,
    Pack,
    Question,
    Registry,
    Reply,
    Scope,
    Services,
    Text,
    ToolInput,
    ToolOutput,
)
from tests.models.service import Service, model_service


class Word(ToolInput):
    word: str = Field(description="A word")


class Said(ToolOutput):
    word: str
    caller: str
    can_sample: bool


def dispatcher() -> Dispatcher:
    pack = Pack("sample", title="S", description="S")

    @pack.tool("say", title="Say", description="Say.")
    async def say(given: Word, ctx: Context) -> Said:
        return Said(word=given.word, caller=ctx.caller.name, can_sample=ctx.client.offers("sampling"))

    @pack.tool("rule", title="Rule", description="Rule.", scope=Scope.MAINTAINER)
    async def rule(given: Word, ctx: Context) -> Said:
        return await say(given, ctx)

    @pack.tool("refuse", title="Refuse", description="Refuse.")
    async def refuse(given: Word, ctx: Context) -> Reply:
        return Reply(content=[Text("I would rather not")], is_error=True)

    @pack.tool("plain", title="Plain", description="Plain.")
    async def plain(given: Word, ctx: Context) -> Reply:
        return Reply(content=[Text("only"), Text("text")])

    @pack.tool("curious", title="Curious", description="Curious.")
    async def curious(given: Word, ctx: Context) -> Said:
        raise InputNeeded({"q": Question("elicitation/create", {})})

    @pack.tool("again", title="Again", description="Again.", labels=(RECIPE_RUNNER_LABEL,))
    async def again(given: Word, ctx: Context) -> Said:
        return await say(given, ctx)

    return Dispatcher(Registry([pack]))


class Talkative:
    """A client with all capabilities."""

    name = "talkative"
    answers: dict[str, Any] = {}  # noqa: RUF012 - a constant of this sample
    state = None

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None: ...

    async def log(self, level: str, data: Any, logger: str | None = None) -> None: ...

    def offers(self, capability: str) -> bool:
        return True

    async def ask(self, questions: Any, *, state: str | None = None) -> Any:
        raise AssertionError("a step does not ask the client")


def call(tool: str, caller: Caller = OWNER_AS_READER, **params: Any) -> Any:
    own = dispatcher()
    surface = own.registry.surface(["sample"], caller.scope)
    ctx = Context(caller=caller, services=Services(), request_id="r", door="test", client=Talkative())
    return asyncio.run(SurfaceCaller(own, surface, ctx).call(tool, params))


def test_a_step_calls_tools_as_the_caller_but_without_a_client() -> None:
    assert call("say", word="hi") == {"word": "hi", "caller": "owner", "can_sample": False}


##= docs/spec/models-and-recipes.md#step-execution
##% A recipe MUST NOT do anything that its caller may not do.
def test_a_recipe_cannot_bypass_the_surface_of_the_caller() -> None:
    with pytest.raises(Forbidden):
        call("rule", word="hi")
    assert call("rule", OWNER_AS_MAINTAINER, word="hi")["word"] == "hi"


@pytest.mark.parametrize(
    ("tool", "params", "kind", "message"),
    [
        ("say", {}, InvalidRequest, "say needs the argument 'word'"),
        ("refuse", {"word": "x"}, ToolFailed, "I would rather not"),
        ("curious", {"word": "x"}, ToolFailed, "needs input from the client"),
        ("again", {"word": "x"}, InvalidRequest, "runs recipes and cannot be a step"),
    ],
)
def test_a_tool_that_returns_an_error_fails_the_step(
    tool: str, params: dict[str, Any], kind: type[ContextiveError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call(tool, **params)


def test_a_tool_without_data_returns_its_text() -> None:
    assert call("plain", word="x") == {"text": "only\ntext"}


def asker(service: Service) -> RouterAsker:
    entry = ProviderSettings(base_url=f"{service.url}/v1", timeout_seconds=5)
    providers = connect_providers({"here": entry}).providers
    routing = {"summary": TaskRoute("small", "spare")}
    return RouterAsker(ModelRouter(providers, ModelCatalog([ModelInfo("small", "here")]), routing))


##= docs/spec/models-and-recipes.md#model-router
##% Every tool that invokes a model MUST do so through the router, or through the connected client.
def test_a_model_step_names_a_model_or_a_task() -> None:
    with model_service() as service:
        answer = asyncio.run(asker(service).ask("summary", "Sum up."))
        asyncio.run(asker(service).ask("other", "Sum up."))
        assert [seen.body["model"] for seen in service.seen] == ["small", "other"]
    assert answer == {
        "text": "Because of the tides [1].",
        "model": "here/small",
        "usage": {"input_tokens": 11, "output_tokens": 7},
        "warnings": [],
    }


##= docs/spec/models-and-recipes.md#step-execution
##% A line of a prompt that contains a secret MUST NOT leave the machine.
def test_secrets_in_a_prompt_are_not_sent() -> None:
    token = "ghp_" + "b" * 36
    key = "-----BEGIN PRIVATE" + " KEY-----\nMIIE" + "x" * 40
    with model_service() as service:
        asyncio.run(asker(service).ask("small", f"One.\n{token}\nTwo."))
        assert token not in service.prompts[0]
        assert service.prompts[0].startswith("One.\n[withheld")
        with pytest.raises(InvalidRequest, match="is not sent"):
            asyncio.run(asker(service).ask("small", key))
        assert len(service.seen) == 1
