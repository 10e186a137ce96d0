"""What every provider of models can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from contextive.models.request import ModelInfo, ModelRequest, ModelResponse


class Provider(Protocol):
    """One service that runs models."""

    @property
    def id(self) -> str:
        """The name of its entry in the configuration."""
        ...

    async def list_models(self) -> Sequence[ModelInfo]:
        """The models that the service says it has."""
        ...

    async def invoke(self, model: str, request: ModelRequest) -> ModelResponse:
        """The answer of one of its models. Raises a `ContextiveError` whose text holds nothing of the service's own."""
        ...
