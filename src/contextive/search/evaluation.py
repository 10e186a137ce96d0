"""Measures search quality with queries whose relevant results are known.

A judgement file has one JSON object per line: `query`, `relevant` (a list) and, if some results are better than
others, `grades` (an object from a result to a number above 0). A result is named by a path, a chunk id, a symbol id
(`src/a.py::Store.open`) or a heading (`docs/a.md#Opening a store`). The last two survive edits of the file.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from contextive.errors import InvalidRequest
from contextive.search.answer import FoundChunk, Mode, SearchRequest
from contextive.search.service import MAX_LIMIT, SearchService

CUTOFF: Final = 10
RESAMPLES: Final = 1000
SWEEP: Final = tuple(step / 10 for step in range(11))
MODES: Final[tuple[Mode, ...]] = ("lexical", "dense", "hybrid")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A query and the grades of its relevant results."""

    query: str
    grades: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over queries with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class QueryMetrics:
    """The three metrics of one query."""

    ndcg: float
    mrr: float
    recall: float


@dataclass(frozen=True, slots=True)
class MetricsSummary:
    """The three metrics over all queries."""

    ndcg: MeanInterval
    mrr: MeanInterval
    recall: MeanInterval


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of each search mode, and the nDCG of hybrid search by vector weight."""

    queries: int
    modes: Mapping[Mode, MetricsSummary]
    gain_over_lexical: MeanInterval
    """nDCG of hybrid search minus nDCG of lexical search, paired by query."""
    gain_over_dense: MeanInterval
    sweep: Mapping[float, float]


def parse_judgements(text: str) -> tuple[Judgement, ...]:
    """Parse a judgement file. Raises InvalidRequest with the number of the first invalid line."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append(_judgement(json.loads(line)))
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidRequest(f"Line {number} of the judgements has no query with relevant results.") from error
    return tuple(found)


def _judgement(item: Any) -> Judgement:
    query, relevant = item["query"], item.get("relevant", [])
    grades = {str(name): float(grade) for name, grade in (item.get("grades") or {}).items()}
    if not isinstance(query, str) or not query.strip() or not isinstance(relevant, list):
        raise ValueError("query and relevant")
    for name in relevant:
        grades.setdefault(str(name), 1.0)
    if not any(grade > 0 for grade in grades.values()):
        raise ValueError("relevant")
    return Judgement(query, {name: grade for name, grade in grades.items() if grade > 0})


def score_ranking(names: Sequence[str], grades: Mapping[str, float], cut: int = CUTOFF) -> QueryMetrics:
    """nDCG, reciprocal rank and recall of the first `cut` names of a ranking without duplicates."""
    gains = [grades.get(name, 0.0) for name in names[:cut]]
    ideal = _discounted(sorted(grades.values(), reverse=True)[:cut])
    first = next((rank for rank, gain in enumerate(gains, 1) if gain > 0), None)
    found = sum(1 for gain in gains if gain > 0)
    return QueryMetrics(
        ndcg=_discounted(gains) / ideal if ideal else 0.0,
        mrr=1 / first if first else 0.0,
        recall=found / min(len(grades), cut) if grades else 0.0,
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


def answer_names(chunks: Iterable[FoundChunk], grades: Mapping[str, float]) -> list[str]:
    """The names of results as the judgements use them, each name once, at its first rank."""
    by_file = all("::" not in name and "#" not in name for name in grades)
    names = (chunk.artifact_path if by_file else _judged_name(chunk, grades) for chunk in chunks)
    return list(dict.fromkeys(names))


def _judged_name(chunk: FoundChunk, grades: Mapping[str, float]) -> str:
    heading = f"{chunk.artifact_path}#{chunk.title.rpartition(' > ')[2]}"
    # A long function is split. Its later pieces declare no symbol, so the name is taken from their title.
    pieces = (f"{chunk.artifact_path}::{name}" for name in chunk.title.rpartition(" (")[0].split(", "))
    for name in (chunk.chunk_id, *(found.symbol.id for found in chunk.symbols), *pieces, heading, chunk.artifact_path):
        if name in grades:
            return name
    return chunk.chunk_id


##= docs/spec/commands.md#eval
##% An evaluation MUST compare lexical, semantic and hybrid search.
def evaluate(
    service: SearchService,
    judgements: Sequence[Judgement],
    *,
    sweep: Sequence[float] = SWEEP,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Run every query in each mode, and in hybrid mode with each vector weight of `sweep`."""
    scores: dict[Mode, list[QueryMetrics]] = {mode: [] for mode in MODES}
    swept: dict[float, list[float]] = {weight: [] for weight in sweep}
    weighted = {weight: service.with_vector_weight(weight) for weight in sweep}
    for done, judgement in enumerate(judgements, 1):
        for mode in MODES:
            scores[mode].append(_run_query(service, judgement, mode))
        for weight, other in weighted.items():
            swept[weight].append(_run_query(other, judgement, "hybrid").ndcg)
        if progress is not None:
            progress(done, len(judgements))
    return Evaluation(
        queries=len(judgements),
        modes={mode: summarise(mode_scores) for mode, mode_scores in scores.items()},
        gain_over_lexical=_gain(scores["hybrid"], scores["lexical"]),
        gain_over_dense=_gain(scores["hybrid"], scores["dense"]),
        sweep={weight: sum(values) / len(values) if values else 0.0 for weight, values in swept.items()},
    )


def _gain(scores: Sequence[QueryMetrics], baseline: Sequence[QueryMetrics]) -> MeanInterval:
    return bootstrap([score.ndcg - base.ndcg for score, base in zip(scores, baseline, strict=True)])


def _run_query(service: SearchService, judgement: Judgement, mode: Mode) -> QueryMetrics:
    response = service.search(SearchRequest(judgement.query, limit=MAX_LIMIT, mode=mode, only_relevant=False))
    names = answer_names((result.chunk for result in response.results), judgement.grades)
    return score_ranking(names, judgement.grades)
