"""The level of a requirement, from the modal words of its text, in the languages that people write specifications in."""

from __future__ import annotations

import re

from contextive.trace.level import Level

_CAPITALS = (
    (Level.MUST, re.compile(r"\b(?:MUST|SHALL|REQUIRED)\b")),
    (Level.SHOULD, re.compile(r"\b(?:SHOULD|RECOMMENDED)\b")),
    (Level.MAY, re.compile(r"\b(?:MAY|OPTIONAL)\b")),
)
_WORDS = (
    (
        Level.MUST,
        re.compile(
            r"\b(?:must|shall|muss|müssen|soll|sollen|darf nicht|doit|doivent|devra|devront|debe|deben|deberá|deberán|"
            r"deve|devem|devono|deverá|deverão|должен|должна|должно|должны|обязан|обязана|обязаны|необходимо|musi|"
            r"muszą|moet|moeten|skal|phải|повинен|повинна|повинно|повинні|harus|wajib)\b"
            r"|なければならない|なければなりません|ねばならない|てはならない|てはなりません|ものとする|ものとします"
            r"|必须|必須|应当|應當|不得|须|須|(?<![响對对适適反供效感相])[应應](?![用答对對该該])|해야|하여야|malıdır|melidir",
            re.IGNORECASE,
        ),
    ),
    (
        Level.SHOULD,
        re.compile(
            r"\b(?:should|sollte|sollten|devrait|devraient|debería|deberían|deveria|deveriam|dovrebbe|следует|zou)\b"
            r"|べきである|べきです|望ましい|推奨|应该|應該|建议|建議|推荐",
            re.IGNORECASE,
        ),
    ),
    (
        Level.MAY,
        re.compile(
            r"\b(?:may|kann|können|peut|peuvent|puede|pueden|pode|podem|può|possono|может|могут)\b"
            r"|てもよい|てもかまわない|可以|수 있다",
            re.IGNORECASE,
        ),
    ),
)


def level_of(text: str) -> Level | None:
    """The highest level that a modal word gives a text; words in capitals count before all others."""
    for words in (_CAPITALS, _WORDS):
        for level, pattern in words:
            if pattern.search(text):
                return level
    return None
