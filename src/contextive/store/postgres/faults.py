"""Classifies exceptions of the database, and maps them to the errors that callers get."""

from __future__ import annotations

from psycopg import Error
from psycopg_pool import PoolTimeout

from contextive.errors import ContextiveError, InternalError, Unavailable, UpstreamError

_LOST = "The connection to the database of the index was lost."
_TRY_AGAIN = "Try again in a moment; doctor tells whether the database can be reached."
_REASONS = {
    "08": _LOST,
    "57P01": "The database of the index is shutting down.",
    "57P02": "The database of the index restarted after a crash.",
    "57P03": "The database of the index is starting.",
    "57P05": _LOST,
    "53300": "The database of the index has no connection left.",
    "53": "The database server of the index has no disk space or memory left.",
    "57014": "A statement took longer than the database of the index allows.",
    "25006": "The database of the index accepts no writes at the moment: it may be a replica.",
    "25P02": "A transaction on the database of the index failed.",
    "25P03": "A transaction on the database of the index was idle for too long.",
    "40": "Another transaction on the database of the index got in the way.",
    "28": "The database of the index refused the user or the password.",
    "3D000": "There is no database with the name in store.dsn.",
}
_HINTS = {
    "28": "Check the user in store.dsn, and its password or store.passwordFile.",
    "3D000": "Create it, or correct store.dsn.",
    "53300": "Raise max_connections of the server, or lower store.connections.",
    "53": "Free some space on the database server.",
}
MIGRATE_HINT = "Start one server with store.migrate on, as the role that owns the schema."
_PASSING = ("08", "57P", "53300", "25006", "40")
"""Errors that may be gone with the next attempt, on another connection."""


def sqlstate_of(error: BaseException) -> str:
    """The code of an error; that of a lost connection when the server could not send one."""
    return getattr(error, "sqlstate", None) or ("08006" if _is_connection_error(error) else "")


def _is_connection_error(error: BaseException) -> bool:
    from psycopg import InterfaceError, OperationalError

    return isinstance(error, OperationalError | InterfaceError | PoolTimeout)


def is_passing(error: BaseException) -> bool:
    """Whether the same statement may succeed on another connection a moment later."""
    return sqlstate_of(error).startswith(_PASSING)


##= docs/spec/knowledge.md#shared-store
##% An error of a shared store MUST NOT show its address or a secret.
def error_for(error: Error) -> ContextiveError:
    """The error with a stable code that callers get. It contains nothing of the server's message."""
    state = sqlstate_of(error)
    match state:
        case "42P01" | "3F000":
            return Unavailable("The database has no tables for this project.", hint=MIGRATE_HINT)
        case "42501":
            return Unavailable("The role in store.dsn may not do this.", hint=MIGRATE_HINT)
        case "55P03":
            return Unavailable("The index is busy.", hint="Another process is writing; try again in a moment.")
    for length in (5, 3, 2):
        if reason := _REASONS.get(state[:length]):
            return UpstreamError(reason, hint=_HINTS.get(state[:length], _TRY_AGAIN))
    return InternalError("The database rejected a statement.")
