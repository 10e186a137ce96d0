"""Opaque cursors: a position in one named list, sealed against typing errors and mix-ups.

A cursor grants nothing that the list itself does not, so it is checked, not encrypted, and every process of a project
understands every other one's cursors.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from contextive.errors import ContextiveError, InvalidCursor

T = TypeVar("T")

_MAX_CURSOR_LENGTH = 256


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list, and the cursor of the next ones when there are any."""

    items: Sequence[T]
    next_cursor: str | None = None
    failures: Sequence[ContextiveError] = ()
    """Why some of what belongs here could not be listed."""


def encode_cursor(kind: str, position: str) -> str:
    """The cursor for `position` in the list named `kind`."""
    return base64.urlsafe_b64encode(f"{_checksum(kind, position)}.{position}".encode()).decode("ascii").rstrip("=")


##= docs/spec/host.md#lists-and-pagination
##% A cursor that the server did not issue for that list MUST be refused.
def decode_cursor(kind: str, cursor: str) -> str:
    """The position inside `cursor`. Raises `InvalidCursor` for anything this server did not give out for `kind`."""
    refusal = InvalidCursor("The cursor is not one that this server gave out for this list.", hint="Start without one.")
    if len(cursor) > _MAX_CURSOR_LENGTH:
        raise refusal
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, UnicodeError, ValueError):
        raise refusal from None
    seal, _, position = text.partition(".")
    if seal != _checksum(kind, position) or encode_cursor(kind, position) != cursor:
        raise refusal
    return position


def offset_of(kind: str, cursor: str | None) -> int:
    """The offset that a plain list's cursor stands for; 0 without one."""
    if cursor is None:
        return 0
    position = decode_cursor(kind, cursor)
    if not position.isascii() or not position.isdigit():
        raise InvalidCursor("The cursor belongs to another list.", hint="Start without one.")
    return int(position)


##= docs/spec/host.md#lists-and-pagination
##% A list longer than one page MUST include a cursor for the next page.
def page_of(kind: str, items: Sequence[T], cursor: str | None, size: int) -> Page[T]:
    """One page of a list that is already in memory."""
    start = offset_of(kind, cursor)
    end = start + size
    return Page(items[start:end], encode_cursor(kind, str(end)) if end < len(items) else None)


def _checksum(kind: str, position: str) -> str:
    return hashlib.blake2b(f"{kind}\0{position}".encode(), digest_size=4, person=b"contextive-page").hexdigest()
