"""Finds requirements by the words of a question, with the tokens and the scores of the lexical index.

All requirements are in memory, so no index is needed. A requirement is one sentence, and many sentences of a section
have the same words. So besides the words it counts which of them are next to each other, and, with less weight, the
paragraph around the sentence.
"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from contextive.knowledge.query_words import QueryWord, query_words
from contextive.knowledge.tokeniser import query_terms, split_query, tokenise
from contextive.knowledge.word_scores import WordScorer
from contextive.search.fusion import fuse
from contextive.search.requirement_meaning import RequirementMeaning
from contextive.search.similar_words import similar_terms
from contextive.search.spelling import correct_words
from contextive.trace.abbreviations import abbreviations
from contextive.trace.catalog import MIN_PREFIX, TraceCatalog
from contextive.trace.requirement import Requirement
from contextive.trace.surroundings import paragraph_of, sentence_before

TITLE_SHARE: Final = 0.9
"""What a word in the title of the section is worth to a requirement that lacks it, relative to a word in the requirement."""
PARAGRAPH_WEIGHT: Final = 0.3
"""The weight of a word in the paragraph around a requirement, relative to a word in the requirement."""
LENGTH_SHARE: Final = 0.3
"""Requirements are short, so a longer one is rarely less relevant."""
MAX_DISTANCE: Final = 4
"""Words of a query that are farther apart in a text do not count as a phrase."""
PHRASE_WEIGHT: Final = 0.5
"""The weight of two words that are next to each other in a query and in a text."""
MEANING_WEIGHT: Final = 0.4
"""The weight of meaning relative to words, if there are embeddings."""
KEPT_SHARE: Final = 0.35
"""A result is left out if it has less than this share of what the best one has of the query's words."""
_RERANKED = 200
_PHRASE = re.compile(r'"([^"]+)"')
_WORD = re.compile(r"\w+")
_IDENTIFIER = re.compile(rf"[0-9a-f]{{{MIN_PREFIX},64}}\Z")


@dataclass(frozen=True, slots=True)
class RequirementText:
    """What a search knows of a requirement."""

    title: str
    """The title of its section and the name of its specification."""
    text: str
    paragraph: str
    before: str = ""
    """The sentence that it refers back to."""


@dataclass(frozen=True, slots=True)
class RankedText:
    """A text that matches a query, by its position among all texts."""

    number: int
    score: float
    matched: frozenset[str]
    """The terms of the query that the requirement or its title contains."""


@dataclass(frozen=True, slots=True)
class FoundRequirements:
    """The requirements that match a query, best first, and what did not match."""

    requirements: tuple[Requirement, ...]
    note: str = ""
    """Says when no requirement has all words of the query."""


