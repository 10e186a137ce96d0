"""Ranking rules that adjust the score of a chunk by its symbols, its path and the other chunks of its file.

The weights were set by hand for scores between 0 and 1. On judgements of whole files, higher weights for the file
name and the best chunks of a file find more; on judgements of single functions, neither helps. The defaults are in
between. The file rules do not apply to prose: the sections of a document have different topics, so their sum says
nothing about one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from contextive.knowledge.tokeniser import query_identifiers, query_terms, tokenise
from contextive.store.values import RankableChunk

_CACHED_PATHS: Final = 20_000


@dataclass(frozen=True, slots=True)
class RankingRules:
    """The weight of each rule; 0 turns it off."""

    trial: float = -0.3
    """Added if the chunk is from a test or an example and the query does not ask for one."""
    stem: float = 0.05
    """Times the share of the query's terms that are in the file name."""
    definition: float = 0.3
    """Added if the chunk declares a symbol that the query names; less if the query has many other terms."""
    file: float = 0.2
    """Times the sum of the best three functions of a code file, relative to the best file."""


CODE_TYPES: Final = frozenset({"code", "proto", "test"})
BEST_OF_FILE: Final = 3
FULL_NAME_TERMS: Final = 4
"""In queries with more terms, a symbol name counts less."""
_TEST_DIRECTORIES: Final = frozenset(
    {
        "test",
        "tests",
        "testing",
        "__tests__",
        "testdata",
        "spec",
        "specs",
        "example",
        "examples",
        "demo",
        "demos",
        "samples",
    }
)
_TEST_TERMS: Final = frozenset(tokenise("test tests testing tested example examples fixture fixtures sample demo spec"))
_TEST_FILE_NAME: Final = re.compile(r"(?:^|[._-])(?:tests?|spec)(?:[._-]|$)|conftest", re.IGNORECASE)
_NAME: Final = re.compile(r"[^\W\d]\w*(?:(?:\.|::)\w+)*")


@dataclass(frozen=True, slots=True)
class QueryFeatures:
    """The properties of a query that the rules use."""

    terms: frozenset[str]
    names: frozenset[str]
    """Words of the query that may be symbol names, in lower case."""
    asks_for_tests: bool


@dataclass(frozen=True, slots=True)
class RuledScore:
    """The score of a chunk, with the gain of each rule."""

    number: int
    base: float
    gains: Mapping[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return self.base + sum(self.gains.values())


def query_features(query: str) -> QueryFeatures:
    """Extract the properties of a query that the rules use."""
    terms = frozenset(query_terms(query))
    return QueryFeatures(terms, frozenset(_symbol_names(query)), not terms.isdisjoint(_TEST_TERMS))


##= docs/spec/knowledge.md#ranking
##% The same query on the same index MUST give the same answer.
def apply_rules(
    features: QueryFeatures,
    scored: Sequence[tuple[RankableChunk, float]],
    rules: RankingRules,
    *,
    wants_tests: bool = False,
) -> list[RuledScore]:
    """Apply the rules to scored chunks; best first, ties by path and position."""
    sums = _file_sums(scored)
    top = max(sums.values(), default=0.0)
    demote_tests = not wants_tests and not features.asks_for_tests
    definition = rules.definition * min(1.0, FULL_NAME_TERMS / max(1, len(features.terms)))
    ruled: list[tuple[float, str, int, int, RuledScore]] = []
    for row, score in scored:
        artifact = row.artifact
        gains: dict[str, float] = {}
        if demote_tests and rules.trial and is_test_or_example(row):
            gains["trial"] = rules.trial
        if artifact.artifact_type in CODE_TYPES:
            if stem := rules.stem * _stem_overlap(features, artifact.path):
                gains["stem"] = stem
            if top > 0 and (file := rules.file * sums[artifact.path] / top):
                gains["file"] = file
        if definition and _defines(features, row):
            gains["definition"] = definition
        result = RuledScore(row.number, score, gains)
        ruled.append((-result.score, artifact.path, row.sequence, row.number, result))
    ruled.sort()
    return [result for *_, result in ruled]


##= docs/spec/knowledge.md#ranking
##% Tests and examples SHOULD rank below what they cover, unless the query asks for them.
def is_test_or_example(row: RankableChunk) -> bool:
    """Whether a chunk belongs to a test or an example."""
    if row.artifact.artifact_type == "test":
        return True
    if row.artifact.artifact_type not in CODE_TYPES:
        return False
    return _is_test_path(row.artifact.path)


@lru_cache(maxsize=_CACHED_PATHS)
def _is_test_path(path: str) -> bool:
    lowered = PurePosixPath(path.lower())
    return not _TEST_DIRECTORIES.isdisjoint(lowered.parts[:-1]) or _TEST_FILE_NAME.search(lowered.name) is not None


def _symbol_names(query: str) -> Iterable[str]:
    """Possible symbol names: identifiers, capitalised words inside a sentence, and every word of a short query."""
    words = _NAME.findall(query)
    identifiers = set(query_identifiers(query))
    for at, word in enumerate(words):
        lowered = word.lower().replace("::", ".")
        is_identifier = lowered in identifiers or word.lower() in identifiers
        is_capitalised = at > 0 and word[0].isupper() and not word.isupper()
        if is_identifier or is_capitalised or len(words) <= 2 or f"`{word}" in query or f"{word}(" in query:
            yield lowered


##= docs/spec/knowledge.md#ranking
##% The definition of a symbol that the query names SHOULD come first.
def _defines(features: QueryFeatures, row: RankableChunk) -> bool:
    if not features.names:
        return False
    for symbol in row.symbols:
        qualified = symbol.qualified_name.lower()
        if symbol.name.lower() in features.names or qualified in features.names:
            return True
        if any("." in name and qualified.endswith(f".{name}") for name in features.names):
            return True
    return False


def _stem_overlap(features: QueryFeatures, path: str) -> float:
    common = features.terms.intersection(_stem_terms(path))
    return len(common) / len(features.terms) if features.terms else 0.0


@lru_cache(maxsize=_CACHED_PATHS)
def _stem_terms(path: str) -> tuple[str, ...]:
    return tuple(tokenise(PurePosixPath(path).stem))


def _file_sums(scored: Sequence[tuple[RankableChunk, float]]) -> dict[str, float]:
    """The sum of the best scores of each file. The pieces of one long function have the same title and count once."""
    best: dict[tuple[str, str], float] = {}
    for row, score in scored:
        key = row.artifact.path, row.title
        best[key] = max(best.get(key, score), score)
    by_path: dict[str, list[float]] = {}
    for (path, _), score in best.items():
        by_path.setdefault(path, []).append(score)
    return {path: sum(sorted(scores, reverse=True)[:BEST_OF_FILE]) for path, scores in by_path.items()}
