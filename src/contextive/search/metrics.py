"""Metrics of a ranking whose relevant results are known, and their means with bootstrap intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

CUTOFF: Final = 10
RESAMPLES: Final = 1000


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over queries with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class QueryMetrics:
    """The metrics of one query: nDCG, reciprocal rank and recall of the first ten results, and the two hit rates."""

    ndcg: float
    mrr: float
    recall: float
    hit1: float
    """1 if the first result is relevant, else 0."""
    hit5: float
    """1 if one of the first five results is relevant, else 0."""


@dataclass(frozen=True, slots=True)
class MetricsSummary:
    """The metrics over all queries."""

    ndcg: MeanInterval
    mrr: MeanInterval
    recall: MeanInterval
    hit1: MeanInterval
    hit5: MeanInterval


##= docs/spec/commands.md#eval
##% Recall MUST be the share of all relevant results that are among the first ten.
def score_ranking(names: Sequence[str], grades: Mapping[str, float], cut: int = CUTOFF) -> QueryMetrics:
    """The metrics of the first `cut` names of a ranking without duplicates."""
    gains = [grades.get(name, 0.0) for name in names[:cut]]
    ideal = _discounted(sorted(grades.values(), reverse=True)[:cut])
    first = next((rank for rank, gain in enumerate(gains, 1) if gain > 0), None)
    found = sum(1 for gain in gains if gain > 0)
    return QueryMetrics(
        ndcg=_discounted(gains) / ideal if ideal else 0.0,
        mrr=1 / first if first else 0.0,
        recall=found / len(grades) if grades else 0.0,
        hit1=float(first == 1),
        hit5=float(first is not None and first <= 5),
    )


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def bootstrap(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> MeanInterval:
    """The mean of some values with its bootstrap interval; deterministic for a seed."""
    if not values:
        return MeanInterval(0.0, 0.0, 0.0)
    rng = random.Random(seed)  # noqa: S311 - a resampling, not a secret
    means = sorted(sum(rng.choices(values, k=len(values))) / len(values) for _ in range(resamples))
    return MeanInterval(
        sum(values) / len(values), means[int(0.025 * resamples)], means[min(resamples - 1, int(0.975 * resamples))]
    )


def summarise(scores: Sequence[QueryMetrics]) -> MetricsSummary:
    """The metrics over all queries."""
    return MetricsSummary(*(bootstrap([getattr(one, field.name) for one in scores]) for field in fields(QueryMetrics)))
