"""Ranking signals of a result from the graph and the git history, and what they add to its score."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from contextive.search.graph_context import GraphContext
from contextive.search.weights import GraphWeights
from contextive.store.values import RankableChunk

SECONDS_A_DAY: Final = 86_400.0
CRITICALITY: Final[Mapping[str, float]] = {"low": 0.2, "medium": 0.5, "high": 0.8, "critical": 1.0}
_CACHED_PAIRS: Final = 1024
SHORTEST_PART: Final = 3
"""Shorter names are part of too many other words."""


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of one result. Those from the graph are None without graph context."""

    path_depth: int | None
    criticality_score: float
    freshness_days: float | None
    coverage_ratio: float
    subsystem_affinity: float | None = None
    relationship_count: int | None = None
    supporting_bonus: float | None = None
    coverage_missing: bool | None = None
    coverage_penalty: float | None = None

    def as_dict(self) -> dict[str, float | int | bool | None]:
        """The signals by name; those from the graph only if there is graph context."""
        always: dict[str, float | int | bool | None] = {
            "path_depth": self.path_depth,
            "criticality_score": self.criticality_score,
            "freshness_days": self.freshness_days,
            "coverage_ratio": self.coverage_ratio,
        }
        if self.subsystem_affinity is None:
            return always
        return always | {
            "subsystem_affinity": self.subsystem_affinity,
            "relationship_count": self.relationship_count,
            "supporting_bonus": self.supporting_bonus,
            "coverage_missing": self.coverage_missing,
            "coverage_penalty": self.coverage_penalty,
        }


def read_signals(
    row: RankableChunk,
    context: GraphContext | None,
    *,
    subsystem_criticality: object,
    words: Collection[str],
    weights: GraphWeights,
    now: float,
) -> Signals:
    """The signals of a result. `words` are the words of the query in lower case."""
    ratio = coverage_ratio(context)
    criticality = criticality_score(subsystem_criticality)
    freshness = _freshness_days(row, now)
    if context is None:
        return Signals(_depth_without_graph(row), criticality, freshness, ratio)
    documents = tests = 0
    for artifact in context.related_artifacts:
        documents += artifact.id.startswith("DesignDoc:")
        tests += artifact.id.startswith("TestCase:")
    return Signals(
        path_depth=context.path_depth,
        criticality_score=criticality,
        freshness_days=freshness,
        coverage_ratio=ratio,
        subsystem_affinity=subsystem_affinity(row.artifact.subsystem, words),
        relationship_count=len(context.related_artifacts),
        supporting_bonus=0.2 * min(2, documents) + 0.1 * min(2, tests),
        coverage_missing=ratio <= 0.0,
        coverage_penalty=weights.coverage_penalty * (1.0 - ratio),
    )


def graph_gain(signals: Signals, weights: GraphWeights) -> float:
    """What the signals add to a score; nothing without graph context."""
    if signals.subsystem_affinity is None:
        return 0.0
    return (
        signals.subsystem_affinity * weights.subsystem
        + (signals.relationship_count or 0) * weights.relationship * 0.1
        + (signals.supporting_bonus or 0.0) * weights.support
        - (signals.coverage_penalty or 0.0)
        + signals.criticality_score * weights.criticality
    )


def subsystem_affinity(subsystem: str | None, words: Collection[str]) -> float:
    """1 if the query names the subsystem, 0.5 if a word of the query is part of its name or vice versa."""
    return _affinity(subsystem.lower(), frozenset(words)) if subsystem else 0.0


@lru_cache(maxsize=_CACHED_PAIRS)
def _affinity(name: str, words: frozenset[str]) -> float:
    if name in words or words.issuperset(re.split(r"[\W_]+", name)):
        return 1.0
    long = [word for word in words if len(word) >= SHORTEST_PART]
    is_part = any(word in name or (len(name) >= SHORTEST_PART and name in word) for word in long)
    return 0.5 if is_part else 0.0


def criticality_score(value: object) -> float:
    """Criticality as a number: a level such as `high` is converted, a number is returned unchanged."""
    if isinstance(value, bool):
        return 0.0
    if isinstance(value, int | float):
        return float(value)
    if not value:
        return 0.0
    text = str(value).strip().lower()
    if text in CRITICALITY:
        return CRITICALITY[text]
    return float(text) if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", text) else 0.0


def coverage_ratio(context: GraphContext | None) -> float:
    """How much of a file is indexed: the `coverage_ratio` of its node, or 1."""
    properties: Mapping[str, Any] = context.primary_node.properties if context else {}
    ratio = properties.get("coverage_ratio")
    return min(1.0, max(0.0, float(ratio))) if isinstance(ratio, int | float) else 1.0


def _freshness_days(row: RankableChunk, now: float) -> float | None:
    git = row.artifact.git
    return round(max(0.0, now - git.timestamp) / SECONDS_A_DAY, 2) if git else None


def _depth_without_graph(row: RankableChunk) -> int | None:
    return 1 if row.artifact.subsystem and row.artifact.artifact_type in ("code", "proto", "doc", "test") else None
