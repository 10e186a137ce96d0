"""Whether a result is about the query at all, as a probability that is comparable between queries.

The score that ranks results cannot say this, because it is relative to the other candidates of the query. Three facts can:

- *coverage*: the share of the query's words that the passage contains,
- *known*: the share of the query's words that occur anywhere in the index,
- *cosine*: the similarity of the embeddings, if the passage has one.

Words are weighted by how rare they are in English. The constants below were fitted by logistic regression; how, on what,
and how well they do on other projects is in docs/adr/0013-nothing-relevant-is-an-answer.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from contextive.knowledge.query_words import QueryWord, TermCounts
from contextive.search.word_rarity import word_weight

Key = TypeVar("Key")
RelevanceLevel = Literal["good", "weak", "none"]
NOTHING_RELEVANT: Final = "Nothing relevant was found"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The weights of the three facts in the logit of the probability."""

    constant: float
    coverage: float
    known: float
    size: float
    cosine: float = 0.0


LEXICAL: Final = Calibration(constant=-8.0, coverage=8.0, known=5.7, size=-0.9)
"""For a passage without an embedding."""
CALIBRATED_MODEL: Final = "all-MiniLM-L6-v2"
"""The cosines of other models have other ranges. With those, only words decide."""
HYBRID: Final = Calibration(constant=-10.1, coverage=4.2, known=5.5, size=-1.1, cosine=12.0)
"""For a passage with an embedding of this model."""
USUAL_INDEX: Final = 1_500
"""The number of passages for which the size of the index changes nothing. In a larger one, more words and similar
passages are found by chance."""
SMALLEST_INDEX: Final = 10
LARGEST_INDEX: Final = 30_000
"""Outside these limits, nothing was measured, and the size has no further effect."""
LEAST_RELEVANCE: Final = 0.35
"""A query whose best result has less has no relevant result."""
GOOD_RELEVANCE: Final = 0.8
"""From here on, a result is `good`, below it is `weak`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The three facts about one passage."""

    coverage: float
    known: float
    cosine: float | None
    texts: int

    ##= docs/spec/knowledge.md#relevance
    ##% A chunk without an embedding MUST be judged by its words alone.
    @property
    def strength(self) -> float:
        """What the passage itself adds to the logit; the rest is the same for all passages of an index."""
        if self.cosine is None:
            return LEXICAL.coverage * self.coverage
        return HYBRID.coverage * self.coverage + HYBRID.cosine * self.cosine

    @property
    def relevance(self) -> float:
        """The probability that the passage is about the query, if it is the best one of the index."""
        use = LEXICAL if self.cosine is None else HYBRID
        size = math.log(min(LARGEST_INDEX, max(SMALLEST_INDEX, self.texts)) / USUAL_INDEX)
        logit = use.constant + use.known * self.known + use.size * size + self.strength
        return 1.0 / (1.0 + math.exp(-logit))


@dataclass(frozen=True, slots=True)
class Judgement(Generic[Key]):
    """How relevant the best passages for a query are."""

    best: float
    """The probability that the best of them is about the query."""
    by_key: Mapping[Key, float]
    """That of each passage: less than the best one's by as much as its own evidence is weaker."""


def judge(found: Mapping[Key, Evidence]) -> Judgement[Key]:
    """Judge the passages of one query."""
    best = max((evidence.relevance for evidence in found.values()), default=0.0)
    strongest = max((evidence.strength for evidence in found.values()), default=0.0)
    return Judgement(
        best,
        {key: best * max(0.0, one.strength) / strongest if strongest > 0 else best for key, one in found.items()},
    )


@dataclass(frozen=True, slots=True)
class QueryTopic:
    """The words of a query with their weights, and which of them the index knows."""

    words: tuple[QueryWord, ...]
    weights: Mapping[str, float]
    known: float
    """The weighted share of words that occur in the index, from 0 to 1."""
    names_identifier: bool
    """Whether one of the words is an identifier that occurs in the index."""
    texts: int
    """The number of passages in the index."""

    def coverage(self, tokens: Collection[str]) -> float:
        """The weighted share of words that a passage with these tokens contains, from 0 to 1."""
        found = sum(self.weights[word.term] for word in self.words if word.is_in(tokens))
        return found / sum(self.weights.values()) if self.words else 0.0

    def evidence(self, tokens: Collection[str], cosine: float | None = None) -> Evidence:
        """What a passage with these tokens has in common with the query."""
        return Evidence(self.coverage(tokens), self.known, cosine, self.texts)


def query_topic(words: Sequence[QueryWord], counts: TermCounts) -> QueryTopic:
    """The topic of a query. `counts` has the terms of the query that occur in the index."""
    # An identifier that does not exist is judged by its parts.
    judged = tuple(word for word in words if not word.parts or word.is_in(counts.containing))
    weights = {word.term: word_weight(word.written, word.term) for word in judged}
    known = sum(weights[word.term] for word in judged if word.is_in(counts.containing))
    return QueryTopic(
        judged,
        weights,
        known / sum(weights.values()) if judged else 0.0,
        any(_is_identifier(word) for word in judged if word.is_in(counts.containing)),
        counts.texts,
    )


def _is_identifier(word: QueryWord) -> bool:
    """Whether a word can only be the name of something in code: `url_path_for`, `gatherAll` or `Store::open`."""
    return bool(word.parts) and ("_" in word.term or "::" in word.term or word.term.isalnum())


def comparable_cosine(cosine: float | None, model: str | None) -> float | None:
    """The cosine, if it is from the model that the constants were fitted to."""
    return cosine if model is not None and model.startswith(CALIBRATED_MODEL) else None


def relevance_level(relevance: float) -> RelevanceLevel:
    """The probability in words."""
    if relevance < LEAST_RELEVANCE:
        return "none"
    return "good" if relevance >= GOOD_RELEVANCE else "weak"
