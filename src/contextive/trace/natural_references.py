"""References to requirements that people write in comments, such as `Validates: Requirements 1.1, 1.3` or `FR-012`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from contextive.trace.comments import CommentBlock, CommentLine, without_marks

_KEYWORDS = (
    r"[Rr]equirement|REQUIREMENT|[Rr]eq[ :]|[Vv]alidates|[Vv]erifies|[Ii]mplements|[Ss]atisfies|@req|要件|要求|需求"
)
_HANDLES = r"kiro:|speckit:|openspec:"


@cache
def candidate_pattern(prefixes: frozenset[str], *, numbers: bool, tasks: bool, names: bool) -> re.Pattern[str]:
    """What every line with a reference contains, so that other lines and most files need not be read.

    `prefixes` are the letters before the digits of the keys of the project, in lower case. Without `numbers`, no key is
    a bare number; without `tasks`, none is `T012`; without `names`, requirements have no names.
    """
    parts = [_HANDLES]
    if numbers:
        parts += [_KEYWORDS, r"Property \d", r"[a-z]/\d"]
    if names:
        parts.append(r"Requirement:|Scenario:")
    if tasks:
        parts.append(r"T\d{3}")
    parts += [rf"{re.escape(prefix.upper())}-?\d" for prefix in sorted(prefixes | {"req"})]
    return re.compile("|".join(parts))


class ReferenceKind(StrEnum):
    """What a reference names."""

    KEY = "key"
    NAME = "name"
    SCENARIO = "scenario"
    PROPERTY = "property"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class NaturalReference:
    """One reference as it is written. Whether such a requirement exists is not known yet."""

    path: str
    line: int
    text: str
    """The line, trimmed."""
    kind: ReferenceKind
    key: str
    last_key: str = ""
    """The end of a range such as `1.1-1.4`."""
    has_keyword: bool = False
    """Whether a word before it says that it is a requirement. Without one, an unknown key is not a mistake."""
    owner: str = ""
    """The specification that is written in front of it, as in `user-auth/3.2`."""
    features: tuple[str, ...] = ()
    """What is named as a feature in the same comment."""
    names: frozenset[str] = frozenset()
    """Words and paths of the same comment that may name a specification."""


_WORD = r"(?:requirements?|reqs?\.?|acceptance criteria|acceptance criterion|criteria|criterion|要件|要求|需求)"
_VERB = r"(?:validates|verifies|implements|satisfies|covers|fulfil?ls|traces to|per|see)"
_NUMBER = r"\d{1,4}[A-Z]?\.\d{1,4}[a-z]?"
_ID = r"[A-Z]{2,6}-\d{1,6}(?:[.-]\d{1,4}){0,2}[a-z]?"
_KEY = rf"(?:[a-z0-9][a-z0-9-]{{1,80}}/)?(?:{_ID}|{_NUMBER}|\d{{1,4}}[A-Z]?)(?![\w/]|\.\d|-[A-Za-z])"
_KEYWORD = re.compile(
    rf"(?<![\w/.-])@?(?:{_VERB}[ \t]{{0,3}}[:：]?[*_ \t]{{0,4}})?{_WORD}[*_]{{0,2}}[ \t]{{0,3}}[:：#]?[*_]{{0,2}}[ \t]{{0,3}}"
    rf"|(?<![\w/.-])(?:validates|implements|satisfies|verifies)[*_]{{0,2}}[ \t]{{0,3}}[:：][*_]{{0,2}}[ \t]{{0,3}}"
    rf"|@req(?:uirement)?s?[ \t:]{{1,4}}",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"[\[(`]?({_KEY})[\])`]?")
_RANGE = re.compile(rf"[ \t]{{0,2}}(?:[-–—~〜～]|to|through)[ \t]{{0,2}}({_ID}|{_NUMBER}|\d{{1,4}})(?![\w/]|\.\d)")
_BETWEEN = re.compile(
    r"[ \t]{0,3}(?:[,，、;/&+]|and|und|et|y|と|和)[ \t]{0,3}(?:requirements?[ \t])?|(?=、)", re.IGNORECASE
)
_BULLET = re.compile(rf"[ \t]*[-*+•][ \t]+({_KEY})(?=[ \t]*(?:[:：,]|[-–—][ \t]|\Z))")
_BARE = re.compile(rf"(?<![\w/.-])(?:([a-z0-9][a-z0-9-]{{1,80}})/)?(@)?({_ID})(?![\w]|-[\dA-Za-z]|\.\d)")
_QUALIFIED = re.compile(rf"(?<![\w/.@-])([a-z0-9]+(?:-[a-z0-9]+){{1,12}})/(R?{_NUMBER})(?![\w/]|\.\d)")
_STORY = re.compile(r"(?<![\w/.-])US\d{1,3}(?:\.\d{1,3})?(?![\w-])")
_TASK = re.compile(r"(?<![\w/.-])T\d{3,4}[a-z]?(?![\w-]|\.\d)")
_PROPERTY = re.compile(r"\bProperty[ \t]{1,3}(\d{1,4})\b")
_FEATURE = re.compile(
    r"\b(?:feature|spec(?:ification)?)[*_]{0,2}[ \t]{0,3}[:：][*_]{0,2}[ \t]{0,3}([^\s,;*`'\"][^,;*`'\"\n]{0,120})",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\b(Requirement|Scenario)[*_]{0,2}[ \t]{0,2}[:：][*_]{0,2}[ \t]{0,3}[\"'`“]?([^\s\"'`“][^\n\"`”]{1,199})"
)
_HANDLE = re.compile(r"\b((?:kiro|speckit|openspec):[^\s/,;)'\"`]{1,120})/([^\n,;)\"`]{1,200})")
_TOKEN = re.compile(r"[\w][\w./-]{2,199}")
_MAX_KEYS = 200
"""On one line."""


def find_references(
    path: str, blocks: Iterable[CommentBlock], candidate: re.Pattern[str]
) -> Iterator[NaturalReference]:
    """The references in the comments of a file, in the order of their lines."""
    for block in blocks:
        if not any(candidate.search(line.text) for line in block.lines):
            continue
        context = _Context.of(path, block)
        listing = False
        for line in without_marks(block.lines):
            if not listing and candidate.search(line.text) is None:
                continue
            found = list(_references(line, context, continues=listing))
            yield from found
            listing = _is_list_heading(line.text) or (listing and bool(found))


@dataclass(frozen=True, slots=True)
class _Context:
    """What the lines of one block share."""

    path: str
    is_title: bool
    features: tuple[str, ...]
    names: frozenset[str]

    @staticmethod
    def of(path: str, block: CommentBlock) -> _Context:
        text = "\n".join(line.text for line in block.lines)
        features = tuple(dict.fromkeys(found[1].strip() for found in _FEATURE.finditer(text)))
        # Only a word with one of these characters can be the path or the key of a specification.
        names = frozenset([token for token in _TOKEN.findall(text) if "-" in token or "/" in token])
        return _Context(path, block.is_title, features, names)

    def reference(
        self,
        line: CommentLine,
        kind: ReferenceKind,
        key: str,
        *,
        last: str = "",
        keyword: bool = False,
        owner: str = "",
    ) -> NaturalReference:
        text = line.text.strip()[:300]
        return NaturalReference(
            self.path, line.number, text, kind, key, last, keyword, owner, self.features, self.names
        )


def _is_list_heading(text: str) -> bool:
    """Whether a line such as `Requirements:` announces a list of keys."""
    found = _KEYWORD.search(text)
    return found is not None and not text[found.end() :].strip("*_ \t") and ":" in found[0]


def _references(line: CommentLine, context: _Context, *, continues: bool) -> Iterator[NaturalReference]:
    text = line.text
    seen: list[tuple[int, int]] = []
    for found in _HANDLE.finditer(text):
        seen.append(found.span())
        yield context.reference(line, ReferenceKind.KEY, found[2].strip(), keyword=True, owner=found[1])
    yield from _listed(line, context, seen, continues=continues)
    for pattern in (_BARE, _QUALIFIED):
        for found in pattern.finditer(text):
            if _overlaps(found.span(), seen):
                continue
            seen.append(found.span())
            owner, key = found[1] or "", found[found.lastindex or 0]
            if context.is_title and not owner:
                continue
            yield context.reference(line, ReferenceKind.KEY, key, keyword=key.startswith(("FR-", "NFR-")), owner=owner)
    if not context.is_title:
        for found in _STORY.finditer(text):
            yield context.reference(line, ReferenceKind.KEY, found[0])
        for found in _TASK.finditer(text):
            yield context.reference(line, ReferenceKind.TASK, found[0])
    if context.features:
        for found in _PROPERTY.finditer(text):
            yield context.reference(line, ReferenceKind.PROPERTY, found[1])
    for found in _NAME.finditer(text):
        if not _overlaps(found.span(), seen):
            kind = ReferenceKind.NAME if found[1] == "Requirement" else ReferenceKind.SCENARIO
            yield context.reference(line, kind, found[2].strip(" \t.*_'”)"), keyword=kind is ReferenceKind.NAME)


def _listed(
    line: CommentLine, context: _Context, seen: list[tuple[int, int]], *, continues: bool
) -> Iterator[NaturalReference]:
    """The keys after a keyword, as in `Requirements 1.1, 1.3-1.5`, or after the bullet of a list of keys."""
    text, end = line.text, 0
    starts = [found.end() for found in _KEYWORD.finditer(text)]
    bullet = _BULLET.match(text) if continues else None
    if bullet is not None:
        starts.insert(0, bullet.start(1))
    count = 0
    for start in starts:
        if start < end:
            continue
        end = start
        while count < _MAX_KEYS and (found := _LISTED.match(text, end)) is not None:
            owner, _, key = found[1].rpartition("/")
            between = _RANGE.match(text, found.end())
            last = between[1] if between is not None else ""
            seen.append((found.start(), between.end() if between is not None else found.end()))
            yield context.reference(line, ReferenceKind.KEY, key, last=last, keyword=True, owner=owner)
            end = between.end() if between is not None else found.end()
            count += 1
            separator = _BETWEEN.match(text, end)
            if separator is None:
                break
            end = separator.end()


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)
