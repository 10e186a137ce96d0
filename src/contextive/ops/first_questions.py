"""Finds something to search for and something to ask about in a project, for the first commands that `init` suggests."""

from __future__ import annotations

import re
from typing import Final

from contextive.knowledge.classification import is_test_path
from contextive.knowledge.extraction import extract_names
from contextive.knowledge.languages import language_of

_HEADING: Final = re.compile(r"^#{1,3}[ \t]{1,3}([A-Za-z][A-Za-z0-9 '-]{5,60})$", re.MULTILINE)
_MOST_PARSED: Final = 60_000
"""The most characters of a file that is parsed here. It takes a tenth of a second."""
_COMMON: Final = frozenset({"main", "setup", "test", "init", "new", "run"})
_BEST_WORDS: Final = range(3, 6)


class TopicFinder:
    """The heading that makes the best search among those of the documents that were added."""

    def __init__(self) -> None:
        self.best = ""
        self._score = (False, False, 0)

    def add(self, text: str, *, is_usual: bool) -> None:
        """`is_usual` is false for a document that most projects have, such as a changelog."""
        for heading in _HEADING.findall(text):
            words = heading.split()
            score = (is_usual, len(words) in _BEST_WORDS, len(text))
            if len(words) > 1 and score > self._score:
                self.best, self._score = " ".join(words), score


class SymbolFinder:
    """The longest class or function of the longest file of code that was added."""

    def __init__(self) -> None:
        self._path = self._text = ""

    def add(self, path: str, text: str) -> None:
        if len(self._text) < len(text) <= _MOST_PARSED and language_of(path) and not is_test_path(path):
            self._path, self._text = path, text

    def best(self) -> str:
        if not self._path:
            return ""
        symbols = extract_names(self._path, self._text, language_of(self._path), "code").symbols
        named = [s for s in symbols if s.kind in ("class", "function") and s.name.lower() not in _COMMON]
        public = [s for s in named if not s.name.startswith("_")] or named
        return max(public, key=lambda s: s.line_end - s.line_start).name if public else ""
