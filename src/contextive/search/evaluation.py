"""How good search is, measured on questions whose answers are known.

A judgement file holds one JSON object a line: `query`, `relevant` (a list), and where answers are not all worth the same,
`grades` (an object from an answer to a number over 0). An answer is named by a path, by a chunk id, by a symbol id
(`src/a.py::Store.open`) or by a heading (`docs/a.md#Opening a store`). The last two outlive changes of the file.
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
    """A question and what its answers are worth."""

    query: str
    grades: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over questions, with the interval that holds it in 95 of 100 resamplings."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class QueryMetrics:
    """The three measures for one question."""

    ndcg: float
    mrr: float
    recall: float


@dataclass(frozen=True, slots=True)
class MetricsSummary:
    """The three measures over all questions."""

    ndcg: MeanInterval
    mrr: MeanInterval
    recall: MeanInterval


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How each way of searching did, and the hybrid's nDCG by the weight of vectors."""

    queries: int
    modes: Mapping[Mode, MetricsSummary]
    gain_over_lexical: MeanInterval
    """Hybrid's nDCG minus that of words alone, question by question."""
    gain_over_dense: MeanInterval
    sweep: Mapping[float, float]


def parse_judgements(text: str) -> tuple[Judgement, ...]:
    """Read a judgement file. A line that is none is an InvalidRequest with its number."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append(_judgement(json.loads(line)))
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidRequest(f"Line {number} of the judgements has no query with relevant answers.") from error
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
    """nDCG, reciprocal rank and recall of a ranking within its first places. Every name stands in it once."""
    gains = [grades.get(name, 0.0) for name in names[:cut]]
    ideal = _discounted(sorted(grades.values(), reverse=True)[:cut])
    first = next((place for place, gain in enumerate(gains, 1) if gain > 0), None)
    found = sum(1 for gain in gains if gain > 0)
    return QueryMetrics(
        ndcg=_discounted(gains) / ideal if ideal else 0.0,
        mrr=1 / first if first else 0.0,
        recall=found / min(len(grades), cut) if grades else 0.0,
    )


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


def bootstrap(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> MeanInterval:
    """The mean of some values with its interval; the same each time."""
    if not values:
        return MeanInterval(0.0, 0.0, 0.0)
    rng = random.Random(seed)  # noqa: S311 - a resampling, not a secret
    means = sorted(sum(rng.choices(values, k=len(values))) / len(values) for _ in range(resamples))
    return MeanInterval(
        sum(values) / len(values), means[int(0.025 * resamples)], means[min(resamples - 1, int(0.975 * resamples))]
    )


def summarise(scores: Sequence[QueryMetrics]) -> MetricsSummary:
    """The measures over all questions."""
    return MetricsSummary(*(bootstrap([getattr(one, field.name) for one in scores]) for field in fields(QueryMetrics)))


def answer_names(chunks: Iterable[FoundChunk], grades: Mapping[str, float]) -> list[str]:
    """Results under the names that judgements use, each name once. Judged by files, a file counts where it first stands."""
    by_file = all("::" not in name and "#" not in name for name in grades)
    names = (chunk.artifact_path if by_file else _judged_name(chunk, grades) for chunk in chunks)
    return list(dict.fromkeys(names))


def _judged_name(chunk: FoundChunk, grades: Mapping[str, float]) -> str:
    heading = f"{chunk.artifact_path}#{chunk.title.rpartition(' > ')[2]}"
    # A long function is cut: its later pieces declare nothing, and are named by what they are a piece of.
    pieces = (f"{chunk.artifact_path}::{name}" for name in chunk.title.rpartition(" (")[0].split(", "))
    for name in (chunk.chunk_id, *chunk.symbol_ids, *pieces, heading, chunk.artifact_path):
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
    """Ask every question by words, by meaning and by both, and by both with other weights."""
    scores: dict[Mode, list[QueryMetrics]] = {mode: [] for mode in MODES}
    swept: dict[float, list[float]] = {weight: [] for weight in sweep}
    weighted = {weight: service.with_vector_weight(weight) for weight in sweep}
    for done, judgement in enumerate(judgements, 1):
        for mode in MODES:
            scores[mode].append(_ask(service, judgement, mode))
        for weight, other in weighted.items():
            swept[weight].append(_ask(other, judgement, "hybrid").ndcg)
        if progress is not None:
            progress(done, len(judgements))
    return Evaluation(
        queries=len(judgements),
        modes={mode: summarise(of_mode) for mode, of_mode in scores.items()},
        gain_over_lexical=_gain(scores["hybrid"], scores["lexical"]),
        gain_over_dense=_gain(scores["hybrid"], scores["dense"]),
        sweep={weight: sum(values) / len(values) if values else 0.0 for weight, values in swept.items()},
    )


def _gain(ones: Sequence[QueryMetrics], others: Sequence[QueryMetrics]) -> MeanInterval:
    return bootstrap([one.ndcg - other.ndcg for one, other in zip(ones, others, strict=True)])


def _ask(service: SearchService, judgement: Judgement, mode: Mode) -> QueryMetrics:
    response = service.search(SearchRequest(judgement.query, limit=MAX_LIMIT, mode=mode))
    names = answer_names((result.chunk for result in response.results), judgement.grades)
    return score_ranking(names, judgement.grades)
