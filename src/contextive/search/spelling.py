"""Words that a misspelled word of a query may stand for: one letter is missing, added, wrong or swapped."""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from contextive.knowledge.query_words import QueryWord, TermCounts
from contextive.knowledge.tokeniser import query_terms
from contextive.search.word_rarity import is_english

SHORTEST_UNKNOWN: Final = 6
"""Shorter words have too many neighbours: *facet* is not a misspelled *fact*."""
SHORTEST_ENGLISH: Final = 7
"""An English word that no chunk contains is usually spelled right, but *licence* may be *license*."""
LONGEST: Final = 32
MAX_CORRECTED: Final = 4
"""At most this many words of a query are corrected; a query with more unknown words is not a misspelled one."""
_BRITISH: Final = (
    ("our", "or"),
    ("re", "er"),
    ("ise", "ize"),
    ("isation", "ization"),
    ("yse", "yze"),
    ("ogue", "og"),
    ("grey", "gray"),
)
"""Endings of British and American words. Short words are only replaced by the other spelling."""
FEWEST_TEXTS: Final = 2
"""A word in a single chunk may be misspelled itself. Specifications are written with more care."""


##= docs/spec/knowledge.md#relevance
##% A word that is probably misspelled MUST be searched for in its right spelling, too.
def correct_words(
    words: Collection[QueryWord],
    known: Mapping[str, int],
    count: Callable[[Collection[str]], TermCounts],
    fewest: int = FEWEST_TEXTS,
) -> dict[str, tuple[str, str]]:
    """For each word that no chunk contains and that is probably misspelled: the right word and its term.

    `known` has the terms that some chunk contains, and `count` counts other terms. The right word is in `fewest` chunks.
    """
    unknown = [
        word
        for word in words
        if not word.is_in(known) and (_may_be_misspelled(word.written) or any(_other_spellings(word.written)))
    ]
    if len(unknown) > MAX_CORRECTED:
        return {}
    found: dict[str, tuple[str, str]] = {}
    for word in unknown:
        similar = _variants(word.written) if _may_be_misspelled(word.written) else ()
        variants = {variant: query_terms(variant) for variant in (*similar, *_other_spellings(word.written))}
        counts = count({terms[0] for terms in variants.values() if len(terms) == 1}).containing
        scored = [
            (is_english(variant), counts[terms[0]], variant, terms[0])
            for variant, terms in variants.items()
            if len(terms) == 1 and counts.get(terms[0], 0) >= fewest
        ]
        if scored:
            *_, variant, term = max(scored)
            found[word.term] = variant, term
    return found


def _may_be_misspelled(word: str) -> bool:
    shortest = SHORTEST_ENGLISH if is_english(word) else SHORTEST_UNKNOWN
    return shortest <= len(word) <= LONGEST and word.isascii() and word.isalpha()


def _other_spellings(word: str) -> Iterator[str]:
    """The American spelling of a British word, and the other way round."""
    for british, american in _BRITISH:
        for old, new in ((british, american), (american, british)):
            if word.endswith(old):
                yield word.removesuffix(old) + new


def _variants(word: str) -> Iterator[str]:
    """The words that differ in one letter or in two adjacent letters, but not in the first one."""
    for at in range(1, len(word) + 1):
        before, after = word[:at], word[at:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for letter in string.ascii_lowercase:
            yield before + letter + after
            if after:
                yield before + letter + after[1:]
