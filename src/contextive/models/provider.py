"""The interface of model providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from contextive.models.request import ModelInfo, ModelRequest, ModelResponse


class Provider(Protocol):
    """A service that runs models."""

    @property
    def id(self) -> str:
        """The name of its entry in the configuration."""
        ...

    async def list_models(self) -> Sequence[ModelInfo]:
        """The models that the service lists."""
        ...

    async def invoke(self, model: str, request: ModelRequest) -> ModelResponse:
        """The answer of a model. Raises a `ContextiveError` whose text contains nothing that the service sent."""
        ...
