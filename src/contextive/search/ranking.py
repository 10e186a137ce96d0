"""The rules that order chunks beyond their match: what a name, a place or the rest of a file says about them.

The numbers were set by hand and stand beside scores between 0 and 1. Where whole files are judged, more for the name of a file
and for its best chunks finds more; where single functions are, nothing at all does. These lie between. In prose, sections of one
document are about different things, and their sum says nothing of one.
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
    """How much each rule counts; 0 turns one off."""

    trial: float = -0.3
    """The path is that of a test or an example, and the query asks for neither."""
    stem: float = 0.05
    """Times the share of the query's terms that the name of the file holds."""
    definition: float = 0.3
    """The chunk declares a symbol that the query names; less in a long query, which speaks of more than the name."""
    file: float = 0.2
    """Times what the best three chunks of a file with code come to, against the best file."""


CODE_TYPES: Final = frozenset({"code", "proto", "test"})
BEST_OF_FILE: Final = 3
FULL_NAME_TERMS: Final = 4
"""Terms of a query up to which a name in it counts in full."""
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
    """What the rules need to know of a query."""

    terms: frozenset[str]
    names: frozenset[str]
    """Names that the query may mean as those of symbols, in lower case."""
    asks_for_tests: bool


@dataclass(frozen=True, slots=True)
class RuledScore:
    """What the rules gave to one chunk, by the name of the rule."""

    number: int
    base: float
    gains: Mapping[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return self.base + sum(self.gains.values())


def query_features(query: str) -> QueryFeatures:
    """Look at a query as the rules see it."""
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
    """The rules applied to chunks with their scores, best first; equal ones by path and place."""
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
        one = RuledScore(row.number, score, gains)
        ruled.append((-one.score, artifact.path, row.sequence, row.number, one))
    ruled.sort()
    return [one for *_, one in ruled]


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
def _is_test_path(written: str) -> bool:
    path = PurePosixPath(written.lower())
    return not _TEST_DIRECTORIES.isdisjoint(path.parts[:-1]) or _TEST_FILE_NAME.search(path.name) is not None


def _symbol_names(query: str) -> Iterable[str]:
    """Names in a query: what is written like an identifier, any capital inside a sentence, or all of a short query."""
    words = _NAME.findall(query)
    written = set(query_identifiers(query))
    for at, word in enumerate(words):
        lowered = word.lower().replace("::", ".")
        is_name = lowered in written or word.lower() in written or (at > 0 and word[0].isupper() and not word.isupper())
        if is_name or len(words) <= 2 or f"`{word}" in query or f"{word}(" in query:
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
    held = features.terms.intersection(_stem_terms(path))
    return len(held) / len(features.terms) if features.terms else 0.0


@lru_cache(maxsize=_CACHED_PATHS)
def _stem_terms(path: str) -> tuple[str, ...]:
    return tuple(tokenise(PurePosixPath(path).stem))


def _file_sums(scored: Sequence[tuple[RankableChunk, float]]) -> dict[str, float]:
    by_path: dict[str, list[float]] = {}
    for row, score in scored:
        by_path.setdefault(row.artifact.path, []).append(score)
    return {path: sum(sorted(scores, reverse=True)[:BEST_OF_FILE]) for path, scores in by_path.items()}
