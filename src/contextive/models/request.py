"""Requests to models, the model that is chosen, and its response."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_OUTPUT_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model of one provider. Unknown facts are None, never guessed."""

    name: str
    provider: str
    family: str | None = None
    context_window: int | None = None
    """Tokens of prompt and answer together."""
    input_cost: float | None = None
    """US dollars per million prompt tokens."""
    output_cost: float | None = None
    """US dollars per million answer tokens."""

    @property
    def label(self) -> str:
        """The unambiguous name: `provider/model`."""
        return f"{self.provider}/{self.name}"

    def cost_of(self, prompt_tokens: int, output_tokens: int) -> float | None:
        """US dollars for one request; None if a price is unknown."""
        if self.input_cost is None or self.output_cost is None:
            return None
        return (prompt_tokens * self.input_cost + output_tokens * self.output_cost) / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A prompt, and the criteria for the model. `model` wins over `task`, and both win over the other criteria."""

    prompt: str = field(repr=False)
    system: str | None = field(default=None, repr=False)
    model: str | None = None
    """A model's name, or `provider/name`."""
    task: str | None = None
    """A task; the routing table says which model it uses."""
    family: str | None = None
    """The preferred family; another one is used if it has no suitable model."""
    max_cost: float | None = None
    """Highest cost of the request in US dollars. If set, models without a known price are excluded."""
    max_output_tokens: int = DEFAULT_OUTPUT_TOKENS
    temperature: float | None = None

    @property
    def prompt_tokens(self) -> int:
        return estimate_tokens(self.prompt) + estimate_tokens(self.system or "")

    @property
    def context_tokens(self) -> int:
        """The context window that prompt and answer need."""
        return self.prompt_tokens + self.max_output_tokens


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """The chosen model, its backup, and warnings about the choice."""

    info: ModelInfo
    backup: ModelInfo | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one request used, if the provider reports them."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """The response of a model."""

    text: str = field(repr=False)
    model: str
    provider: str
    usage: Usage = Usage()
    cut_off: bool = False
    """Whether the answer was cut off at the token limit."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelUse:
    """One finished request, for logs and metrics, without its text."""

    provider: str
    model: str
    usage: Usage
    duration_seconds: float
    error: str | None = None
    """The error code; None if the request succeeded."""


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of a text for most tokenisers: one per three bytes."""
    return -(-len(text.encode("utf-8", "replace")) // 3)
