"""The chat completions API of OpenAI, also supported by Ollama, vLLM, LM Studio, OpenRouter, Gemini and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from contextive.models.provider_http import Endpoint, ProviderRefusal, request_json, unreadable_response
from contextive.models.request import ModelInfo, ModelRequest, ModelResponse, Usage

LengthField = Literal["max_tokens", "max_completion_tokens"]


@dataclass(frozen=True, slots=True)
class OpenAiProvider:
    """A provider with `/chat/completions` and `/models`."""

    endpoint: Endpoint
    length_field: LengthField = "max_tokens"

    @property
    def id(self) -> str:
        return self.endpoint.provider

    async def list_models(self) -> Sequence[ModelInfo]:
        answer = await request_json(self.endpoint, "GET", "/models")
        data = answer.get("data")
        entries = data if isinstance(data, list) else []
        return [info for entry in entries if (info := self._info(entry)) is not None]

    async def invoke(self, model: str, request: ModelRequest) -> ModelResponse:
        messages = [{"role": "user", "content": request.prompt}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {
            "model": model,
            "messages": messages,
            "stream": False,
            self.length_field: request.max_output_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return self._response(model, await self._complete(body))

    async def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Models accept different parameters: a refused one is removed, or sent with its other name."""
        for _ in range(2):
            try:
                return await request_json(self.endpoint, "POST", "/chat/completions", body)
            except ProviderRefusal as refusal:
                if refusal.status != 400 or refusal.parameter not in body:
                    raise
                refused = str(refusal.parameter)
                value = body.pop(refused)
                match refused:
                    case "max_tokens":
                        body["max_completion_tokens"] = value
                    case "max_completion_tokens":
                        body["max_tokens"] = value
                    case "temperature":
                        pass
                    case _:
                        raise
        return await request_json(self.endpoint, "POST", "/chat/completions", body)

    def _response(self, model: str, answer: dict[str, Any]) -> ModelResponse:
        match answer.get("choices"):
            case [{"message": {"content": content}, **rest}, *_]:
                text = _text(content)
            case _:
                raise unreadable_response(self.id)
        if text is None:
            raise unreadable_response(self.id)
        usage = answer.get("usage")
        return ModelResponse(
            text=text,
            model=model,
            provider=self.id,
            usage=Usage(token_count(usage, "prompt_tokens"), token_count(usage, "completion_tokens")),
            cut_off=rest.get("finish_reason") == "length",
        )

    def _info(self, entry: Any) -> ModelInfo | None:
        """A model, with window and prices if the service reports them."""
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            return None
        pricing = entry.get("pricing")
        window = next(
            (
                entry[key]
                for key in ("context_length", "max_model_len", "context_window")
                if _is_positive_int(entry.get(key))
            ),
            None,
        )
        return ModelInfo(
            name=entry["id"].removeprefix("models/"),
            provider=self.id,
            context_window=window,
            input_cost=_per_million(pricing, "prompt"),
            output_cost=_per_million(pricing, "completion"),
        )


def token_count(usage: Any, key: str) -> int:
    """A token count from the usage that a provider reports; 0 if it is missing."""
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def _text(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return None


def _is_positive_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _per_million(pricing: Any, key: str) -> float | None:
    """Dollars per million tokens, from a price per token as text."""
    try:
        price = float(pricing[key]) * 1_000_000
    except (KeyError, TypeError, ValueError):
        return None
    return price if 0 <= price < 1_000_000 else None
