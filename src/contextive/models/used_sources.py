"""Which of its sources an answer used: those that it cites, or else those that it shares its words with."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from contextive.knowledge.query_words import query_words
from contextive.knowledge.tokeniser import tokenise
from contextive.models.sources import Source
from contextive.search.word_rarity import word_weight

NOTHING_FOUND: Final = "No relevant information found in the knowledge base."
_SHARED: Final = 0.5
"""An answer without citations used a source that contains at least this share of its words, weighted by their rarity."""
_LONGEST_DENIAL: Final = 200
"""A longer answer with citations says more than that the sources do not contain one."""
_DENIAL: Final = re.compile(
    r"\b(?:sources?|notes|pages|passages|documents|context)"
    r" (?:(?:do|does|did) not|(?:do|does|did)n['\u2019]t) (?:\w{1,20}ly )?"
    r"(?:contain|hold|mention|answer|say|include|provide|give|specify|describe|cover|address|have)\b"
    r"|\bno relevant information\b",
    re.IGNORECASE,
)


##= docs/spec/notes.md#ask
##% An answer MUST list only the sources that were used, and none if the model says that they do not contain the answer.
def used_sources(text: str, sources: Sequence[Source], cited: Collection[int]) -> list[tuple[int, Source]]:
    """The sources that an answer used, with their numbers."""
    if _DENIAL.search(text[:_LONGEST_DENIAL]) and (not cited or len(text) <= _LONGEST_DENIAL):
        return []
    numbered = list(enumerate(sources, 1))
    linked = {source.slug for source in sources if source.slug and f"[[{source.slug}" in text}
    used = [(number, source) for number, source in numbered if number in cited or source.slug in linked]
    return used or [(number, source) for number, source in numbered if _shares_words(text, source)]


def _shares_words(text: str, source: Source) -> bool:
    words = query_words(text)
    tokens = frozenset(tokenise(f"{source.title}\n{source.text}"))
    weights = {word.term: word_weight(word.written, word.term) for word in words}
    shared = sum(weights[word.term] for word in words if word.is_in(tokens))
    return bool(words) and shared >= _SHARED * sum(weights.values())
