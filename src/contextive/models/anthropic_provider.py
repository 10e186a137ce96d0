"""The Messages API of Anthropic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextive.models.openai_provider import token_count
from contextive.models.provider_http import Endpoint, ProviderRefusal, request_json, unreadable_response
from contextive.models.request import ModelInfo, ModelRequest, ModelResponse, Usage

API_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class AnthropicProvider:
    """A provider with `/v1/messages` and `/v1/models`."""

    endpoint: Endpoint

    @property
    def id(self) -> str:
        return self.endpoint.provider

    async def list_models(self) -> Sequence[ModelInfo]:
        answer = await request_json(self.endpoint, "GET", "/v1/models?limit=1000")
        data = answer.get("data")
        names = [entry.get("id") for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
        return [ModelInfo(name, self.id, family="claude") for name in names if isinstance(name, str)]

    async def invoke(self, model: str, request: ModelRequest) -> ModelResponse:
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": request.max_output_tokens,
            "messages": [{"role": "user", "content": request.prompt}],
        }
        if request.system:
            body["system"] = request.system
        if request.temperature is not None:
            body["temperature"] = request.temperature
        try:
            answer = await request_json(self.endpoint, "POST", "/v1/messages", body)
        except ProviderRefusal as refusal:
            # Some models refuse a temperature; try again without one.
            if refusal.status != 400 or refusal.parameter != "temperature" or "temperature" not in body:
                raise
            del body["temperature"]
            answer = await request_json(self.endpoint, "POST", "/v1/messages", body)
        return self._response(model, answer)

    def _response(self, model: str, answer: dict[str, Any]) -> ModelResponse:
        blocks = answer.get("content")
        if not isinstance(blocks, list):
            raise unreadable_response(self.id)
        texts = [b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str)]
        if not texts:
            raise unreadable_response(self.id)
        usage = answer.get("usage")
        return ModelResponse(
            text="".join(texts),
            model=model,
            provider=self.id,
            usage=Usage(token_count(usage, "input_tokens"), token_count(usage, "output_tokens")),
            cut_off=answer.get("stop_reason") == "max_tokens",
        )
