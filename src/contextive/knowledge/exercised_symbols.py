"""Find the symbols that a test exercises."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from contextive.knowledge.mentions import MIN_NAME_LENGTH
from contextive.knowledge.symbol import Reference, Symbol

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GENERIC_WORDS_TEXT = """
init index lib main mod py spec specs src test tests testing unit integration e2e
"""
_GENERIC_WORDS = frozenset(_GENERIC_WORDS_TEXT.split())
_SOURCE_ROOTS = frozenset({"src", "lib"})


def resolve_exercises(
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
        if not tokens.isdisjoint(_dotted_names(path, symbol)):
            found.add(symbol.id)
    return tuple(sorted(found))


def _suffixes(name: str) -> Iterable[str]:
    yield name
    dot = name.find(".")
    while dot != -1:
        yield name[dot + 1 :]
        dot = name.find(".", dot + 1)


def _dotted_names(path: str, symbol: Symbol) -> set[str]:
    module = posixpath.splitext(path)[0].split("/")
    if module[-1] in ("__init__", "index", "mod"):
        module.pop()
    names = {symbol.qualified_name} if "." in symbol.qualified_name else set()
    for start in range(len(module)):
        if start == len(module) - 1 and module[start] in _SOURCE_ROOTS:
            break
        above = ".".join(module[start:])
        names |= {f"{above}.{symbol.qualified_name}", f"{above}.{symbol.name}"}
    return names


def _path_words(path: str) -> frozenset[str]:
    """The words of a path in lower case, without generic ones."""
    words = {word.lower() for word in _WORD.findall(posixpath.splitext(path)[0])}
    return frozenset(words - _GENERIC_WORDS)
