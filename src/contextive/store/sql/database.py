"""What the queries need from a database and its connections."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

Row = tuple[Any, ...]
ALL_ROWS = 1 << 62
"""A limit that no query reaches: the databases do not agree on a value that means none."""


class SqlCursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class SqlConnection(Protocol):
    """A connection inside a transaction. Parameters are `?`, or `?1` when one is used twice."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> SqlCursor: ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> SqlCursor: ...


class SidecarFolders(Protocol):
    """Where the search indexes of a store are kept."""

    @property
    def lexical(self) -> Path: ...

    @property
    def vectors(self) -> Path: ...

    @property
    def is_writable(self) -> bool: ...

    def make_sidecar_folder(self, directory: Path) -> None: ...


class SqlDatabase(Protocol):
    """A database that is read and written by threads, each with its own connection."""

    @property
    def directory(self) -> SidecarFolders: ...

    @property
    def identity(self) -> Hashable:
        """Changes when the database was replaced, and everything cached from it is invalid."""
        ...

    def reopen_if_replaced(self) -> None:
        """Notice that the database was replaced, and open the new one."""
        ...

    def read(self, sql: str, values: Sequence[Any] = ...) -> list[Row]:
        """All rows of a query."""
        ...

    def read_one(self, sql: str, values: Sequence[Any] = ...) -> Row | None: ...

    def snapshot(self) -> AbstractContextManager[SqlConnection]:
        """A connection that sees the same state of the database until the block ends."""
        ...

    def writing(self) -> AbstractContextManager[SqlConnection]:
        """A connection in a transaction, which is committed unless the block raises."""
        ...

    def lock_table(self, connection: Any, name: str) -> None:
        """Make other transactions that lock the table wait until the end of this one."""
        ...

    def handling_errors(self) -> AbstractContextManager[None]:
        """Raise database exceptions in the block as errors with a stable code."""
        ...


class _HasDatabase(Protocol):
    @property
    def _database(self) -> SqlDatabase: ...


S = TypeVar("S", bound=_HasDatabase)
P = ParamSpec("P")
R = TypeVar("R")


def handles_errors(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Run a method inside `handling_errors`, so that a row that cannot be decoded counts as damage too.

    Not for generators: their body runs after the call has returned.
    """

    @functools.wraps(method)
    def wrapper(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._database.handling_errors():
            return method(self, *args, **kwargs)

    return wrapper
