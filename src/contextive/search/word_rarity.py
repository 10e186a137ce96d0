"""How rare words are in English, from the vocabulary of the embedding model, which is sorted by frequency.

A rare word says what a question is about: whether *sourdough* occurs in a project says much, whether *middle* does says
little. Words in other languages and names count as rare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Final

from contextive.errors import Unavailable

_FIRST_WORD: Final = 1996
"""The position of *the*, the most common word. Before it are single characters and special tokens."""
COMMON_RANK: Final = 2_200
"""Words up to this position have the least weight: about the two hundred most common ones."""
RARE_RANK: Final = 12_000
"""Words from this position on have the full weight 1: *giraffe*, but not *bread*."""
LEAST_WEIGHT: Final = 0.35


def word_weight(*forms: str) -> float:
    """The weight of a word from `LEAST_WEIGHT` to 1; the most common of its forms counts."""
    ranks = _ranks()
    rank = min((ranks[form] for form in forms if form in ranks), default=RARE_RANK)
    if rank >= RARE_RANK:
        return 1.0
    rarity = math.log(max(1.0, rank / COMMON_RANK)) / math.log(RARE_RANK / COMMON_RANK)
    return LEAST_WEIGHT + (1.0 - LEAST_WEIGHT) * rarity


def is_english(word: str) -> bool:
    """Whether the vocabulary contains a word. Many rare words are missing."""
    return word in _ranks()


@cache
def _ranks() -> Mapping[str, int]:
    """The words of the vocabulary with their position; none if it cannot be read, and then all words count alike."""
    from contextive.search.embedding.minilm import read_vocabulary

    try:
        words = read_vocabulary()
    except Unavailable:
        return {}
    return {word: rank for rank, word in enumerate(words) if rank >= _FIRST_WORD and word.isalpha()}
