"""What SQLite reports, as errors of ours."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from contextive.errors import InternalError, Unavailable

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_REFUSED = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})
_UNREACHABLE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_AUTH}
)


class Damaged(Unavailable):
    """The database file is damaged. It is set aside and made anew at the next use."""


def _primary_code(error: sqlite3.Error) -> int:
    # The low byte is the kind of fault; the rest only tells where it came from.
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    return _primary_code(error) in _BUSY


def is_damage(error: sqlite3.Error) -> bool:
    return _primary_code(error) in _DAMAGE


def is_refusal(error: sqlite3.Error) -> bool:
    """Whether it was the system that refused: a full or broken disk, or too few descriptors, whatever the file holds."""
    return _primary_code(error) in _REFUSED


##= docs/spec/knowledge.md#the-store
##% A full disk MUST be told in words, and loses nothing that was kept.
@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Let faults of SQLite leave as errors with a stable code."""
    try:
        yield
    except sqlite3.Error as error:
        code = _primary_code(error)
        if code in _DAMAGE:
            raise Damaged(
                "The index is damaged.", hint="It is built anew at the next call; votes and history are kept."
            ) from error
        if code in _BUSY:
            raise Unavailable(
                "The index is busy.", hint="Another process is writing; try again in a moment."
            ) from error
        if code == sqlite3.SQLITE_FULL:
            raise Unavailable("The disk of the index is full.", hint="Make room and try again.") from error
        if code in _UNREACHABLE:
            raise Unavailable(
                "The index cannot be read or written.", hint="Check the state directory, its permissions and its disk."
            ) from error
        raise InternalError("The index did not understand a statement.") from error


def fold(text: str | None) -> str | None:
    """Text as comparisons without regard to case see it."""
    return None if text is None else text.casefold()
