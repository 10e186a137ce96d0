"""Providers over real HTTP: both APIs, their errors, and that keys are never shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from contextive.errors import ContextiveError, TimedOut, UpstreamError
from contextive.models.anthropic_provider import AnthropicProvider
from contextive.models.openai_provider import OpenAiProvider
from contextive.models.provider import Provider
from contextive.models.provider_setup import ProviderSettings, connect_providers
from contextive.models.request import ModelInfo, ModelRequest

from .service import KEY, Reply, Service, completion, message, model_service, refusal

REQUEST = ModelRequest("Why is the sea salty?", "Be brief.", max_output_tokens=50, temperature=0.2)


def connected(service: Service, kind: Any = "openai-compatible", *, timeout: float = 5.0) -> Provider:
    base = service.url if kind == "anthropic" else f"{service.url}/v1"
    entry = ProviderSettings(kind=kind, api_key=KEY, base_url=base, timeout_seconds=timeout)
    return connect_providers({"here": entry}).providers["here"]


def noting(pauses: list[float]) -> Callable[[float], Awaitable[None]]:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    return sleep


def without_pauses(provider: Provider, pauses: list[float] | None = None) -> Provider:
    assert isinstance(provider, OpenAiProvider | AnthropicProvider)
    return replace(provider, endpoint=replace(provider.endpoint, sleep=noting(pauses if pauses is not None else [])))


def test_a_chat_completions_request_has_prompt_system_length_and_key(service: Service) -> None:
    response = asyncio.run(connected(service).invoke("small", REQUEST))
    (seen,) = service.seen
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Why is the sea salty?"},
        ],
        "stream": False,
        "max_tokens": 50,
        "temperature": 0.2,
    }
    assert response.text == "Because of the tides [1]."
    assert (response.usage.input_tokens, response.usage.output_tokens) == (11, 7)
    assert not response.cut_off


def test_openai_gets_max_completion_tokens(service: Service) -> None:
    asyncio.run(connected(service, "openai").invoke("gpt", REQUEST))
    assert "max_tokens" not in service.seen[0].body
    assert service.seen[0].body["max_completion_tokens"] == 50


def test_a_messages_request_has_prompt_system_length_version_and_key(service: Service) -> None:
    response = asyncio.run(connected(service, "anthropic").invoke("claude", REQUEST))
    (seen,) = service.seen
    assert (seen.method, seen.path) == ("POST", "/v1/messages")
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert seen.body == {
        "model": "claude",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "Why is the sea salty?"}],
        "system": "Be brief.",
        "temperature": 0.2,
    }
    assert response.text == "Because of the tides [1]."
    assert (response.usage.input_tokens, response.usage.output_tokens) == (13, 5)


@pytest.mark.parametrize(
    ("kind", "reply"),
    [("openai-compatible", completion("Half a", finish="length")), ("anthropic", message("Half a", stop="max_tokens"))],
)
def test_an_answer_at_the_token_limit_is_marked_as_cut_off(service: Service, kind: str, reply: Reply) -> None:
    service.script = [reply]
    assert asyncio.run(connected(service, kind).invoke("m", REQUEST)).cut_off


@pytest.mark.parametrize(
    "refused",
    [
        refusal(400, "Unsupported value", param="temperature"),
        refusal(400, "`temperature` is deprecated for this model."),
    ],
)
@pytest.mark.parametrize("kind", ["openai-compatible", "anthropic"])
def test_a_model_that_refuses_temperature_is_called_again_without_it(
    service: Service, kind: str, refused: Reply
) -> None:
    service.script = [refused]
    assert asyncio.run(connected(service, kind).invoke("m", REQUEST)).text == service.text
    assert "temperature" not in service.seen[1].body


def test_a_model_with_another_name_for_the_length_is_called_again(service: Service) -> None:
    service.script = [refusal(400, "Use max_completion_tokens", param="max_tokens")]
    asyncio.run(connected(service).invoke("m", REQUEST))
    assert service.seen[1].body["max_completion_tokens"] == 50
    assert "max_tokens" not in service.seen[1].body


def test_a_refusal_for_another_reason_is_not_retried(service: Service) -> None:
    service.script = [refusal(400, "bad", param="messages")]
    with pytest.raises(UpstreamError, match="status 400"):
        asyncio.run(connected(service).invoke("m", REQUEST))
    assert len(service.seen) == 1


##= docs/spec/models-and-recipes.md#provider-requests
##% A request SHOULD be retried after a temporary error, with at most four attempts.
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_temporary_error_is_retried(service: Service, status: int) -> None:
    service.script = [refusal(status), refusal(status)]
    response = asyncio.run(without_pauses(connected(service)).invoke("m", REQUEST))
    assert response.text == service.text
    assert len(service.seen) == 3


def test_attempts_are_bounded_and_pauses_grow(service: Service) -> None:
    service.script = [refusal(503)] * 10
    pauses: list[float] = []
    with pytest.raises(UpstreamError, match="status 503"):
        asyncio.run(without_pauses(connected(service, timeout=60), pauses).invoke("m", REQUEST))
    assert len(service.seen) == 4
    assert [0.25 * 2**n <= pause <= 0.5 * 2**n for n, pause in enumerate(pauses)] == [True] * 3


def test_retry_after_in_seconds_is_respected(service: Service) -> None:
    service.script = [refusal(429, Retry_After="2"), refusal(429, Retry_After="3")]
    pauses: list[float] = []
    asyncio.run(without_pauses(connected(service, timeout=60), pauses).invoke("m", REQUEST))
    assert pauses == [2.0, 3.0]


def test_retry_after_as_a_date_is_respected(service: Service) -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    service.script = [refusal(429, Retry_After=at)]
    pauses: list[float] = []
    asyncio.run(without_pauses(connected(service, timeout=60), pauses).invoke("m", REQUEST))
    assert 15 < pauses[0] <= 20


def test_a_pause_beyond_the_time_limit_ends_the_attempts(service: Service) -> None:
    service.script = [refusal(429, Retry_After="9999")]
    with pytest.raises(UpstreamError, match="status 429"):
        asyncio.run(connected(service).invoke("m", REQUEST))
    assert len(service.seen) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_client_error_is_not_retried(service: Service, status: int) -> None:
    service.script = [refusal(status)]
    with pytest.raises(UpstreamError, match=f"status {status}"):
        asyncio.run(connected(service).invoke("m", REQUEST))
    assert len(service.seen) == 1


##= docs/spec/models-and-recipes.md#provider-requests
##% A request, including all its attempts, MUST end within `timeoutSeconds`.
def test_a_silent_provider_ends_at_its_time_limit(service: Service) -> None:
    service.script = [Reply(after_seconds=10)]
    with pytest.raises(TimedOut, match=r"within 0\.3 seconds"):
        asyncio.run(connected(service, timeout=0.3).invoke("m", REQUEST))


def test_a_closed_connection_is_retried(service: Service) -> None:
    service.script = [Reply(hang_up=True)]
    assert asyncio.run(without_pauses(connected(service)).invoke("m", REQUEST)).text == service.text


def test_an_unreachable_provider_is_named_in_the_error() -> None:
    with model_service() as gone:
        provider = without_pauses(connected(gone))
    with pytest.raises(UpstreamError, match="provider here cannot be reached"):
        asyncio.run(provider.invoke("m", REQUEST))


##= docs/spec/models-and-recipes.md#provider-requests
##% A key MUST be sent only to the address of its provider, and redirects are not followed.
def test_a_redirect_is_not_followed(service: Service) -> None:
    with model_service() as other:
        service.script = [Reply({}, 302, {"Location": f"{other.url}/v1/chat/completions"})]
        with pytest.raises(UpstreamError, match="status 302"):
            asyncio.run(connected(service).invoke("m", REQUEST))
        assert other.seen == []


@pytest.mark.parametrize(
    "body",
    [
        b"<html>no</html>",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": null}}]}',
        b'{"content": "x"}',
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("kind", ["openai-compatible", "anthropic"])
def test_an_unreadable_answer_is_an_error_without_its_text(service: Service, kind: str, body: bytes) -> None:
    service.script = [Reply(body)]
    with pytest.raises(UpstreamError, match="cannot be read"):
        asyncio.run(connected(service, kind).invoke("m", REQUEST))


def test_an_answer_that_is_too_large_is_refused(service: Service) -> None:
    service.script = [Reply(b" " * (8 * 1024 * 1024 + 1))]
    with pytest.raises(UpstreamError, match="too large"):
        asyncio.run(connected(service).invoke("m", REQUEST))


##= docs/spec/models-and-recipes.md#provider-requests
##% A key MUST NOT appear in an error or in a log.
def test_neither_errors_nor_logs_contain_the_key(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.script = [refusal(401, f"Incorrect API key provided: {KEY}. And your prompt was long\x1b[31m")]
    with caplog.at_level(logging.DEBUG), pytest.raises(ContextiveError) as caught:
        asyncio.run(connected(service).invoke("m", REQUEST))
    assert KEY not in caught.value.full_message()
    assert "Incorrect API key provided: [hidden]" in caplog.text
    assert KEY not in caplog.text
    assert "\x1b" not in caplog.text
    assert KEY not in repr(connected(service))
    assert "apiKey" in str(caught.value.hint)


def test_models_are_listed_with_the_facts_of_the_service(service: Service) -> None:
    service.models = [
        {"id": "plain"},
        {"id": "models/gem"},
        {"id": "routed", "context_length": 8000, "pricing": {"prompt": "0.000002", "completion": "0.00001"}},
        {"id": "served", "max_model_len": 4096},
        {"id": "odd", "context_length": "many", "pricing": "free"},
        {"name": "no id"},
    ]
    listed = asyncio.run(connected(service).list_models())
    assert [(m.name, m.context_window) for m in listed] == [
        ("plain", None),
        ("gem", None),
        ("routed", 8000),
        ("served", 4096),
        ("odd", None),
    ]
    assert listed[2] == ModelInfo("routed", "here", None, 8000, 2.0, 10.0)
    assert {m.family for m in asyncio.run(connected(service, "anthropic").list_models())} == {"claude"}


@pytest.mark.parametrize(
    ("name", "entry", "wire", "url"),
    [
        ("openai", ProviderSettings(api_key="k"), OpenAiProvider, "https://api.openai.com/v1"),
        ("anthropic", ProviderSettings(api_key="k"), AnthropicProvider, "https://api.anthropic.com"),
        ("LM-Studio", ProviderSettings(), OpenAiProvider, "http://127.0.0.1:1234/v1"),
        ("ollama", ProviderSettings(), OpenAiProvider, "http://127.0.0.1:11434/v1"),
        ("work", ProviderSettings(kind="anthropic", api_key="k"), AnthropicProvider, "https://api.anthropic.com"),
        ("work", ProviderSettings(base_url="http://10.0.0.1/v1"), OpenAiProvider, "http://10.0.0.1/v1"),
        (
            "gemini",
            ProviderSettings(api_key="k"),
            OpenAiProvider,
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
    ],
)
def test_the_name_of_a_provider_sets_the_default_api_and_url(
    name: str, entry: ProviderSettings, wire: type, url: str
) -> None:
    provider = connect_providers({name: entry}).providers[name]
    assert isinstance(provider, OpenAiProvider | AnthropicProvider)
    assert type(provider) is wire
    assert provider.endpoint.base_url == url


##= docs/spec/models-and-recipes.md#model-router
##% A server MUST register the model providers that its configuration enables.
##= docs/spec/models-and-recipes.md#model-router
##% A provider that cannot be used MUST be skipped and the reason reported; the others stay available.
def test_providers_that_cannot_be_used_are_left_out_with_a_reason() -> None:
    found = connect_providers(
        {
            "mystery": ProviderSettings(api_key="k"),
            "openai": ProviderSettings(),
            "off": ProviderSettings(enabled=False),
        }
    )
    assert found.providers == {}
    assert found.problems == (
        "provider mystery: it needs baseUrl, because there is no default URL for this name",
        "provider openai: it needs apiKey",
    )
