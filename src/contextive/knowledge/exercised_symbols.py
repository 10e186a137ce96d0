"""Find the symbols that a test exercises."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from contextive.knowledge.calls import Call, calls_of_helper
from contextive.knowledge.classification import is_test_path
from contextive.knowledge.mentions import MIN_NAME_LENGTH
from contextive.knowledge.receivers import TypeResolver
from contextive.knowledge.symbol import Reference, Symbol

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GENERIC_WORDS_TEXT = """
init index lib main mod py spec specs src test tests testing unit integration e2e
"""
_GENERIC_WORDS = frozenset(_GENERIC_WORDS_TEXT.split())
_SOURCE_ROOTS = frozenset({"src", "lib"})
_RUST_TESTS = frozenset({"tests", "test"})


@dataclass(frozen=True, slots=True)
class Exercise:
    """A symbol that a test exercises."""

    target: str
    """The id of the symbol."""
    by_name: bool = False
    """Whether the test only mentions its name, or a call of it was found by name."""
    line: int = 0
    """The line of the first call in the test; 0 for a mention."""


def resolve_exercises(
    path: str, references: Sequence[Reference], calls: Iterable[Call], resolver: TypeResolver
) -> tuple[Exercise, ...]:
    """The symbols that the tests in a file exercise, sorted by id.

    A test exercises what it calls, what the helpers and fixtures that it calls from the tests call themselves, and what
    it mentions by name.
    """
    found: dict[str, Exercise] = {}
    helpers: dict[str, Exercise] = {}
    is_test_file = is_test_path(path)
    for call in calls:
        if is_test_file or (call.source is not None and is_test_symbol(call.source)):
            exercise = Exercise(call.target, call.by_name, call.line)
            _keep_best(helpers if is_test_symbol(call.target) else found, exercise)
    for reference in references:
        if reference.kind == "fixture" and (fixture := resolver.fixture(reference.name)) is not None:
            _keep_best(helpers, Exercise(fixture[1].id, line=reference.line))
    for helper in helpers.values():
        for call in calls_of_helper(helper.target, resolver):
            if not is_test_symbol(call.target):
                _keep_best(found, Exercise(call.target, helper.by_name or call.by_name, helper.line))
    if is_test_file:
        mentioned = [item for name in _mentioned_names(references) for item in resolver.named(name).declared]
        for target in resolve_mentions(path, references, mentioned):
            found.setdefault(target, Exercise(target, by_name=True))
    return tuple(found[target] for target in sorted(found))


def is_test_symbol(symbol_id: str) -> bool:
    """Whether a symbol belongs to the tests: to a test file, or to a module `tests` or `…_tests` inside a Rust file."""
    path, _, qualified = symbol_id.partition("::")
    if is_test_path(path):
        return True
    parts = qualified.split(".") if path.endswith(".rs") and "test" in qualified else []
    return not _RUST_TESTS.isdisjoint(parts) or any(part.endswith("_tests") for part in parts[:-1])


def _keep_best(found: dict[str, Exercise], exercise: Exercise) -> None:
    known = found.setdefault(exercise.target, exercise)
    if (exercise.by_name, exercise.line) < (known.by_name, known.line):
        found[exercise.target] = exercise


def _mentioned_names(references: Iterable[Reference]) -> list[str]:
    return sorted({reference.name.rpartition(".")[2] for reference in references if reference.kind == "mention"})


def resolve_mentions(
    test_path: str, mentions: Iterable[Reference], candidates: Iterable[tuple[str, Symbol]]
) -> tuple[str, ...]:
    """Sorted ids of the candidates (path and symbol) that the test mentions.

    A mention matches a symbol if it ends with the symbol's name or qualified name, with or without the dotted path of
    its module. A bare name counts only if the paths of test and source share a word.
    """
    tokens = {
        token
        for mention in mentions
        if mention.kind == "mention"
        for token in _suffixes(mention.name)
        if len(token) >= MIN_NAME_LENGTH
    }
    last_parts = {token.rpartition(".")[2] for token in tokens if "." in token}
    words = _path_words(test_path)
    shares: dict[str, bool] = {}
    found: set[str] = set()
    for path, symbol in candidates:
        if path == test_path:
            continue
        if symbol.name in tokens or (symbol.qualified_name in tokens and "." not in symbol.qualified_name):
            if path not in shares:
                shares[path] = not words.isdisjoint(_path_words(path))
            if shares[path]:
                found.add(symbol.id)
                continue
        if symbol.name in last_parts and not tokens.isdisjoint(_dotted_names(path, symbol)):
            found.add(symbol.id)
    return tuple(sorted(found))


def _suffixes(name: str) -> Iterable[str]:
    yield name
    dot = name.find(".")
    while dot != -1:
        yield name[dot + 1 :]
        dot = name.find(".", dot + 1)


def _dotted_names(path: str, symbol: Symbol) -> set[str]:
    names = {symbol.qualified_name} if "." in symbol.qualified_name else set()
    for module in _module_names(path):
        names.add(f"{module}.{symbol.qualified_name}")
        names.add(f"{module}.{symbol.name}")
    return names


@lru_cache(maxsize=8192)
def _module_names(path: str) -> tuple[str, ...]:
    """The dotted path of a module, and all its endings."""
    module = posixpath.splitext(path)[0].split("/")
    if module[-1] in ("__init__", "index", "mod"):
        module.pop()
    last = len(module) - (1 if module and module[-1] in _SOURCE_ROOTS else 0)
    return tuple(".".join(module[start:]) for start in range(last))


@lru_cache(maxsize=8192)
def _path_words(path: str) -> frozenset[str]:
    """The words of a path in lower case, without generic ones."""
    words = {word.lower() for word in _WORD.findall(posixpath.splitext(path)[0])}
    return frozenset(words - _GENERIC_WORDS)
