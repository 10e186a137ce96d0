"""Measures search quality with queries whose relevant results are known.

A judgement file has one JSON object per line: `query`, `relevant` (a list) and, if some results are better than
others, `grades` (an object from a result to a number above 0). A result is named by a path, a chunk id, a symbol id
(`src/a.py::Store.open`) or a heading (`docs/a.md#Opening a store`). The last two survive edits of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contextive.errors import InvalidRequest
from contextive.search.answer import FoundChunk, Mode, SearchRequest
from contextive.search.baselines import Baseline
from contextive.search.metrics import MeanInterval, MetricsSummary, QueryMetrics, bootstrap, score_ranking, summarise
from contextive.search.service import MAX_LIMIT, SearchService
from contextive.store.values import ChunkRow

SWEEP: Final = tuple(step / 10 for step in range(11))
MODES: Final[tuple[Mode, ...]] = ("lexical", "dense", "hybrid")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A query and the grades of its relevant results."""

    query: str
    grades: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of each kind of search, and the nDCG of hybrid search by vector weight."""

    queries: int
    modes: Mapping[str, MetricsSummary]
    """The modes of this search, then the simple searches that it is compared with."""
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


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a result can be named by."""

    chunk_id: str
    path: str
    title: str
    symbols: Sequence[str]


def _answer_of(found: FoundChunk | ChunkRow) -> _Answer:
    if isinstance(found, FoundChunk):
        symbols = [symbol.symbol.id for symbol in found.symbols]
        return _Answer(found.chunk_id, found.artifact_path, found.title, symbols)
    chunk = found.chunk
    return _Answer(chunk.chunk_id, found.artifact.path, chunk.title, [symbol.id for symbol in found.symbols])


def answer_names(chunks: Iterable[FoundChunk | ChunkRow], grades: Mapping[str, float]) -> list[str]:
    """The names of results as the judgements use them, each name once, at its first rank."""
    by_file = all("::" not in name and "#" not in name for name in grades)
    answers = map(_answer_of, chunks)
    return list(dict.fromkeys(each.path if by_file else _judged_name(each, grades) for each in answers))


def _judged_name(answer: _Answer, grades: Mapping[str, float]) -> str:
    heading = f"{answer.path}#{answer.title.rpartition(' > ')[2]}"
    # A long function is split. Its later pieces declare no symbol, so the name is taken from their title.
    pieces = (f"{answer.path}::{name}" for name in answer.title.rpartition(" (")[0].split(", "))
    for name in (answer.chunk_id, *answer.symbols, *pieces, heading, answer.path):
        if name in grades:
            return name
    return answer.chunk_id


##= docs/spec/commands.md#eval
##% An evaluation MUST compare lexical, semantic and hybrid search with each other, with grep and with plain BM25.
def evaluate(
    service: SearchService,
    judgements: Sequence[Judgement],
    *,
    baselines: Mapping[str, Baseline] | None = None,
    sweep: Sequence[float] = SWEEP,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Run every query in each mode, with each baseline, and in hybrid mode with each vector weight of `sweep`."""
    baselines = baselines or {}
    scores: dict[str, list[QueryMetrics]] = {name: [] for name in (*MODES, *baselines)}
    swept: dict[float, list[float]] = {weight: [] for weight in sweep}
    weighted = {weight: service.with_vector_weight(weight) for weight in sweep}
    for done, judgement in enumerate(judgements, 1):
        for mode in MODES:
            scores[mode].append(_run_query(service, judgement, mode))
        for name, search in baselines.items():
            names = answer_names(search(judgement.query), judgement.grades)
            scores[name].append(score_ranking(names, judgement.grades))
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
    response = service.search(
        SearchRequest(judgement.query, limit=MAX_LIMIT, mode=mode, group="chunk", only_relevant=False)
    )
    names = answer_names((result.chunk for result in response.results), judgement.grades)
    return score_ranking(names, judgement.grades)
