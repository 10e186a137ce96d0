"""The programming language of a file, and its parser."""

from __future__ import annotations

import posixpath
import threading
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from contextive.knowledge.grammars import GRAMMARS
from contextive.knowledge.grammars.grammar import Role

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Query, QueryCursor

LANGUAGES: tuple[str, ...] = tuple(GRAMMARS)
_SUFFIXES = {
    "py": "python",
    "pyi": "python",
    "ts": "typescript",
    "cts": "typescript",
    "mts": "typescript",
    "tsx": "tsx",
    "js": "javascript",
    "jsx": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "go": "go",
    "rs": "rust",
    "java": "java",
    "c": "c",
    "h": "c",
    "cc": "cpp",
    "cpp": "cpp",
    "cxx": "cpp",
    "hpp": "cpp",
    "hh": "cpp",
}
_FAMILIES = {
    "typescript": "ecmascript",
    "tsx": "ecmascript",
    "javascript": "ecmascript",
    "c": "c family",
    "cpp": "c family",
}


##= docs/spec/knowledge.md#chunks-and-symbols
##% Symbols MUST be extracted from Python, TypeScript, TSX, JavaScript, Go, Rust, Java, C and C++ code.
@lru_cache(maxsize=16_384)
def language_of(path: str) -> str | None:
    """The language of a path by its suffix, or None if it is not parsed as code."""
    return _SUFFIXES.get(suffix_of(path))


def family_of(language: str) -> str:
    """The family of a language. Names can refer to declarations in other languages of the same family."""
    return _FAMILIES.get(language, language)


def suffix_of(path: str) -> str:
    """The last suffix in lower case, without its dot."""
    return posixpath.splitext(path)[1][1:].lower()


@dataclass(frozen=True, slots=True)
class LanguageParser:
    """The parser and queries of one language for one thread."""

    parser: Parser
    names: QueryCursor
    roles: tuple[tuple[Role, str], ...]
    """The role of each pattern of `names`, by its index, and the capture that has the position of its matches."""
    non_code: QueryCursor


class _ThreadParsers(threading.local):
    def __init__(self) -> None:
        self.by_language: dict[str, LanguageParser] = {}


_thread_parsers = _ThreadParsers()


def language_parser(language: str) -> LanguageParser:
    """The parser and queries of a language for this thread. The grammar is loaded on the first call."""
    found = _thread_parsers.by_language.get(language)
    if found is None:
        from tree_sitter import Parser, QueryCursor

        grammar = GRAMMARS[language]
        names, non_code = _queries(language)
        found = LanguageParser(
            parser=Parser(_grammar(language)),
            names=QueryCursor(names),
            roles=tuple((role, _position_of(pattern)) for role, pattern in grammar.patterns),
            non_code=QueryCursor(non_code),
        )
        _thread_parsers.by_language[language] = found
    return found


def _position_of(pattern: str) -> str:
    """The capture with the position of a match: its scope or its declaration if it has one, else its name or value."""
    return next(name for name in "sdntv" if f"@{name}" in pattern)


@cache
def _grammar(language: str) -> Language:
    from tree_sitter import Language

    grammar = GRAMMARS[language]
    return Language(getattr(import_module(grammar.package), grammar.loader)())


@cache
def _queries(language: str) -> tuple[Query, Query]:
    from tree_sitter import Query

    grammar = GRAMMARS[language]
    loaded = _grammar(language)
    return Query(loaded, "\n".join(pattern for _, pattern in grammar.patterns)), Query(loaded, grammar.non_code)
