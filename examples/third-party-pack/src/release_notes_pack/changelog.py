"""Parse a changelog in the Keep a Changelog format into releases. Pure: text in, values out."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RELEASE = re.compile(r"^## \[?(?P<version>[^\]\s]+)\]?(?: - (?P<date>\d{4}-\d{2}-\d{2}))?", re.MULTILINE)
_GROUP = re.compile(r"^### (?P<name>.+)$", re.MULTILINE)
_CHANGE = re.compile(r"^[-*] (?P<text>.+(?:\n {2,}\S.*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Release:
    """One release: its version, its date, and its changes by kind."""

    version: str
    date: str | None
    changes: dict[str, list[str]]
    text: str


def parse_changelog(text: str) -> list[Release]:
    """The releases in the order of the file, which is newest first."""
    heads = list(_RELEASE.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [_release(head, text[head.end() : end]) for head, end in zip(heads, ends, strict=False)]


def _release(head: re.Match[str], body: str) -> Release:
    groups = list(_GROUP.finditer(body))
    ends = [group.start() for group in groups[1:]] + [len(body)]
    changes = {
        group["name"].strip(): [_one_line(change["text"]) for change in _CHANGE.finditer(body, group.end(), end)]
        for group, end in zip(groups, ends, strict=False)
    }
    return Release(head["version"], head["date"], changes, body.strip())


def _one_line(text: str) -> str:
    return " ".join(text.split())
