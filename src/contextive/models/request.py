"""What is asked of a model, which model that comes to, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_OUTPUT_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model of one provider. What is not known is None, never a guess."""

    name: str
    provider: str
    family: str | None = None
    context_window: int | None = None
    """Tokens of prompt and answer together."""
    input_cost: float | None = None
    """US dollars for a million tokens of prompt."""
    output_cost: float | None = None
    """US dollars for a million tokens of answer."""

    @property
    def label(self) -> str:
        """The name under which it can be asked for without doubt: `provider/model`."""
        return f"{self.provider}/{self.name}"

    def cost_of(self, prompt_tokens: int, output_tokens: int) -> float | None:
        """Dollars for one request; None where a price is not known."""
        if self.input_cost is None or self.output_cost is None:
            return None
        return (prompt_tokens * self.input_cost + output_tokens * self.output_cost) / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A prompt, and what the model for it has to be like. An explicit `model` wins over `task`, both over the rest."""

    prompt: str = field(repr=False)
    system: str | None = field(default=None, repr=False)
    model: str | None = None
    """A model's name, or `provider/name`."""
    task: str | None = None
    """A kind of task; the routing table says which model serves it."""
    family: str | None = None
    """The family that is preferred; another one serves where it has none."""
    max_cost: float | None = None
    """The most that the request may cost in US dollars; models without a known price are left out then."""
    max_output_tokens: int = DEFAULT_OUTPUT_TOKENS
    temperature: float | None = None

    @property
    def prompt_tokens(self) -> int:
        return estimate_tokens(self.prompt) + estimate_tokens(self.system or "")

    @property
    def context_tokens(self) -> int:
        """The window that prompt and answer need."""
        return self.prompt_tokens + self.max_output_tokens


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """The model that was picked, the one to fall back on, and what the caller should know about the choice."""

    info: ModelInfo
    backup: ModelInfo | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one request used, as far as the provider tells."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """What a model answered."""

    text: str = field(repr=False)
    model: str
    provider: str
    usage: Usage = Usage()
    cut_off: bool = False
    """Whether the answer ended because it had reached its longest length."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelUse:
    """One finished request, for logs and metrics. It holds no text of it."""

    provider: str
    model: str
    usage: Usage
    duration_seconds: float
    error: str | None = None
    """The error's code; None for a request that was answered."""


def estimate_tokens(text: str) -> int:
    """At least as many tokens as most tokenisers make of a text: three bytes each."""
    return -(-len(text.encode("utf-8", "replace")) // 3)
