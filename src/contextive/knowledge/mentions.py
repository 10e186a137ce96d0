"""Extract the names that a test uses, in any language."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from contextive.knowledge.symbol import Reference

MIN_NAME_LENGTH = 3
"""Shorter names say too little to match by."""
_CHAIN = re.compile(
    rb"(?<![\w$.])([A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*)(?=(\s*)([(.=,):;\[\]{}<>!?])?)"
)
_SEPARATOR = re.compile(r"::|->|\?\.")
_KEYWORDS_TEXT = """
and any assert async await bool break case catch char class const continue def default del elif else enum
except export extends extern False final finally float fn for from func function global goto implements import
int interface lambda let long match mod mut namespace new nil None nonlocal not null null_ptr package pass
private protected pub public raise return self short static str struct super switch template this throw throws
True true false try type typedef typeof undefined union unsafe use using var virtual void where while with
yield
"""
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())


def extract_mentions(data: bytes, non_code: Iterable[tuple[int, int]]) -> list[Reference]:
    """Each name that looks like code: dotted or followed by punctuation, outside of strings and comments.

    Every prefix of a chain is a mention too, so every name in it is the last one of some mention: `app.Shop.buy()`
    gives `app`, `app.Shop` and `app.Shop.buy`.
    """
    code = bytearray(data)
    for start, end in non_code:
        code[start:end] = b" " * (end - start)
    newlines: list[int] | None = None
    found: dict[str, int] = {}
    for match in _CHAIN.finditer(code):
        chain = match.group(1).decode("ascii", "replace")
        if match.group(3) is None and "." not in chain and ":" not in chain:
            continue
        chain = _SEPARATOR.sub(".", chain)
        if chain in found:
            continue
        if newlines is None:
            newlines = [newline.start() for newline in re.finditer(rb"\n", data)]
        line = bisect_left(newlines, match.start()) + 1
        dot = chain.find(".")
        while dot != -1:
            _add(found, chain[:dot], line)
            dot = chain.find(".", dot + 1)
        _add(found, chain, line)
    return [Reference("mention", name, line) for name, line in found.items()]


def _add(found: dict[str, int], name: str, line: int) -> None:
    if len(name) >= MIN_NAME_LENGTH and name not in _KEYWORDS and name not in found:
        found[name] = line
