"""Merges lexical and semantic hits: a weighted sum of their scores, each scaled to the range 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter


@dataclass(frozen=True, slots=True)
class FusedHit:
    """A chunk from at least one of the two lists."""

    number: int
    lexical: float
    """BM25 scaled to the range 0 to 1."""
    cosine: float | None
    """Unscaled; None if the chunk has no embedding."""
    lexical_share: float
    vector_share: float
    """What each list adds to the score: the scaled score times the weight."""

    @property
    def score(self) -> float:
        return self.lexical_share + self.vector_share


##= docs/spec/knowledge.md#ranking
##% A search MUST combine lexical and semantic scores, each scaled to the range 0 to 1.
def fuse(
    lexical: Mapping[int, float],
    cosines: Mapping[int, float],
    *,
    lexical_weight: float,
    vector_weight: float,
    first: int | None = None,
) -> list[FusedHit]:
    """The union of both lists, best first; only the `first` hits if given.

    A chunk without an embedding gets both weights on its lexical score. If lexical search found nothing, every chunk
    gets both weights on its semantic score. Otherwise a chunk that only the lexical list lacks has the lexical score
    0: lexical search could have found it, and did not.
    """
    numbers = sorted(lexical.keys() | cosines.keys())
    lexical_scores = _scale_to_unit([lexical.get(number, 0.0) for number in numbers])
    vector_scores = dict(zip(cosines, _scale_to_unit(list(cosines.values())), strict=True))
    ranked: list[tuple[float, int, float, float, float]] = []
    for number, lexical_score in zip(numbers, lexical_scores, strict=True):
        vector_score = vector_scores.get(number)
        if vector_score is None:
            lexical_share, vector_share = (lexical_weight + vector_weight) * lexical_score, 0.0
        elif not lexical:
            lexical_share, vector_share = 0.0, (lexical_weight + vector_weight) * vector_score
        else:
            lexical_share, vector_share = lexical_weight * lexical_score, vector_weight * vector_score
        ranked.append((-(lexical_share + vector_share), number, lexical_score, lexical_share, vector_share))
    # The sort is stable, so equal scores stay in the order of their numbers.
    ranked.sort(key=itemgetter(0))
    return [
        FusedHit(number, lexical_score, cosines.get(number), lexical_share, vector_share)
        for _, number, lexical_score, lexical_share, vector_share in ranked[:first]
    ]


def _scale_to_unit(scores: list[float]) -> list[float]:
    """Scores scaled to the range 0 to 1. If all are equal, each becomes 1, or 0 if it is not positive."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if high - low <= 1e-12:
        return [1.0 if score > 0 else 0.0 for score in scores]
    return [(score - low) / (high - low) for score in scores]
