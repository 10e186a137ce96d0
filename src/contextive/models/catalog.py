"""The known models, and the choice of those that suit a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from contextive.models.request import ModelInfo, ModelRequest

# Families that are recognised by the name of a model.
_FAMILIES = ("gpt", "claude", "gemini", "gemma", "llama", "mistral", "qwen", "deepseek", "phi", "grok", "command")


class ModelCatalog:
    """Models in the order in which they were added. Facts about a model are never overwritten."""

    def __init__(self, models: Iterable[ModelInfo] = ()) -> None:
        self._models: dict[tuple[str, str], ModelInfo] = {}
        self.merge(models)

    def merge(self, models: Iterable[ModelInfo]) -> None:
        """Add models, and facts that are still unknown about existing ones."""
        for model in models:
            key = (model.provider, model.name)
            known = self._models.get(key)
            self._models[key] = model if known is None else _with_missing_facts(known, model)

    def __iter__(self) -> Iterator[ModelInfo]:
        return iter(self._models.values())

    def find(self, name: str) -> ModelInfo | None:
        """The model of that name, or of `provider/name`."""
        provider, slash, rest = name.partition("/")
        if slash and (found := self._models.get((provider, rest))) is not None:
            return found
        return next((model for model in self if model.name == name), None)

    def fitting(self, request: ModelRequest) -> list[ModelInfo]:
        """The models that suit the request, best first.

        The order is: preferred family first, known window before unknown window, lower price first with unknown prices last,
        then the order of the configuration.
        """
        suitable = [model for model in self if fits(model, request)]
        return sorted(suitable, key=lambda model: _rank(model, request))


##= docs/spec/models-and-recipes.md#model-selection
##% A model whose context window is known to be too small MUST NOT be picked.
##= docs/spec/models-and-recipes.md#model-selection
##% With a price limit, a model with a higher or unknown price MUST NOT be picked.
def fits(model: ModelInfo, request: ModelRequest) -> bool:
    """Whether the request fits into the model's window and budget. An unknown window is assumed to be large enough."""
    if model.context_window is not None and model.context_window < request.context_tokens:
        return False
    if request.max_cost is None:
        return True
    cost = model.cost_of(request.prompt_tokens, request.max_output_tokens)
    return cost is not None and cost <= request.max_cost


def family_of(model: ModelInfo) -> str | None:
    """The stated family, or else the one recognised by name."""
    if model.family is not None:
        return model.family.lower()
    name = model.name.rpartition("/")[2].lower()
    return next((family for family in _FAMILIES if name.startswith(family)), None)


def _rank(model: ModelInfo, request: ModelRequest) -> tuple[bool, bool, float]:
    family = family_of(model)
    wanted = (request.family or "").lower()
    cost = model.cost_of(request.prompt_tokens, request.max_output_tokens)
    return (
        bool(wanted) and not (family == wanted or model.name.lower().startswith(wanted)),
        model.context_window is None,
        float("inf") if cost is None else cost,
    )


def _with_missing_facts(known: ModelInfo, other: ModelInfo) -> ModelInfo:
    return replace(
        known,
        family=known.family if known.family is not None else other.family,
        context_window=known.context_window if known.context_window is not None else other.context_window,
        input_cost=known.input_cost if known.input_cost is not None else other.input_cost,
        output_cost=known.output_cost if known.output_cost is not None else other.output_cost,
    )
