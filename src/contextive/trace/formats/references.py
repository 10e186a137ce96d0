"""References to requirements in tasks and properties: what is written after `_Requirements:` or `**Validates:`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from contextive.trace.formats.keys import KeyIndex
from contextive.trace.formats.values import KeyReference, ReferenceState, WrittenReference
from contextive.trace.text import trim

_ENGLISH = ("requirement", "requirements", "req", "reqs", "validates")
_OTHER_LANGUAGES = (
    "requisito requisitos requerimiento requerimientos exigence exigences anforderung anforderungen требование "
    "требования вимога вимоги wymaganie wymagania krav vereiste vereisten gereksinim persyaratan kebutuhan 要件 要求 "
    "需求 요구사항 요구"
)
REQUIREMENT_WORDS = frozenset((*_ENGLISH, *_OTHER_LANGUAGES.split(" ")))
"""How a requirement is called in headings and labels, in lower case."""

MAX_REFERENCES = 1000
"""On one line. A task names a handful; a hostile file names millions."""
MAX_RESOLVED = 1_000_000
"""Keys that all references of a specification together may mean."""

_LABEL = re.compile(r"[ \t]*(?:[-*+][ \t]+)?[_*]{1,3}([^\W\d_]{1,30}(?: [^\W\d_]{1,30})?)[_*]{0,3}[:：][_*]{0,3}")
_SEPARATOR = re.compile(r"[,;、，；]|\band\b", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"(?:requirements?|reqs?\.?|要件|要求|需求)\s{0,3}(?=\d)", re.IGNORECASE)
_KEY = r"(?:[A-Za-z]{1,10}-?)?\d{1,6}[A-Za-z]?(?:[.-]\d{1,6}[a-z]?){0,3}"
_ONE = re.compile(_KEY)
_RANGE = re.compile(rf"({_KEY})\s{{0,3}}(?:[-–—~〜～]|to)\s{{0,3}}({_KEY})")
_ALL = frozenset(("all", "all requirements", "all functional requirements", "すべて", "全て", "全部", "全要件", "все"))
_MARKUP = "_*`[]. \t\r\n"


def references_in(text: str, line: int) -> Iterator[WrittenReference]:
    """The references of a line such as `- _Requirements: 1.1, 8.1_`; none if the line has no such label."""
    found = _LABEL.match(text)
    if found is not None and found[1].lower().partition(" ")[0] in REQUIREMENT_WORDS:
        yield from split_references(text[found.end() :], line)


def split_references(text: str, line: int) -> Iterator[WrittenReference]:
    """The references of a list such as `Requirements 1.1, 1.3-1.5 and REQ-027`."""
    for piece in _SEPARATOR.split(text, MAX_REFERENCES)[:MAX_REFERENCES]:
        reference = piece.strip(_MARKUP)
        word = _WORD_BEFORE.match(reference)
        reference = reference[word.end() :] if word is not None else reference
        if reference:
            yield WrittenReference(reference, line)


class Resolver:
    """Finds the requirements that references mean."""

    def __init__(self, index: KeyIndex) -> None:
        self._index = index
        self._left = MAX_RESOLVED

    def resolve(self, references: Iterable[WrittenReference]) -> tuple[KeyReference, ...]:
        return tuple([self._resolve(reference) for reference in references])

    def _resolve(self, written: WrittenReference) -> KeyReference:
        text = trim(written.text.partition("(")[0].partition("（")[0]) or written.text
        keys = self._find(text)
        self._left -= len(keys)
        if keys and self._left > 0:
            return KeyReference(written.text, written.line, ReferenceState.RESOLVED, keys)
        is_key = (_ONE.fullmatch(text) or _RANGE.fullmatch(text)) is not None
        dangles = is_key and not keys and self._index.is_like_a_key(text)
        return KeyReference(written.text, written.line, ReferenceState.DANGLING if dangles else ReferenceState.OTHER)

    def _find(self, text: str) -> tuple[str, ...]:
        if text.lower() in _ALL:
            return self._index.ordered
        if keys := self._index.find(text):
            return keys
        between = _RANGE.fullmatch(text)
        return self._index.between(between[1], between[2]) if between is not None else ()
