"""Creates providers from settings: API, address and headers of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from contextive.models.anthropic_provider import API_VERSION, AnthropicProvider
from contextive.models.openai_provider import OpenAiProvider
from contextive.models.provider import Provider
from contextive.models.provider_http import Endpoint
from contextive.models.request import ModelInfo

Kind: TypeAlias = Literal["openai", "anthropic", "gemini", "openai-compatible"]

_KNOWN_PROVIDERS: Mapping[str, tuple[Kind, str]] = {
    "openai": ("openai", "https://api.openai.com/v1"),
    "anthropic": ("anthropic", "https://api.anthropic.com"),
    "gemini": ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    "google": ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    "openrouter": ("openai-compatible", "https://openrouter.ai/api/v1"),
    "ollama": ("openai-compatible", "http://127.0.0.1:11434/v1"),
    "lmstudio": ("openai-compatible", "http://127.0.0.1:1234/v1"),
    "vllm": ("openai-compatible", "http://127.0.0.1:8000/v1"),
}
"""Defaults for kind and URL, by the name of the entry."""


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """The configuration of one provider."""

    kind: Kind | None = None
    api_key: str | None = field(default=None, repr=False)
    enabled: bool = True
    default_model: str | None = None
    base_url: str | None = None
    timeout_seconds: float = 60.0
    models: tuple[ModelInfo, ...] = ()
    """Facts about its models, from the configuration."""


@dataclass(frozen=True, slots=True)
class ConnectedProviders:
    """The usable providers by name, in order, and the problems of the others."""

    providers: Mapping[str, Provider]
    problems: tuple[str, ...] = ()


##= docs/spec/models-and-recipes.md#model-router
##% A server MUST register the model providers that its configuration enables.
##= docs/spec/models-and-recipes.md#model-router
##% A provider that cannot be used MUST be skipped and the reason reported; the others stay available.
def connect_providers(settings: Mapping[str, ProviderSettings]) -> ConnectedProviders:
    """The enabled providers. No request is sent."""
    providers: dict[str, Provider] = {}
    problems: list[str] = []
    for name, entry in settings.items():
        if not entry.enabled:
            continue
        outcome = _provider(name, entry)
        if isinstance(outcome, str):
            problems.append(f"provider {name}: {outcome}")
        else:
            providers[name] = outcome
    return ConnectedProviders(providers, tuple(problems))


def _provider(name: str, entry: ProviderSettings) -> Provider | str:
    defaults = _KNOWN_PROVIDERS.get(name.lower().replace("-", "").replace("_", ""))
    kind = entry.kind or (defaults[0] if defaults else "openai-compatible")
    base_url = entry.base_url or _default_url(kind, defaults)
    if base_url is None:
        return "it needs baseUrl, because there is no default URL for this name"
    if entry.base_url is None and entry.api_key is None and base_url.startswith("https:"):
        return "it needs apiKey"
    if kind == "anthropic":
        headers = {"anthropic-version": API_VERSION, **({"x-api-key": entry.api_key} if entry.api_key else {})}
        return AnthropicProvider(Endpoint(name, base_url.removesuffix("/v1"), headers, entry.timeout_seconds))
    headers = {"Authorization": f"Bearer {entry.api_key}"} if entry.api_key else {}
    endpoint = Endpoint(name, base_url, headers, entry.timeout_seconds)
    return OpenAiProvider(endpoint, "max_completion_tokens" if kind == "openai" else "max_tokens")


def _default_url(kind: Kind, defaults: tuple[Kind, str] | None) -> str | None:
    if defaults is not None and defaults[0] == kind:
        return defaults[1]
    return _KNOWN_PROVIDERS[kind][1] if kind in _KNOWN_PROVIDERS else None
