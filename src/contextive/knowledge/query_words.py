"""The words of a query, each with the tokens by which a text contains it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from contextive.knowledge.tokeniser import STOP_WORDS, query_identifiers, query_terms, split_query, unstemmed_words

ABBREVIATION_LENGTHS: Final = range(3, 6)
MAX_ABBREVIATED_WORDS: Final = 60
"""Words of a long query that abbreviations are made of."""
_LETTERS: Final = re.compile("[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class TermCounts:
    """In how many of some texts each term is."""

    texts: int
    """The number of all texts."""
    containing: Mapping[str, int]
    """For each term that is in any text, the number of texts that contain it."""


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One word of a query."""

    term: str
    """The token of the word."""
    written: str
    """The word in lower case as written: `routes`, whose term is `rout`."""
    spellings: tuple[str, ...]
    """The tokens that count as the word. `gatherall` may also be the identifier `gatherAll`."""
    parts: tuple[str, ...] = ()
    """The terms of its parts if it is an identifier of several words."""
    similar: tuple[str, ...] = ()
    """The tokens of words with a similar meaning. They count less, and a text that has only them does not contain the word."""

    def is_in(self, tokens: Collection[str]) -> bool:
        """Whether a text with these tokens contains the word."""
        return any(spelling in tokens for spelling in self.spellings)


##= docs/spec/knowledge.md#ranking
##% A query for words MUST also find their abbreviation by initials, such as `bfs` for *breadth first search*.
def abbreviations(query: str) -> tuple[str, ...]:
    """The initials of every three to five adjacent words of a query. Few of them are in any text."""
    words = [word.lower() for word in _LETTERS.findall(query)][:MAX_ABBREVIATED_WORDS]
    found = {
        "".join(word[0] for word in words[start : start + length]): None
        for length in ABBREVIATION_LENGTHS
        for start in range(len(words) - length + 1)
    }
    return tuple(term for term in found if term not in STOP_WORDS)


def query_words(query: str) -> tuple[QueryWord, ...]:
    """The distinct words of a query in order, without stop words unless there is nothing else."""
    terms, identifiers = query_terms(query), frozenset(query_identifiers(query))
    spellings = {term: {term: None} for term in terms}
    written: dict[str, str] = {}
    parts: dict[str, tuple[str, ...]] = {}
    for word, tokens in split_query(query):
        for token in tokens:
            written.setdefault(token, word if len(tokens) == 1 else token)
        if len(tokens) > 1 and tokens[0] in identifiers:
            parts.setdefault(tokens[0], tokens[1:])
    for word in unstemmed_words(query):
        for term in query_terms(word):
            spellings.get(term, {})[word] = None
    return tuple(
        QueryWord(term, written.get(term, term), tuple(spellings[term]), parts.get(term, ())) for term in terms
    )