class RequirementWords:
    """The words of some requirements."""

    def __init__(
        self, texts: Sequence[RequirementText], short_forms: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """`short_forms` are abbreviations with their words, such as RTT: round, trip, time."""
        self.texts = tuple(texts)
        self._short_forms = [
            (terms[0], query_terms(" ".join(long)))
            for short, long in (short_forms or {}).items()
            if (terms := query_terms(short))
        ]
        self._folded = [fold_text(text.text) for text in texts]
        self._positions: dict[int, Mapping[str, Sequence[int]]] = {}
        bodies = [f"{fold_text(item.before)}\n{folded}" for item, folded in zip(texts, self._folded, strict=True)]
        self._words: WordScorer[int] = WordScorer(
            ((number, fold_text(item.title), bodies[number]) for number, item in enumerate(texts)),
            length_share=LENGTH_SHARE,
            title_share=TITLE_SHARE,
        )
        self._paragraphs: WordScorer[int] = WordScorer(
            (number, "", fold_text(item.paragraph)) for number, item in enumerate(texts)
        )

    ##= docs/spec/trace.md#search-requirements
    ##% A search MUST rank requirements by their words, the title of their section, the name of their specification and
    ##% the paragraph around them.
    def rank(self, query: str) -> list[RankedText]:
        """The texts with words of a query, best first."""
        asked = self._spellings(query)
        hits = self._words.search(asked, len(self.texts))
        scores = {hit.key: hit.score for hit in hits}
        matched = {hit.key: hit.matched for hit in hits}
        around: dict[int, frozenset[str]] = {}
        exact = [replace(word, similar=()) for word in asked]
        for hit in self._paragraphs.search(exact, len(self.texts)):
            scores[hit.key] = scores.get(hit.key, 0.0) + PARAGRAPH_WEIGHT * hit.score
            around[hit.key] = hit.matched
        rarity = self._rarity(around.values()) | self._rarity(matched.values())
        best = sorted(scores, key=lambda number: (-scores[number], number))
        pairs = [pair for pair in pairwise(query_terms(query)) if pair[0] in rarity and pair[1] in rarity]
        for number in best[:_RERANKED] if pairs else ():
            scores[number] += _phrase_score(pairs, self._positions_in(number), rarity)
        best[:_RERANKED] = sorted(best[:_RERANKED], key=lambda number: (-scores[number], number))
        nothing: frozenset[str] = frozenset()
        ranked = [RankedText(number, scores[number], matched.get(number, nothing)) for number in best]
        return _without_weak(ranked, around, rarity)

    ##= docs/spec/trace.md#search-requirements
    ##% A search MUST treat an abbreviation that a specification introduces, and the words that it stands for, alike.
    def _spellings(self, query: str) -> list[QueryWord]:
        """The words of a query with further tokens that count as them: of abbreviations, and of words written as one."""
        words = query_words(query)
        terms = [word.term for word in words]
        others = {term: [right] for term, (_, right) in self.corrected(query).items()}
        for short, long in self._short_forms:
            if short in terms:
                others.setdefault(short, []).extend(self._rarest(long))
            at = _find(terms, long)
            for term in terms[at : at + len(long)] if at >= 0 else ():
                others.setdefault(term, []).append(short)
        for (first, tokens), (second, more_tokens) in pairwise(split_query(query)):
            joined = query_terms(first + second)
            if self._words.counts(joined).containing:
                for token in tokens[:1] or more_tokens[:1]:
                    others.setdefault(token, []).extend(joined)
        # A text with `0-RTT` has the whole word, not three words. Its parts count only where the whole is missing.
        wholes = {word.term: word.parts for word in words if word.parts and self._words.counts([word.term]).containing}
        parts = {part for found in wholes.values() for part in found}
        return [
            replace(
                word,
                spellings=tuple(dict.fromkeys((*word.spellings, *others.get(word.term, ())))),
                similar=(*wholes.get(word.term, ()), *similar_terms(word.term)),
            )
            for word in words
            if word.term not in parts
        ]

    def _rarest(self, terms: Sequence[str]) -> list[str]:
        """The term that the fewest requirements contain, if any contains one."""
        counts = self._words.counts(terms).containing
        return sorted(counts, key=lambda term: counts[term])[:1]

    def _positions_in(self, number: int) -> Mapping[str, Sequence[int]]:
        """Where each token is in a text."""
        found = self._positions.get(number)
        if found is None:
            positions: dict[str, list[int]] = {}
            for position, token in enumerate(tokenise(self._folded[number])):
                positions.setdefault(token, []).append(position)
            found = self._positions[number] = positions
        return found

    def containing(self, phrases: Sequence[str]) -> set[int]:
        """The texts that contain all phrases, ignoring case, accents and line breaks."""
        wanted = [fold_text(" ".join(phrase.split())).lower() for phrase in phrases]
        return {number for number, text in enumerate(self._folded) if all(p in text.lower() for p in wanted)}

    ##= docs/spec/trace.md#search-requirements
    ##% If no requirement contains a word of a search, a similarly spelled word SHOULD match.
    def corrected(self, query: str) -> dict[str, tuple[str, str]]:
        """The terms of a query that no requirement contains, each with the right word and its term."""
        words = query_words(query)
        known = self._words.counts({spelling for word in words for spelling in word.spellings}).containing
        return correct_words(words, known, self._words.counts, fewest=1)

    def _rarity(self, matches: Collection[frozenset[str]]) -> dict[str, float]:
        """How rare each term of a query is, as in BM25."""
        total = len(self.texts)
        counts = Counter(term for terms in matches for term in terms)
        return {term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}


class RequirementSearch:
    """Searches the requirements of a project. What it knows of their words is kept until one of them changes."""

    def __init__(self, meaning: RequirementMeaning | None = None) -> None:
        self._meaning = meaning
        self._lock = threading.Lock()
        self._known: tuple[TraceCatalog, RequirementWords] | None = None

    ##= docs/spec/trace.md#search-requirements
    ##% A search MUST find requirements by words regardless of case, by quoted phrases, and by identifier.
    def search(self, catalog: TraceCatalog, query: str) -> FoundRequirements:
        """The requirements that a query means, best first."""
        named = [r for word in query.split() if _is_identifier(word) for r in catalog.find(word)]
        if named:
            return FoundRequirements(tuple(dict.fromkeys(named)))
        words, folded = self._words_of(catalog), fold_text(query)
        ranked = words.rank(folded)
        phrases = _PHRASE.findall(query)
        note = ""
        if phrases:
            containing = words.containing(phrases)
            ranked = [item for item in ranked if item.number in containing]
        else:
            ranked = self._with_meaning(catalog, query, ranked)
        if ranked and not phrases and (corrected := words.corrected(folded)):
            written = {word.term: word.written for word in query_words(folded)}
            note = (
                "Similar words: "
                + ", ".join(f"{right} for {written[term]}" for term, (right, _) in corrected.items())
                + "."
            )
        found = tuple(catalog.requirements[item.number] for item in ranked)
        return FoundRequirements(found, " ".join(filter(None, (note, _missing_words_note(folded, ranked)))))

    ##= docs/spec/trace.md#search-requirements
    ##% If there is an index with embeddings, a search MUST also find requirements by their meaning, without an ingest and
    ##% without writing to the project.
    def _with_meaning(self, catalog: TraceCatalog, query: str, ranked: list[RankedText]) -> list[RankedText]:
        """The ranked texts merged with those that are similar in meaning, if there are embeddings."""
        cosines = self._meaning.cosines(catalog, query) if self._meaning is not None else {}
        if not cosines:
            return ranked
        matched = {item.number: item.matched for item in ranked}
        scores = {item.number: item.score for item in ranked}
        fused = fuse(scores, cosines, lexical_weight=1 - MEANING_WEIGHT, vector_weight=MEANING_WEIGHT)
        return [RankedText(hit.number, hit.score, matched.get(hit.number, frozenset())) for hit in fused]

    def _words_of(self, catalog: TraceCatalog) -> RequirementWords:
        with self._lock:
            known = self._known
            if known is not None and known[0] is catalog:
                return known[1]
            texts = tuple(_text_of(catalog, requirement) for requirement in catalog.requirements)
            words = known[1] if known is not None and known[1].texts == texts else None
            words = words or RequirementWords(texts, abbreviations(_sections(catalog)))
            self._known = catalog, words
            return words


def _text_of(catalog: TraceCatalog, requirement: Requirement) -> RequirementText:
    title = f"{requirement.section.title} {catalog.entry_of(requirement.target).name}"
    return RequirementText(title, requirement.text, paragraph_of(requirement), sentence_before(requirement))


def _sections(catalog: TraceCatalog) -> Iterator[str]:
    for entry in catalog.specifications.values():
        for section in entry.specification.sections:
            yield section.content()


##= docs/spec/trace.md#search-requirements
##% A search MUST ignore accents on letters.
def fold_text(text: str) -> str:
    """The text in lower case and without accents. Identifiers keep their capitals, which separate their words."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _is_identifier(word: str) -> bool:
    return "/requirements/" in word or _IDENTIFIER.match(word.lower()) is not None


def _find(items: Sequence[str], part: Sequence[str]) -> int:
    """Where `part` begins in `items`; -1 if it is not in it."""
    starts = range(len(items) - len(part) + 1)
    return next((at for at in starts if part and tuple(items[at : at + len(part)]) == tuple(part)), -1)


def _phrase_score(
    pairs: Sequence[tuple[str, str]], positions: Mapping[str, Sequence[int]], rarity: Mapping[str, float]
) -> float:
    """What it adds to a score that words which are next to each other in a query are close together in a text."""
    score = 0.0
    for first, second in pairs:
        distance = _distance(positions.get(first, ()), positions.get(second, ()))
        if 0 < distance <= MAX_DISTANCE:
            score += PHRASE_WEIGHT * min(rarity[first], rarity[second]) / distance
    return score


def _distance(first: Sequence[int], second: Sequence[int]) -> int:
    """The smallest distance between positions of two sorted lists; 0 if one is empty."""
    best, i, j = 0, 0, 0
    while i < len(first) and j < len(second):
        distance = abs(first[i] - second[j])
        best = min(best, distance) if best else distance
        if first[i] < second[j]:
            i += 1
        else:
            j += 1
    return best


def _without_weak(
    ranked: Sequence[RankedText], around: Mapping[int, frozenset[str]], rarity: Mapping[str, float]
) -> list[RankedText]:
    """The texts that contain enough of a query, measured by the text that contains most of it."""

    def weight(item: RankedText) -> float:
        outside = around.get(item.number, frozenset()) - item.matched
        own = sum(rarity.get(term, 0.0) for term in item.matched)
        return own + PARAGRAPH_WEIGHT * sum(rarity.get(term, 0.0) for term in outside)

    weights = [weight(item) for item in ranked]
    most = max(weights, default=0.0)
    return [item for item, own in zip(ranked, weights, strict=True) if own > KEPT_SHARE * most]


##= docs/spec/trace.md#search-requirements
##% If no requirement contains all words of a search, the answer MUST say which words the best one lacks.
def _missing_words_note(query: str, ranked: Sequence[RankedText]) -> str:
    terms = query_terms(query)
    if not ranked or any(item.matched.issuperset(terms) for item in ranked):
        return ""
    missing = [term for term in terms if term not in ranked[0].matched]
    words = [word for word in dict.fromkeys(_WORD.findall(query)) if set(query_terms(word)) & set(missing)]
    return f"No requirement contains all words. The first one lacks: {', '.join(words or missing)}."
