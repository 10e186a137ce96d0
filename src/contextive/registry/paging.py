"""Opaque cursors: a position in a named list, with a checksum.

A cursor gives no access beyond the list itself, so it is not encrypted, and all processes of a project accept the same cursors.
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
    """Some items of a list, and the cursor of the next page if there is one."""

    items: Sequence[T]
    next_cursor: str | None = None
    failures: Sequence[ContextiveError] = ()
    """Why some items could not be listed."""


def encode_cursor(kind: str, position: str) -> str:
    """The cursor for `position` in the list named `kind`."""
    return base64.urlsafe_b64encode(f"{_checksum(kind, position)}.{position}".encode()).decode("ascii").rstrip("=")


##= docs/spec/host.md#lists-and-pagination
##% A cursor that the server did not issue for that list MUST be refused.
def decode_cursor(kind: str, cursor: str) -> str:
    """The position in `cursor`. Raises `InvalidCursor` if it is not a cursor of the list `kind`."""
    error = InvalidCursor("The cursor is not valid for this list.", hint="Start without a cursor.")
    if len(cursor) > _MAX_CURSOR_LENGTH:
        raise error
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, UnicodeError, ValueError):
        raise error from None
    checksum, _, position = text.partition(".")
    if checksum != _checksum(kind, position) or encode_cursor(kind, position) != cursor:
        raise error
    return position


def offset_of(kind: str, cursor: str | None) -> int:
    """The offset in the cursor of a plain list; 0 without a cursor."""
    if cursor is None:
        return 0
    position = decode_cursor(kind, cursor)
    if not position.isascii() or not position.isdigit():
        raise InvalidCursor("The cursor belongs to another list.", hint="Start without a cursor.")
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
