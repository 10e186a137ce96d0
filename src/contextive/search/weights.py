"""The weights of a search and their named profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from contextive.errors import ConfigError

DEFAULT_VECTOR_WEIGHT: Final = 0.5
DEFAULT_LEXICAL_WEIGHT: Final = 0.5


@dataclass(frozen=True, slots=True)
class GraphWeights:
    """The weights of the graph signals, each between 0 and 1."""

    subsystem: float
    relationship: float
    support: float
    coverage_penalty: float
    criticality: float


PROFILES: Mapping[str, GraphWeights] = MappingProxyType(
    {
        "default": GraphWeights(0.28, 0.05, 0.09, 0.15, 0.12),
        "analysis": GraphWeights(0.38, 0.10, 0.08, 0.18, 0.18),
        "operations": GraphWeights(0.22, 0.08, 0.06, 0.28, 0.10),
        "docs-heavy": GraphWeights(0.26, 0.04, 0.22, 0.12, 0.08),
    }
)


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights of a search, and the name of their profile."""

    profile: str = "default"
    graph: GraphWeights = field(default_factory=lambda: PROFILES["default"])
    vector: float = DEFAULT_VECTOR_WEIGHT
    lexical: float = DEFAULT_LEXICAL_WEIGHT

    def for_query(self, semantic_weight: float) -> Weights:
        """The weights for one query: shifted by its semantic weight (0.5 changes nothing), with the same sum."""
        vector, lexical = self.vector * semantic_weight, self.lexical * (1.0 - semantic_weight)
        scale = (self.vector + self.lexical) / (vector + lexical) if vector + lexical else 1.0
        return replace(self, vector=vector * scale, lexical=lexical * scale)

    def as_dict(self) -> dict[str, float]:
        """The weights by their names in a response."""
        return {
            "weight_subsystem": self.graph.subsystem,
            "weight_relationship": self.graph.relationship,
            "weight_support": self.graph.support,
            "weight_coverage_penalty": self.graph.coverage_penalty,
            "weight_criticality": self.graph.criticality,
            "vector_weight": self.vector,
            "lexical_weight": self.lexical,
        }


def resolve_weights(
    profile: str = "default",
    *,
    subsystem: float | None = None,
    relationship: float | None = None,
    support: float | None = None,
    coverage_penalty: float | None = None,
    criticality: float | None = None,
    vector: float = DEFAULT_VECTOR_WEIGHT,
    lexical: float = DEFAULT_LEXICAL_WEIGHT,
) -> Weights:
    """The weights of a profile with overrides. If vector and lexical weight are both 0, the vector weight is 1."""
    if profile not in PROFILES:
        raise ConfigError(f"There is no weight profile {profile!r}.", hint=f"Choose one of {', '.join(PROFILES)}.")
    given = {
        "subsystem": subsystem,
        "relationship": relationship,
        "support": support,
        "coverage_penalty": coverage_penalty,
        "criticality": criticality,
    }
    overrides = {name: min(1.0, max(0.0, value)) for name, value in given.items() if value is not None}
    vector, lexical = max(0.0, vector), max(0.0, lexical)
    if vector == lexical == 0.0:
        vector = 1.0
    return Weights(
        profile=f"{profile}+overrides" if overrides else profile,
        graph=replace(PROFILES[profile], **overrides),
        vector=vector,
        lexical=lexical,
    )
