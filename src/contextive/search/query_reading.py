"""Reads a query: its words, the corrections of misspelled ones, and which of them the index knows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from contextive.knowledge.query_words import QueryWord, TermCounts, abbreviations, query_words
from contextive.knowledge.tokeniser import query_identifiers, query_terms, unstemmed_words
from contextive.search.relevance import QueryTopic, query_topic
from contextive.search.spelling import correct_words
from contextive.store.values import LexicalQuery


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query in terms of an index."""

    words: tuple[QueryWord, ...]
    """Corrected words have the right one among their spellings."""
    topic: QueryTopic
    lexical: LexicalQuery
    corrected: Mapping[str, str]
    """Words that are in no text and probably misspelled, each with the word that is searched for as well."""


def read_query(query: str, count: Callable[[Collection[str]], TermCounts]) -> ReadQuery:
    """Read a query for an index, in which `count` counts terms."""
    words = query_words(query)
    counts = count({spelling for word in words for spelling in word.spellings})
    corrected = correct_words(words, counts.containing, count)
    corrections = [term for _, term in corrected.values()]
    # Only the query is expanded: an abbreviation is no word of it when the coverage of a passage is judged.
    expanded = [*corrections, *count(abbreviations(query)).containing]
    counts = replace(counts, containing={**counts.containing, **dict.fromkeys(corrections, 1)})
    words = tuple(
        replace(word, spellings=(*word.spellings, corrected[word.term][1])) if word.term in corrected else word
        for word in words
    )
    return ReadQuery(
        words,
        query_topic(words, counts),
        _lexical_query(query, expanded),
        {word.written: corrected[word.term][0] for word in words if word.term in corrected},
    )


def _lexical_query(query: str, added: Collection[str]) -> LexicalQuery:
    terms = query_terms(query)
    others = dict.fromkeys((*query_identifiers(query), *unstemmed_words(query), *added))
    return LexicalQuery(terms, tuple(term for term in others if term not in terms))
