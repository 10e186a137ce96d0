"""Connections to the database: one for each reading thread and one for writing. Waits and retries while it is
locked."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from contextive.errors import ContextiveError, Unavailable
from contextive.store.sql.database import Row
from contextive.store.sqlite import faults, schema
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.sqlite.inspection import connect, inspect, inspect_opened
from contextive.store.sqlite.preparation import Unusable, is_damaged, make_ready, refuse_unusable

WAIT_SECONDS = 30.0
"""How long a call waits for other processes before it fails as unavailable."""
_MAPPED_BYTES = 32 * 1024 * 1024
"""How much of the file is mapped, and so shared between processes. More is hardly faster and counts as resident
memory."""
_READER_CACHE_KIB = 4_096
_WRITER_CACHE_KIB = 32_768
_INTACT_SECONDS = 60.0
"""How long a file is considered intact after a full check."""
_READING_PRAGMAS = frozenset(
    {"data_version", "foreign_key_check", "page_count", "page_size", "quick_check", "user_version", "journal_mode"}
)
_log = logging.getLogger("contextive.store")


class Database:
    """The database file of a state directory. Connections are reopened when the file was replaced."""

    def __init__(self, directory: StateDirectory) -> None:
        self.directory = directory
        self._path = os.fspath(directory.database)
        self.network = directory.network_file_system()
        self._writing = threading.Lock()
        self._writing_thread: int | None = None
        self._guard = threading.Lock()
        self._threads = threading.local()
        self._readers: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._writer: sqlite3.Connection | None = None
        self._writer_identity: tuple[int, int] | None = None
        self._identity: tuple[int, int] | None = None
        self._damaged = False
        self._closed = False
        self._immutable = False
        self._found_intact_at = float("-inf")
        with faults.translate_errors():
            self._make_ready()

    # Opening

    def _make_ready(self) -> None:
        """Create, migrate or rebuild the file if needed; only its schema and first rows are checked."""
        if not self.directory.is_writable:
            self._check_readable()
            self._identity = self._identity_on_disk()
            return
        try:
            make_ready(self.directory, WAIT_SECONDS)
        except OSError as error:
            if faults.fault_of(error) is faults.Fault.FULL:
                raise faults.error_for(faults.Fault.FULL) from error
            raise Unavailable(
                "The state directory cannot be written.", hint="Check its permissions and its disk."
            ) from error
        self._damaged = False
        self._identity = self._identity_on_disk()
        if self._identity is None:
            raise Unavailable("The index was removed immediately after it was created.", hint="Try again.")

    def _check_readable(self) -> None:
        try:
            found = inspect(self.directory.database)
            if found.kind == "ready":
                with contextlib.closing(self._connect("ro")) as connection:
                    inspect_opened(connection)
        except sqlite3.OperationalError:
            # Without permission to create the shared-memory file of the log, only a file that nobody writes can be
            # read.
            self._immutable = True
            with contextlib.closing(self._connect("ro")) as connection:
                found = inspect_opened(connection)
        if found.kind == "absent":
            raise Unavailable(found.message, hint="Run an ingest with write access to the state directory.")
        if found.kind == "damaged":
            raise faults.Damaged(hint=found.hint)
        refuse_unusable(found)

    def _connect(self, mode: str) -> sqlite3.Connection:
        synchronous = "EXTRA" if self.network else "NORMAL"
        return connect(self.directory.database, mode, immutable=self._immutable, synchronous=synchronous)

    def _identity_on_disk(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._path)  # noqa: PTH116 - called before every query
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @property
    def identity(self) -> tuple[int, int] | None:
        """The identity of the file. When it changes, the file was replaced, and everything cached from it is
        invalid."""
        return self._identity

    def reopen_if_replaced(self) -> None:
        """Reopen the database if another process renamed, restored or removed the file."""
        if self._closed:
            raise Unavailable("The index is closed.")
        if self._damaged or self._identity_on_disk() != self._identity:
            with self._guard:
                if self._damaged or self._identity_on_disk() != self._identity:
                    self._readers.clear()
                    self._threads = threading.local()
                    self._make_ready()

    # Reading

    def reader(self) -> sqlite3.Connection:
        """This thread's connection for reading."""
        self.reopen_if_replaced()
        connection: sqlite3.Connection | None = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._connect("rw" if self.directory.is_writable else "ro")
            connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
            connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
            connection.execute("PRAGMA query_only = ON")
            # The first use of json_each declares a table, which the authorizer would refuse.
            connection.execute("SELECT 1 FROM json_each('[]')").fetchall()
            connection.set_authorizer(_authorize_reading)
            with self._guard:
                self._threads.connection = connection
                self._close_readers_of_ended_threads()
                self._readers.append((threading.current_thread(), connection))
        return connection

    def _close_readers_of_ended_threads(self) -> None:
        for thread, connection in self._readers:
            if not thread.is_alive():
                connection.close()
        self._readers = [(thread, connection) for thread, connection in self._readers if thread.is_alive()]

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        try:
            return self.reader().execute(sql, values).fetchall()
        except faults.EXCEPTIONS as error:
            if faults.is_busy(error):
                return self._retry_read(sql, values)
            translated = self.handle_error(error)
            if translated is error:
                raise
            raise translated from error

    def _retry_read(self, sql: str, values: Sequence[Any]) -> list[Row]:
        with self.handling_errors():
            deadline = time.monotonic() + WAIT_SECONDS
            while True:
                time.sleep(0.01)
                try:
                    return self.reader().execute(sql, values).fetchall()
                except sqlite3.OperationalError as error:
                    if not faults.is_busy(error) or time.monotonic() > deadline:
                        raise

    def read_one(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        rows = self.read(sql, values)
        return rows[0] if rows else None

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the same state of the database until the block ends."""
        with self.handling_errors():
            connection = self.reader()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    # Writing

    ##= docs/spec/knowledge.md#store
    ##% Committed transactions MUST survive a crash, and a transaction that a crash interrupts is rolled back.
    ##= docs/spec/knowledge.md#store
    ##% A process that dies during a write MUST leave only faults that `verify` reports and the next run fixes.
    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The write connection in a transaction, which is committed unless the block raises."""
        if not self.directory.is_writable:
            raise Unavailable(
                "The index is open for reading only.", hint="Check the permissions of the state directory."
            )
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("transactions of a store do not nest")
        if not self._writing.acquire(timeout=WAIT_SECONDS):
            raise Unavailable("The index is busy.", hint="Another call is writing; try again in a moment.")
        try:
            with self.handling_errors():
                self.reopen_if_replaced()
                self._writing_thread = threading.get_ident()
                connection = self._writer_connection()
                self._begin(connection)
                try:
                    schema.check_not_newer(schema.schema_version(connection))  # another version may have migrated it
                    yield connection
                    self._commit(connection)
                except BaseException:
                    _roll_back(connection)
                    raise
                if self._identity_on_disk() != self._identity:
                    raise Unavailable("The index was removed while it was being written.", hint="Try again.")
        finally:
            self._writing_thread = None
            self._writing.release()

    def lock_table(self, connection: sqlite3.Connection, name: str) -> None:
        """Nothing to do: a transaction that writes locks the whole database."""

    def _writer_connection(self) -> sqlite3.Connection:
        if self._writer_identity != self._identity:
            self._drop_writer()
        if self._writer is None:
            connection = self._connect("rw")
            connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
            connection.set_authorizer(_authorize_writing)
            self._writer, self._writer_identity = connection, self._identity
        return self._writer

    def _begin(self, connection: sqlite3.Connection) -> None:
        self._retry_while_busy(connection, "BEGIN IMMEDIATE")

    ##= docs/spec/knowledge.md#store
    ##% An acknowledged write MUST NOT be lost when a server dies.
    def _commit(self, connection: sqlite3.Connection) -> None:
        # With a rollback journal a commit waits for readers; in WAL it never does.
        self._retry_while_busy(connection, "COMMIT")

    ##= docs/spec/knowledge.md#store
    ##% Readers and writers in many processes MUST NOT get lock errors.
    def _retry_while_busy(self, connection: sqlite3.Connection, statement: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        pause = 0.002
        while True:
            try:
                connection.execute(statement)
            except sqlite3.OperationalError as error:
                if not faults.is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(pause)
                pause = min(pause * 2, 0.1)
            else:
                return

    ##= docs/spec/knowledge.md#store
    ##% Acknowledged writes MUST survive a power cut.
    def sync(self) -> None:
        """Make all commits durable against a power cut. Not needed for derived rows, which a run can rebuild."""
        try:
            log = os.open(f"{self._path}-wal", os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        except FileNotFoundError:
            return  # a rollback journal, which is synced at each commit
        except OSError as error:
            raise _sync_error() from error
        try:
            os.fsync(log)
        except OSError as error:
            raise _sync_error() from error
        finally:
            os.close(log)

    # Errors

    ##= docs/spec/knowledge.md#store
    ##% Any database exception MUST count as damage, unless the operating system refused the operation or a check
    ##% finds the file intact.
    def handle_error(self, error: Exception) -> Exception:
        """The error that callers get for a database exception. Damage is marked, so that the next use repairs it."""
        fault = faults.fault_of(error)
        if fault in (faults.Fault.SUSPECT, faults.Fault.DAMAGE):
            if self._closed:
                return Unavailable("The index is closed.")
            unusable = self._find_unusable()
            if unusable is not None:
                return unusable
        if fault is faults.Fault.SUSPECT:
            if not self._is_file_damaged():
                return faults.error_for(fault) if isinstance(error, sqlite3.Error) else error
            fault = faults.Fault.DAMAGE
        if fault is faults.Fault.DAMAGE:
            self.mark_damaged()
            return error if isinstance(error, faults.Damaged) else faults.Damaged()
        # System errors for other files are translated where those files are written.
        return error if fault is None or isinstance(error, OSError) else faults.error_for(fault)

    @contextlib.contextmanager
    def handling_errors(self) -> Iterator[None]:
        """Raise database exceptions in the block as the errors that `handle_error` returns."""
        try:
            yield
        except (*faults.EXCEPTIONS, faults.Damaged) as error:
            translated = self.handle_error(error)
            if translated is error:
                raise
            raise translated from error

    def is_damaged(self, *, with_keys: bool = False) -> bool:
        """Whether a check of the whole file finds damage. System errors are raised with a stable code."""
        with faults.translate_errors():
            return is_damaged(self.directory.database, immutable=self._immutable, with_keys=with_keys)

    def _find_unusable(self) -> Unusable | None:
        """The error for a file that a server does not touch, because it is now empty or of a newer version."""
        try:
            refuse_unusable(inspect(self.directory.database))
        except Unusable as unusable:
            return unusable
        except faults.EXCEPTIONS:
            return None
        return None

    def _is_file_damaged(self) -> bool:
        """Whether the file caused an exception. A bug in our code must not lead to a rebuild of the index."""
        if time.monotonic() - self._found_intact_at < _INTACT_SECONDS:
            return False
        try:
            if self.is_damaged(with_keys=True):
                return True
        except (ContextiveError, OSError):
            return False
        self._found_intact_at = time.monotonic()
        return False

    def mark_damaged(self) -> None:
        """Mark the file, so that the next use of the index, in any process, renames and rebuilds it."""
        self._damaged = self.directory.is_writable
        if self.directory.is_writable:
            with contextlib.suppress(OSError):
                self.directory.mark_damaged(self._identity)

    def _drop_writer(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(sqlite3.Error):
                self._writer.close()
            self._writer = None

    def close(self) -> None:
        with self._guard:
            self._closed = True
            for _, connection in self._readers:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
            self._readers.clear()
        if self._writing.acquire(timeout=WAIT_SECONDS):
            self._drop_writer()
            self._writing.release()


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # SQLite rolls back by itself when the disk is full or the file is damaged
        connection.execute("ROLLBACK")


def _sync_error() -> Unavailable:
    return Unavailable("The index could not be synced to disk.", hint="Check the disk, then try again.")


def _authorize_reading(
    action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None
) -> int:
    match action:
        case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_READ | sqlite3.SQLITE_TRANSACTION | sqlite3.SQLITE_RECURSIVE:
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if second == "load_extension" else sqlite3.SQLITE_OK
        case sqlite3.SQLITE_PRAGMA:
            allowed = first in _READING_PRAGMAS and (second is None or first == "quick_check")
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
        case _:
            return sqlite3.SQLITE_DENY


def _authorize_writing(
    action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None
) -> int:
    if action == sqlite3.SQLITE_PRAGMA and first == "user_version" and second is None:
        return sqlite3.SQLITE_OK
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
