"""`ask` through the host: a configured provider answers from the notes of the project."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextive.config import ConfigRequest, TrustStore, load_config
from contextive.errors import Unavailable, UpstreamError
from contextive.packs import BUILTIN
from contextive.registry import OWNER_AS_READER
from contextive.server.host import Host
from tests.models.service import KEY, Service, model_service, refusal

NOTE = "---\ntitle: Tides\n---\nThe moon pulls the sea twice a day.\n"


@pytest.fixture
def service() -> Iterator[Service]:
    with model_service() as running:
        yield running


def open_host(folder: Path, settings: Mapping[str, Any]) -> Host:
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "notes" / "tides.md").write_text(NOTE, encoding="utf-8")
    file = folder / "given.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    request = ConfigRequest(
        project=folder,
        explicit=file,
        environ={},
        trust=TrustStore(folder / "trust.json"),
        builtin_packs=frozenset(BUILTIN),
    )
    return Host(load_config(request), mode="in-process")


def asked(folder: Path, question: str, **settings: Any) -> Mapping[str, Any]:
    return ask(open_host(folder, settings), question)


def ask(host: Host, question: str) -> Mapping[str, Any]:
    ctx = host.context(OWNER_AS_READER, door="test", profile=host.profile, request_id="r1")
    surface = host.surface(host.profile, OWNER_AS_READER.scope)
    result = asyncio.run(host.dispatcher.call(surface, "ask", {"question": question}, ctx))
    assert isinstance(result.data, Mapping)
    return result.data


def provider(service: Service) -> dict[str, Any]:
    return {"kind": "openai-compatible", "baseUrl": f"{service.url}/v1", "apiKey": KEY, "defaultModel": "small"}


##= docs/spec/host.md#trust
##% Files named by the user and settings from the environment MUST be trusted.
##= docs/spec/notes.md#ask
##% The tool `ask` MUST take `question` and return `answer` and `sources`.
##= docs/spec/models-and-recipes.md#model-router
##% A server MUST register the model providers that its configuration enables.
def test_a_configured_provider_answers_from_the_notes(tmp_path: Path, service: Service) -> None:
    service.text = "The moon does it [1]."
    data = asked(tmp_path, "Why does the moon pull the sea?", providers={"here": provider(service)})
    assert data["answer"] == "The moon does it [1]."
    assert data["sources"][0]["slug"] == "tides"
    assert "The moon pulls the sea twice a day." in service.prompts[0]
    assert service.seen[0].body["model"] == "small"


##= docs/spec/models-and-recipes.md#model-router
##% The router MUST support static mappings from a task to a model in the configuration.
def test_ask_uses_its_route(tmp_path: Path, service: Service) -> None:
    routing = {"ask": {"model": "here/large", "backup": "here/small"}}
    asked(tmp_path, "Why does the moon pull?", providers={"here": provider(service)}, routing=routing)
    assert service.seen[0].body["model"] == "large"


##= docs/spec/notes.md#ask
##% Without a model, `ask` MUST be refused with `AI search is not available` and a hint that says what to configure.
def test_without_a_provider_ask_fails_with_the_specified_message(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        asked(tmp_path, "Why does the moon pull?")
    assert caught.value.message == "AI search is not available"
    assert "Add a provider with a model under providers" in (caught.value.hint or "")


def test_a_provider_that_cannot_be_used_is_named_in_the_hint(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        asked(tmp_path, "Why does the moon pull?", providers={"openai": {"defaultModel": "small"}})
    assert (caught.value.hint or "").startswith("Provider openai: it needs apiKey.")


def test_a_provider_that_fails_is_an_upstream_error(tmp_path: Path, service: Service) -> None:
    service.script = [refusal(401, f"bad key {KEY}")]
    with pytest.raises(UpstreamError) as caught:
        asked(tmp_path, "Why does the moon pull?", providers={"here": provider(service)})
    assert caught.value.hint == "Check providers.here.apiKey."


##= docs/spec/models-and-recipes.md#model-router
##% Every tool that invokes a model MUST do so through the router, or through the connected client.
##= docs/spec/models-and-recipes.md#provider-requests
##% Logs and metrics of a request MUST contain provider, model, tokens, duration and outcome, but no text of prompts
##% or answers.
def test_every_request_to_a_model_is_counted_with_its_tokens(tmp_path: Path, service: Service) -> None:
    host = open_host(tmp_path, {"providers": {"here": provider(service)}})
    metrics = host.enable_metrics()
    ask(host, "Why does the moon pull?")
    text = metrics.render().decode()
    assert 'km_model_requests_total{model="small",provider="here",result="success"} 1.0' in text
    assert 'km_model_tokens_total{direction="input",model="small",provider="here"} 11.0' in text
    assert 'km_model_tokens_total{direction="output",model="small",provider="here"} 7.0' in text
