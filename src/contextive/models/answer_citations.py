"""Checks the citations in an answer: `[2]` cites a source by number. Citations of unknown sources are removed."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# `[1]`, `[1, 2]`, `[1-3]`, and 【1†source】, which some models write.
_CITATION = re.compile(
    r"(?<![ \t])[ \t]*+(?:\[\s*(\d{1,4}(?:\s*[,;\u2013-]\s*\d{1,4})*)\s*\]|\u3010\s*(\d{1,4})[^\u3011]{0,80}\u3011)"
)
_WIKILINK = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|([^\[\]\n]{1,200}))?\]\]")
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{0,200})\]\((?:[^()\s]|\([^()\s]*\)){1,1000}(?:\s+\"[^\"\n]*\")?\)")
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,200})\]\([^)\n]{0,1000}\)")
_FENCE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_MAX_PASSES = 8


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer with only valid citations, the cited numbers, and how many citations and links were removed."""

    text: str
    numbers: tuple[int, ...]
    removed: int


##= docs/spec/notes.md#ask
##% An answer MUST NOT cite sources that the model was not given.
def keep_known_citations(text: str, count: int, slugs: Collection[str]) -> CheckedAnswer:
    """The answer with only citations of the sources 1 to `count` and links to the pages `slugs`.

    Other links and images are replaced by their text: a prompt injection could put data into a URL. Code is not changed.
    """
    cleaned = _clean(text, count, slugs)
    removed = cleaned.removed
    # Removing a citation can join the brackets around it to a new link or citation.
    for _ in range(_MAX_PASSES):
        if cleaned.text == text:
            return CheckedAnswer(text, cleaned.numbers, removed)
        text = cleaned.text
        cleaned = _clean(text, count, slugs)
        removed += cleaned.removed
    return CheckedAnswer(re.sub(r"[\[\]]", "", cleaned.text), (), removed)


def _clean(text: str, count: int, slugs: Collection[str]) -> CheckedAnswer:
    """One pass over the answer."""
    cited: dict[int, None] = {}
    removed = 0

    def replace_numbers(match: re.Match[str]) -> str:
        nonlocal removed
        numbers = _numbers(match[1] or match[2])
        known = [number for number in dict.fromkeys(numbers) if 1 <= number <= count]
        removed += len(set(numbers)) - len(known)
        cited.update(dict.fromkeys(known))
        lead = match[0][: len(match[0]) - len(match[0].lstrip(" \t"))]
        return lead + "".join(f"[{number}]" for number in known) if known else ""

    def replace_page_link(match: re.Match[str]) -> str:
        nonlocal removed
        if _as_slug(match[1]) in slugs:
            return match[0]
        removed += 1
        return (match[2] or match[1]).strip()

    def replace_with_text(match: re.Match[str]) -> str:
        nonlocal removed
        removed += 1
        return f"[{match[1]}]" if match[1].isdigit() else match[1]

    parts = _FENCE.split(text)
    for index in range(0, len(parts), 2):
        part = _LINK.sub(replace_with_text, _IMAGE.sub(replace_with_text, parts[index]))
        pieces = _WIKILINK.split(part)
        # Every third piece is text; the two after it are the target and label of a link.
        prose = [_CITATION.sub(replace_numbers, piece) for piece in pieces[0::3]]
        links = [replace_page_link(match) for match in _WIKILINK.finditer(part)]
        parts[index] = "".join(p + link for p, link in zip(prose, [*links, ""], strict=True))
    return CheckedAnswer("".join(parts).strip(), tuple(sorted(cited)), removed)


def _numbers(text: str) -> list[int]:
    """`1, 3-5` as a list of numbers. Only ranges of less than 100 numbers are expanded."""
    found: list[int] = []
    for part in re.split(r"[,;]", text):
        ends = [int(end) for end in re.split(r"[\u2013-]", part)]
        low, high = ends[0], ends[-1]
        found += range(low, high + 1) if 0 <= high - low < 100 else ends
    return found


def _as_slug(target: str) -> str:
    return re.sub(r"\s+", "-", target.partition("#")[0].strip().lower())
