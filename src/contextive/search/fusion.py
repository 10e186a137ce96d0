"""Two lists of hits made into one: a weighted sum of their scores, each brought to the span from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter


@dataclass(frozen=True, slots=True)
class FusedHit:
    """A chunk that at least one list holds."""

    number: int
    lexical: float
    """BM25 brought to the span from 0 to 1."""
    cosine: float | None
    """As it was found; None where there is no vector."""
    lexical_share: float
    vector_share: float
    """What each half adds to the score: its place between 0 and 1 times the weight."""

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
    """The union of both lists, best first, or only the `first` of it.

    Where one half knows nothing of a chunk's place, the other stands in for it. A chunk without a vector is judged by its words
    alone, and so is every chunk by its vector when no words were found. A chunk that only the lexical list lacks has the
    lexical score 0: it is there to be found, and was not.
    """
    numbers = sorted(lexical.keys() | cosines.keys())
    words = _to_unit([lexical.get(number, 0.0) for number in numbers])
    meanings = dict(zip(cosines, _to_unit(list(cosines.values())), strict=True))
    ranked: list[tuple[float, int, float, float, float]] = []
    for number, word in zip(numbers, words, strict=True):
        meaning = meanings.get(number)
        if meaning is None:
            by_word, by_meaning = (lexical_weight + vector_weight) * word, 0.0
        elif not lexical:
            by_word, by_meaning = 0.0, (lexical_weight + vector_weight) * meaning
        else:
            by_word, by_meaning = lexical_weight * word, vector_weight * meaning
        ranked.append((-(by_word + by_meaning), number, word, by_word, by_meaning))
    # Numbers rise already, and sorting leaves what is equal in its order.
    ranked.sort(key=itemgetter(0))
    return [
        FusedHit(number, word, cosines.get(number), by_word, by_meaning)
        for _, number, word, by_word, by_meaning in ranked[:first]
    ]


def _to_unit(scores: list[float]) -> list[float]:
    """Scores between 0 and 1 in the same order. Where all are alike, each is 1 if it is anything at all."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if high - low <= 1e-12:
        return [1.0 if score > 0 else 0.0 for score in scores]
    return [(score - low) / (high - low) for score in scores]
