"""Classifies exceptions from the database, and maps them to the errors that callers get."""

from __future__ import annotations

import contextlib
import errno
import json
import sqlite3
import zlib
from collections.abc import Iterator
from enum import Enum

from contextive.errors import ContextiveError, InternalError, Unavailable


class Fault(Enum):
    """The meaning of an exception that was raised while the database was opened, read or written."""

    BUSY = "busy"
    FULL = "full"
    UNREACHABLE = "unreachable"
    INTERRUPTED = "interrupted"
    MEMORY = "memory"
    DAMAGE = "damage"
    SUSPECT = "suspect"
    """Either damage or a bug in our code. The file is checked before anything is renamed."""


_FAULTS: dict[int, Fault] = {
    sqlite3.SQLITE_BUSY: Fault.BUSY,
    sqlite3.SQLITE_LOCKED: Fault.BUSY,
    sqlite3.SQLITE_PROTOCOL: Fault.BUSY,
    sqlite3.SQLITE_FULL: Fault.FULL,
    sqlite3.SQLITE_READONLY: Fault.UNREACHABLE,
    sqlite3.SQLITE_CANTOPEN: Fault.UNREACHABLE,
    sqlite3.SQLITE_PERM: Fault.UNREACHABLE,
    sqlite3.SQLITE_AUTH: Fault.UNREACHABLE,
    # A failed read says nothing about the content of the file. A truncated file does not raise this: SQLite reads
    # zeros after its end, and reports them as damage.
    sqlite3.SQLITE_IOERR: Fault.UNREACHABLE,
    sqlite3.SQLITE_INTERRUPT: Fault.INTERRUPTED,
    sqlite3.SQLITE_NOMEM: Fault.MEMORY,
    sqlite3.SQLITE_CORRUPT: Fault.DAMAGE,
    sqlite3.SQLITE_NOTADB: Fault.DAMAGE,
}
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
BROKEN_VALUES = (UnicodeDecodeError, json.JSONDecodeError, zlib.error)
"""Reading a text, JSON or compressed value that we wrote never raises these."""
_VALUE_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, AssertionError)
"""Raised by code that reads a row with values of an unexpected form."""
EXCEPTIONS = (sqlite3.Error, OSError, MemoryError, zlib.error, *_VALUE_ERRORS)
"""Everything that opening or reading a database can raise, for any content of the file."""


class Damaged(Unavailable):
    """The database file is damaged. It is renamed and rebuilt on the next use."""

    def __init__(self, message: str = "The index is damaged.", *, hint: str | None = None) -> None:
        super().__init__(
            message,
            hint=hint or "It is rebuilt on the next call; votes, runs and the audit log are kept if they can be read.",
        )


def fault_of(error: BaseException) -> Fault | None:
    """What an exception means for the database; None if it has nothing to do with it."""
    if isinstance(error, sqlite3.Error):
        # The low byte is the kind of fault; the rest only says where it came from.
        return _FAULTS.get(int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF, Fault.SUSPECT)
    if isinstance(error, MemoryError):
        return Fault.MEMORY
    if isinstance(error, OSError):
        return Fault.FULL if error.errno in _NO_ROOM else Fault.UNREACHABLE
    if isinstance(error, ContextiveError):
        return Fault.DAMAGE if isinstance(error, Damaged) else None
    # SQLite quotes the statements of a damaged schema in its messages, which are then not UTF-8.
    if isinstance(error, BROKEN_VALUES):
        return Fault.DAMAGE
    return Fault.SUSPECT if isinstance(error, _VALUE_ERRORS) else None


def is_busy(error: BaseException) -> bool:
    return fault_of(error) is Fault.BUSY


##= docs/spec/knowledge.md#store
##% A full disk MUST be reported with a clear message, and no stored data is lost.
def error_for(fault: Fault) -> ContextiveError:
    """The error with a stable code that callers get for a fault."""
    match fault:
        case Fault.DAMAGE:
            return Damaged()
        case Fault.BUSY:
            return Unavailable("The index is busy.", hint="Another process is writing; try again in a moment.")
        case Fault.FULL:
            return Unavailable("The disk of the index is full.", hint="Free some space and try again.")
        case Fault.UNREACHABLE:
            return Unavailable(
                "The index cannot be read or written.", hint="Check the state directory, its permissions and its disk."
            )
        case Fault.INTERRUPTED:
            return Unavailable("The database operation was interrupted.", hint="Try again.")
        case Fault.MEMORY:
            return Unavailable("There is not enough memory to read the index.", hint="Free memory, then try again.")
        case Fault.SUSPECT:
            return InternalError("The database rejected a statement.")


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Raise database exceptions as errors with a stable code; for files that are not repaired automatically."""
    try:
        yield
    except (sqlite3.Error, MemoryError, *BROKEN_VALUES) as error:
        fault = fault_of(error)
        assert fault is not None
        raise error_for(fault) from error
