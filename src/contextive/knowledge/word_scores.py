"""Ranks texts in memory by the words of a query: BM25 with separate statistics for titles and bodies.

It is for texts that are in memory anyway, such as requirements and notes. They are split into the same tokens as chunks
and have the same two fields, so they are ranked in the same way as by the lexical index.
"""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from contextive.knowledge.query_words import QueryWord, TermCounts, query_words
from contextive.knowledge.tokeniser import tokenise

SATURATION: Final = 1.2
"""How soon repetitions of a word stop to add to the score: `k1` of BM25."""
LENGTH_SHARE: Final = 0.75
"""How much a long text is worth less than a short one with the same words: `b` of BM25."""
SIMILAR_WEIGHT: Final = 0.6
"""What a word of similar meaning is worth, relative to the word itself."""
_MAX_COUNT: Final = 65_535

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class WordHit(Generic[Key]):
    """A text that contains at least one word of a query."""

    key: Key
    score: float
    matched: frozenset[str]
    """The terms of the query that the text contains."""


class WordScorer(Generic[Key]):
    """Texts by key, and the words in them. Adding, replacing or removing a text costs only its own words."""

    def __init__(
        self,
        texts: Iterable[tuple[Key, str, str]] = (),
        *,
        length_share: float = LENGTH_SHARE,
        title_share: float | None = None,
    ) -> None:
        """`texts` are keys with title and body. With `title_share`, a word of the title counts only where the body lacks it,
        and that much: titles that many texts share say little about each of them.
        """
        self._title_share = title_share
        self._title, self._body = _Field(length_share), _Field(length_share)
        self._texts: dict[Key, tuple[int, str, str]] = {}
        self._keys: dict[int, Key] = {}
        self._next = 0
        for key, title, body in texts:
            self.put(key, title, body)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def body_words(self) -> int:
        """The number of words in all bodies."""
        return self._body.words

    def put(self, key: Key, title: str, body: str) -> None:
        """Add a text, or replace the one with this key."""
        self.remove(key)
        number, self._next = self._next, self._next + 1
        self._texts[key] = number, title, body
        self._keys[number] = key
        self._title.add(number, title)
        self._body.add(number, body)

    def remove(self, key: Key) -> None:
        """Remove the text with this key, if there is one."""
        known = self._texts.pop(key, None)
        if known is not None:
            number, title, body = known
            del self._keys[number]
            self._title.remove(number, title)
            self._body.remove(number, body)

    def counts(self, terms: Collection[str]) -> TermCounts:
        """In how many titles or bodies each term is, whichever is more."""
        counts = {term: max(self._title.count(term), self._body.count(term)) for term in terms}
        return TermCounts(len(self._texts), {term: count for term, count in counts.items() if count})

    def search(self, query: str | Sequence[QueryWord], limit: int) -> list[WordHit[Key]]:
        """The texts with words of the query, best first; texts with the same score in the order they were added."""
        scores: dict[int, float] = {}
        numbers_by_term: dict[str, set[int]] = {}
        for word in query_words(query) if isinstance(query, str) else query:
            found = numbers_by_term[word.term] = set()
            for spelling in word.spellings:
                found |= self._body.score(spelling, scores)
            except_in = frozenset() if self._title_share is None else frozenset(found)
            for spelling in word.spellings:
                found |= self._title.score(spelling, scores, self._title_share or 1.0, except_in)
            counted: AbstractSet[int] = found
            for token in word.similar:
                counted = counted | self._body.score(token, scores, SIMILAR_WEIGHT, counted)
        best = heapq.nsmallest(limit, scores, key=lambda number: (-scores[number], number))
        matched: dict[int, list[str]] = {number: [] for number in best}
        for term, numbers in numbers_by_term.items():
            for number in numbers & matched.keys():
                matched[number].append(term)
        return [WordHit(self._keys[number], scores[number], frozenset(matched[number])) for number in best]


class _Field:
    """The words of one field of all texts."""

    def __init__(self, length_share: float) -> None:
        self._length_share = length_share
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        """For each token, the numbers of the texts that contain it, in order, and how often each does."""
        self._lengths: dict[int, int] = {}
        self.words = 0

    def add(self, number: int, text: str) -> None:
        """Add the words of a text. Its number is larger than all before."""
        tokens = tokenise(text)
        self._lengths[number] = len(tokens)
        self.words += len(tokens)
        for token, count in Counter(tokens).items():
            postings = self._postings.get(token)
            if postings is None:
                postings = self._postings[token] = array("I"), array("H")
            postings[0].append(number)
            postings[1].append(min(count, _MAX_COUNT))

    def remove(self, number: int, text: str) -> None:
        """Remove the words of a text that was added."""
        self.words -= self._lengths.pop(number)
        for token in set(tokenise(text)):
            numbers, counts = self._postings[token]
            at = bisect_left(numbers, number)
            del numbers[at], counts[at]
            if not numbers:
                del self._postings[token]

    def count(self, token: str) -> int:
        """The number of texts that contain a token."""
        postings = self._postings.get(token)
        return len(postings[0]) if postings is not None else 0

    def score(
        self, token: str, scores: dict[int, float], weight: float = 1.0, except_in: AbstractSet[int] = frozenset()
    ) -> set[int]:
        """Add what a token is worth in each text that contains it; returns the numbers of these texts."""
        postings = self._postings.get(token)
        if postings is None:
            return set()
        numbers, counts = postings
        total, lengths = len(self._lengths), self._lengths
        rarity = weight * (SATURATION + 1) * math.log(1 + (total - len(numbers) + 0.5) / (len(numbers) + 0.5))
        base = SATURATION * (1 - self._length_share)
        per_word = SATURATION * self._length_share * total / self.words
        known = scores.get
        for number, count in zip(numbers, counts, strict=True):
            if number in except_in:
                continue
            worth = rarity * count / (count + base + per_word * lengths[number])
            scores[number] = known(number, 0.0) + worth
        return set(numbers)
