"""Search requirements by words, and choose which one to work on next."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from contextive.trace.catalog import MIN_PREFIX, TraceCatalog
from contextive.trace.level import Level
from contextive.trace.requirement import Requirement, Status

_TERM = re.compile(r'"([^"]+)"|(\S+)')
_WORD = re.compile(r"\w+")
_HEX = re.compile(rf"[0-9a-f]{{{MIN_PREFIX},64}}\Z")
_ENDINGS = frozenset({"s", "es", "d", "ed", "ing", "er", "ers", "ly", "ment", "ion", "ions"})
_MIN_SIMILARITY, _MIN_WORD_LENGTH, _MAX_WORD_LENGTH, _MAX_WORDS = 0.75, 4, 40, 10

PRIORITY_STATUS = {
    Status.COMPLETE: "fully_implemented",
    Status.EXCEPTION: "fully_implemented",
    Status.MISSING_TEST: "partially_implemented",
    Status.MISSING_CITATION: "partially_implemented",
    Status.PARTIAL: "partially_implemented",
    Status.TODO: "not_started",
    Status.NOT_STARTED: "not_started",
}
SIMPLE_STATUS = {
    Status.COMPLETE: "done",
    Status.EXCEPTION: "done",
    Status.MISSING_TEST: "needs tests",
    Status.MISSING_CITATION: "in progress",
    Status.PARTIAL: "in progress",
    Status.TODO: "not started",
    Status.NOT_STARTED: "not started",
}
##= docs/spec/trace.md#get-prioritized-requirements
##% Within a level, prioritized requirements MUST be sorted by status: partially_implemented, not_started,
##% fully_implemented.
_STATUS_ORDER = ("partially_implemented", "not_started", "fully_implemented")


def level_word(level: Level) -> str:
    return "unspecified" if level is Level.AUTO else level.name


def least_finished(requirements: Sequence[Requirement]) -> Requirement:
    """Of the places of one text, the one that is farthest from done."""
    order = list(Status)
    return max(requirements, key=lambda requirement: order.index(requirement.status))


##= docs/spec/trace.md#get-prioritized-requirements
##% Prioritized requirements MUST be sorted by level first: "MUST", "SHOULD", "MAY", unspecified.
##= docs/spec/trace.md#get-prioritized-requirements
##% Within a status, prioritized requirements with more todos MUST come first.
def prioritise(requirements: Sequence[Requirement]) -> list[Requirement]:
    """Sorted by level, then started, not started, done, then by number of todos; ties keep the text order."""
    return sorted(
        requirements,
        key=lambda r: (-r.level, _STATUS_ORDER.index(PRIORITY_STATUS[r.status]), -r.todo_count),
    )


##= docs/spec/trace.md#search-requirements
##% A search MUST find requirements by words regardless of case, by quoted phrases, and by identifier.
def search(catalog: TraceCatalog, query: str) -> list[Requirement]:
    """Requirements that contain all words and "quoted phrases" of the query, best first; or else some of them."""
    terms = _TERM.findall(query)
    phrases = [_fold_text(quoted or word) for quoted, word in terms]
    if not phrases:
        return []
    exact = [r for phrase in phrases if _HEX.match(phrase) for r in catalog.find(phrase)]
    if exact:
        return list(dict.fromkeys(exact))
    texts = [(requirement, _fold_text(requirement.text)) for requirement in catalog.requirements]
    return _rank_matches(texts, phrases, _fold_text(query)) or _rank_matches(
        texts, _closest_words([_fold_text(word) for _, word in terms], texts), ""
    )


def _rank_matches(texts: Sequence[tuple[Requirement, str]], phrases: Sequence[str], query: str) -> list[Requirement]:
    """The requirements that contain all phrases or, if there are none, at least one phrase; best first."""
    weights = {phrase: _weight(sum(phrase in text for _, text in texts), len(texts)) for phrase in set(phrases)}
    scored = []
    for requirement, text in texts:
        present = [phrase for phrase in weights if phrase in text]
        if present:
            scored.append((len(present) == len(weights), _score(present, text, weights, query), requirement))
    complete = [item for item in scored if item[0]]
    ranked = sorted(complete or scored, key=lambda item: -item[1])
    return [requirement for _, _, requirement in ranked]


##= docs/spec/trace.md#search-requirements
##% If no requirement contains any word of a search, similar words SHOULD match.
def _closest_words(words: Sequence[str], texts: Sequence[tuple[Requirement, str]]) -> list[str]:
    """For each word of a search, the most similar word in the requirements."""
    known = sorted({word for _, text in texts for word in _WORD.findall(text) if len(word) >= _MIN_WORD_LENGTH})
    wanted = [word for word in words[:_MAX_WORDS] if _MIN_WORD_LENGTH <= len(word) <= _MAX_WORD_LENGTH]
    found = []
    for word in wanted:
        stems = [other for other in known if word.startswith(other) and word[len(other) :] in _ENDINGS]
        found += stems[-1:] or get_close_matches(word, known, n=1, cutoff=_MIN_SIMILARITY)
    return found


##= docs/spec/trace.md#search-requirements
##% A search MUST ignore accents on letters.
def _fold_text(text: str) -> str:
    """The text in lower case and without accents, for comparison."""
    if text.isascii():
        return text.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def _weight(hits: int, total: int) -> float:
    return math.log(1 + (total - hits + 0.5) / (hits + 0.5)) + 0.1


def _score(present: Sequence[str], text: str, weights: dict[str, float], query: str) -> float:
    words = set(_WORD.findall(text))
    score = sum(weights[phrase] * (1.5 if phrase in words else 1.0) for phrase in present)
    if query and query.strip('" ') in text:
        score *= 1.5
    return score / (1 + 0.15 * math.log(1 + len(text) / 100))


def similar_requirements(requirement: Requirement, among: Sequence[Requirement], limit: int = 3) -> list[Requirement]:
    """Requirements with similar words, most similar first."""
    words = Counter(_WORD.findall(requirement.text.lower()))
    scored = []
    for other in among:
        if other.identifier != requirement.identifier:
            theirs = Counter(_WORD.findall(other.text.lower()))
            common = sum((words & theirs).values())
            bonus = 0.2 if other.section.id == requirement.section.id else 0.0
            scored.append((common / (len(words) + len(theirs) or 1) + bonus, other))
    scored.sort(key=lambda item: -item[0])
    return [other for score, other in scored[:limit] if score > 0.15]
