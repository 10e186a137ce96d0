"""The router: choosing a model needs no network, and answers say if another model was used."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import NoModel, UpstreamError
from contextive.models.catalog import ModelCatalog, fits
from contextive.models.provider import Provider
from contextive.models.provider_setup import ProviderSettings, connect_providers
from contextive.models.request import ModelInfo, ModelRequest, ModelResponse, ModelUse, ResolvedModel, Usage
from contextive.models.router import ModelRouter, TaskRoute

from .service import Service, completion, refusal

SMALL = ModelInfo("small", "one", "gpt", 8_000, 0.1, 0.4)
LARGE = ModelInfo("large", "one", "gpt", 200_000, 5.0, 20.0)
CLAUDE = ModelInfo("claude-x", "two", None, 100_000, 3.0, 15.0)
UNKNOWN = ModelInfo("secretive", "two")


@dataclass
class Scripted:
    """A provider in memory, for tests that choose a model without a request."""

    id: str
    models: Sequence[ModelInfo] = ()
    asked: list[str] = field(default_factory=list)

    async def list_models(self) -> Sequence[ModelInfo]:
        return self.models

    async def invoke(self, model: str, request: ModelRequest) -> ModelResponse:
        self.asked.append(model)
        return ModelResponse("yes", model, self.id)


def router(**changes: object) -> ModelRouter:
    providers: dict[str, Provider] = {"one": Scripted("one"), "two": Scripted("two")}
    settings = {"providers": providers, "catalog": ModelCatalog([SMALL, LARGE, CLAUDE, UNKNOWN]), **changes}
    return ModelRouter(**settings)  # type: ignore[arg-type]


def picked(request: ModelRequest, **changes: object) -> ModelInfo:
    return router(**changes).pick(request).info


def text_of_tokens(tokens: int) -> str:
    return "x" * (3 * tokens)


##= docs/spec/models-and-recipes.md#model-selection
##% A model named in the request MUST take precedence over a task, and a task over everything else.
def test_an_explicit_name_wins_over_everything() -> None:
    request = ModelRequest("q", model="large", task="ask", family="claude")
    assert picked(request, routing={"ask": TaskRoute("small")}) == LARGE


def test_a_model_name_may_include_its_provider() -> None:
    twin = ModelInfo("small", "two")
    catalog = ModelCatalog([SMALL, twin])
    assert picked(ModelRequest("q", model="two/small"), catalog=catalog) == twin
    assert picked(ModelRequest("q", model="small"), catalog=catalog) == SMALL
    assert picked(ModelRequest("q", model="two/not-listed"), catalog=catalog) == ModelInfo("not-listed", "two")


def test_an_unknown_model_name_is_sent_to_the_only_provider() -> None:
    only: dict[str, Provider] = {"one": Scripted("one")}
    assert picked(ModelRequest("q", model="new"), providers=only) == ModelInfo("new", "one")
    with pytest.raises(NoModel, match="new is unknown"):
        router().pick(ModelRequest("q", model="new"))


##= docs/spec/models-and-recipes.md#model-router
##% The router MUST support static mappings from a task to a model in the configuration.
def test_a_task_uses_its_route_and_other_tasks_the_default_route() -> None:
    routing = {"ask": TaskRoute("claude-x"), "default": TaskRoute("large")}
    assert picked(ModelRequest("q", task="ask"), routing=routing) == CLAUDE
    assert picked(ModelRequest("q", task="summary"), routing=routing) == LARGE
    assert picked(ModelRequest("q"), routing=routing) == LARGE


##= docs/spec/models-and-recipes.md#model-router
##% The server MUST have a model router that picks a model for a request and invokes it.
def test_without_criteria_the_first_configured_model_is_used() -> None:
    assert picked(ModelRequest("q")) == SMALL


##= docs/spec/models-and-recipes.md#model-selection
##% A model whose context window is known to be too small MUST NOT be picked.
def test_a_request_too_long_for_one_model_goes_to_the_next_that_fits() -> None:
    assert picked(ModelRequest(text_of_tokens(50_000))) == LARGE


def test_models_with_a_known_window_come_before_unknown_ones() -> None:
    assert picked(ModelRequest(text_of_tokens(150_000), family="claude")) == LARGE
    assert picked(ModelRequest(text_of_tokens(500_000))) == UNKNOWN


def test_the_cheapest_model_of_the_preferred_family_is_chosen() -> None:
    assert picked(ModelRequest("q", family="claude")) == CLAUDE
    assert picked(ModelRequest("q", family="GPT")) == SMALL
    assert picked(ModelRequest("q", family="llama")) == SMALL


##= docs/spec/models-and-recipes.md#model-selection
##% With a price limit, a model with a higher or unknown price MUST NOT be picked.
def test_a_price_limit_excludes_expensive_models_and_unknown_prices() -> None:
    assert picked(ModelRequest("q", max_cost=0.001)) == SMALL
    with pytest.raises(NoModel):
        router().pick(ModelRequest("q", max_cost=0.0000001))


##= docs/spec/models-and-recipes.md#model-router
##% The router MUST receive its providers, catalog, routes and finder as arguments, so that it can be tested in
##% isolation.
@given(
    st.lists(
        st.builds(
            ModelInfo,
            st.sampled_from("abcdefgh"),
            st.sampled_from(["one", "two"]),
            st.sampled_from([None, "gpt", "claude"]),
            st.none() | st.integers(500, 5_000),
            st.none() | st.floats(0, 10),
            st.none() | st.floats(0, 10),
        ),
        max_size=8,
    ),
    st.integers(0, 4_000),
    st.sampled_from([None, "gpt", "claude"]),
    st.none() | st.floats(0, 0.1),
)
def test_the_chosen_model_always_fits(
    models: list[ModelInfo], tokens: int, family: str | None, max_cost: float | None
) -> None:
    request = ModelRequest(text_of_tokens(tokens), family=family, max_cost=max_cost, max_output_tokens=100)
    catalog = ModelCatalog(models)
    able = [model for model in catalog if fits(model, request)]
    assert sorted(catalog.fitting(request), key=str) == sorted(able, key=str)
    if not able:
        with pytest.raises(NoModel):
            router(catalog=catalog).pick(request)
    else:
        assert router(catalog=catalog).pick(request).info in able


def test_a_missing_model_is_replaced_by_its_backup_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    resolved = router(routing={"ask": TaskRoute("gone", "small")}).pick(ModelRequest("q", task="ask"))
    assert resolved.info == SMALL
    assert resolved.warnings == ("The model gone is unknown; one/small was used instead.",)
    assert resolved.warnings[0] in caplog.text


def test_a_model_that_is_too_small_is_replaced_by_its_backup() -> None:
    resolved = router(routing={"ask": TaskRoute("small", "large")}).pick(
        ModelRequest(text_of_tokens(20_000), task="ask")
    )
    assert resolved.info == LARGE
    assert "too small" in resolved.warnings[0]


def test_a_backup_that_is_too_small_is_not_used() -> None:
    with pytest.raises(NoModel, match="too small"):
        router(routing={"ask": TaskRoute("small", "small")}).pick(ModelRequest(text_of_tokens(20_000), task="ask"))


def test_an_explicit_name_has_the_backup_of_a_route_to_it() -> None:
    routing = {"ask": TaskRoute("large", "small"), "default": TaskRoute("small", "claude-x")}
    assert router(routing=routing).pick(ModelRequest("q", model="large")) == ResolvedModel(LARGE, SMALL)
    assert router(routing=routing).pick(ModelRequest("q", model="gone")).info == CLAUDE


##= docs/spec/models-and-recipes.md#model-selection
##% When no model fits, the error MUST be `no_model` and say what to configure.
def test_without_a_provider_the_error_says_what_to_do() -> None:
    with pytest.raises(NoModel) as caught:
        ModelRouter().pick(ModelRequest("q"))
    error = caught.value.as_dict()
    assert (error["code"], error["message"]) == ("no_model", "No model provider is configured.")
    assert "contextive-mcp trust" in error["hint"]


##= docs/spec/models-and-recipes.md#model-router
##% The router MUST look for models in a configured `llms.txt` file when no known model fits.
def test_models_are_discovered_only_if_no_known_model_fits() -> None:
    looks = []

    class Finder:
        async def find(self, providers: Sequence[Provider]) -> Sequence[ModelInfo]:
            looks.append(len(providers))
            return [ModelInfo("found", "two", context_window=50)]

    asked = router(finder=Finder())
    asyncio.run(asked.answer(ModelRequest("q", model="small")))
    assert looks == []
    assert asyncio.run(asked.resolve(ModelRequest("q", model="found", max_output_tokens=10))).info.provider == "two"
    with pytest.raises(NoModel):
        asyncio.run(asked.resolve(ModelRequest("q", model="never")))
    assert looks == [2], "a second discovery within the hour sends no request"


def live(service: Service, routing: dict[str, TaskRoute]) -> ModelRouter:
    entry = ProviderSettings(base_url=f"{service.url}/v1", timeout_seconds=5)
    return ModelRouter(connect_providers({"here": entry}).providers, ModelCatalog(), routing)


##= docs/spec/models-and-recipes.md#model-selection
##% A configured backup MUST answer when the model is missing, too small or fails, and the answer says so.
def test_a_model_that_fails_is_replaced_by_its_backup_and_the_answer_says_so(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.script = [refusal(404, "no such model")]
    asked = live(service, {"ask": TaskRoute("gone", "small")})
    uses: list[ModelUse] = []
    asked.observers.append(uses.append)
    with caplog.at_level(logging.WARNING):
        response = asyncio.run(asked.answer(ModelRequest("q", task="ask")))
    assert [seen.body["model"] for seen in service.seen] == ["gone", "small"]
    assert response.model == "small"
    assert response.warnings == ("The model here/gone failed (upstream_error); here/small answered instead.",)
    assert response.warnings[0] in caplog.text
    assert [(use.model, use.error, use.usage) for use in uses] == [
        ("gone", "upstream_error", Usage()),
        ("small", None, Usage(11, 7)),
    ]


def test_a_model_that_fails_without_a_backup_is_an_error(service: Service) -> None:
    service.script = [refusal(404)]
    with pytest.raises(UpstreamError, match="status 404"):
        asyncio.run(live(service, {"ask": TaskRoute("gone")}).answer(ModelRequest("q", task="ask")))


def test_an_empty_answer_is_a_failure(service: Service) -> None:
    service.script = [completion("  \n")]
    with pytest.raises(UpstreamError, match="empty answer"):
        asyncio.run(live(service, {}).answer(ModelRequest("q", model="m")))
