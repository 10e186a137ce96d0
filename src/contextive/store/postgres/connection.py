"""Connections to the database: a pool for all threads. Waits and retries while the database cannot be reached."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg import sql as quoting
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolTimeout

from contextive.errors import Unavailable
from contextive.retry import Failure, Retries, with_retries
from contextive.store.postgres import schema
from contextive.store.postgres.caches import CacheFolders
from contextive.store.postgres.conninfo import connection_parameters
from contextive.store.postgres.faults import error_for, is_passing
from contextive.store.postgres.settings import PostgresSettings
from contextive.store.postgres.statements import bind, translate
from contextive.store.sql.database import Row

_IDENTITY_SECONDS = 2.0
_IDLE_SECONDS = 120
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5
_Connection = psycopg.Connection[Any]
_Result = TypeVar("_Result")
# The pool reports every failed attempt with the address of the server. Callers get one error instead.
logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)


class _FlagDumper(Int8Dumper):
    """Booleans are stored as numbers, as SQLite does."""

    def dump(self, obj: Any) -> Any:
        return super().dump(int(obj))


class PostgresConnection:
    """A connection that runs the statements that both stores share."""

    def __init__(self, connection: _Connection, project: str) -> None:
        self._connection = connection
        self._project = project

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        statement = translate(sql, self._project)
        return self._connection.execute(statement.sql, bind(statement, values))

    def lock_table(self, name: str) -> None:
        table = quoting.Identifier(self._project, name)
        self._connection.execute(quoting.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(table))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> psycopg.Cursor[Any]:
        statement = translate(sql, self._project)
        cursor = self._connection.cursor()
        if given := [bind(statement, row) for row in rows]:
            cursor.executemany(statement.sql, given)
        return cursor


##= docs/spec/knowledge.md#shared-store
##% With `store.dsn`, the index MUST be in a PostgreSQL database, and the files of an embedded index stay unchanged.
class PostgresDatabase:
    """The schema of a project in a PostgreSQL database."""

    def __init__(self, settings: PostgresSettings, caches: CacheFolders) -> None:
        schema.check_project(settings.project)
        self.settings = settings
        self.directory = caches
        self._parameters = connection_parameters(settings)
        self._threads = threading.local()
        self._guard = threading.Lock()
        self._identity = ""
        self._identified_at = float("-inf")
        self._closed = False
        self._own: set[_Connection] = set()
        """Connections of leases, which end with the store."""
        self._pool: ConnectionPool[_Connection] = ConnectionPool(
            kwargs={**self._parameters, "autocommit": True, "cursor_factory": psycopg.RawCursor},
            min_size=0,
            max_size=settings.connections,
            max_idle=_IDLE_SECONDS,
            timeout=settings.wait_seconds,
            reconnect_timeout=0,
            configure=self._configure,
            open=False,
        )
        self._pool.open()
        try:
            self._make_ready()
        except BaseException:
            self._pool.close()
            raise

    # Opening

    def connect(self) -> _Connection:
        """A connection outside the pool, for what must hold it for long. It is closed with the store."""
        connection = psycopg.connect(**self._parameters, autocommit=True)
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        with self._guard:
            self._own = {known for known in self._own if not known.closed} | {connection}
        return connection

    def _configure(self, connection: _Connection) -> None:
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_dumper(bool, _FlagDumper)
        milliseconds = int(self.settings.statement_seconds * 1000)
        path = quoting.Identifier(self.settings.project).as_string(connection)
        for name, value in (
            ("search_path", f"{path}, pg_temp"),
            ("statement_timeout", str(milliseconds)),
            ("lock_timeout", str(milliseconds // 2)),
            ("idle_in_transaction_session_timeout", str(2 * milliseconds)),
            ("jit", "off"),
            # The server notices within seconds that the host of a client disappeared, and frees its locks.
            ("tcp_keepalives_idle", "5"),
            ("tcp_keepalives_interval", "2"),
            ("tcp_keepalives_count", "3"),
        ):
            psycopg.Cursor(connection).execute("SELECT set_config(%s, %s, false)", (name, value))

    def _make_ready(self) -> None:
        """Check the server, and create or migrate the tables if that is allowed."""

        def attempt() -> Failure | None:
            try:
                with psycopg.connect(**self._parameters, autocommit=True) as connection:
                    schema.check_server(connection)
                    version = schema.schema_version(connection, self.settings.project)
                    schema.check_not_newer(version)
                    if version < schema.latest_version():
                        if not self.settings.migrate:
                            raise schema.missing_tables()
                        schema.migrate(connection, self.settings.project)
                    return None
            except psycopg.Error as error:
                return Failure(error_for(error), is_passing(error))

        with_retries(attempt, self._retries())
        self.reopen_if_replaced()

    def _retries(self) -> Retries:
        deadline = time.monotonic() + self.settings.wait_seconds
        return Retries(1_000_000, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, deadline)

    @property
    def identity(self) -> str:
        """Changes when the tables were removed and created again."""
        return self._identity

    def reopen_if_replaced(self) -> None:
        if time.monotonic() - self._identified_at > _IDENTITY_SECONDS:
            self._identity = str(self.read("SELECT id FROM identity")[0][0])
            self._identified_at = time.monotonic()

    # Reading

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query. Retried while the database cannot be reached."""
        current = getattr(self._threads, "connection", None)
        if current is not None:
            with self.handling_errors():
                return list(current.execute(sql, values).fetchall())
        return self._with_connection(lambda connection: connection.execute(sql, values).fetchall())

    def read_one(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        rows = self.read(sql, values)
        return rows[0] if rows else None

    ##= docs/spec/knowledge.md#shared-store
    ##% A read MUST be repeated after a lost connection, for as long as its call may wait.
    def _with_connection(self, use: Callable[[PostgresConnection], _Result]) -> _Result:
        def attempt() -> _Result | Failure:
            try:
                with self._checked_out() as connection:
                    return use(PostgresConnection(connection, self.settings.project))
            except psycopg.Error as error:
                return self._failure(error)

        return with_retries(attempt, self._retries())

    @contextlib.contextmanager
    def _checked_out(self) -> Iterator[_Connection]:
        if self._closed:
            raise Unavailable("The index is closed.")
        with self._pool.connection() as connection:
            yield connection

    def _failure(self, error: psycopg.Error) -> Failure:
        if isinstance(error, PoolTimeout):
            error = self._reason(error)
        return Failure(error_for(error), is_passing(error))

    def _reason(self, timeout: psycopg.Error) -> psycopg.Error:
        """Why the pool got no connection in time: it does not say so itself."""
        try:
            psycopg.connect(**self._parameters).close()
        except psycopg.Error as error:
            return error
        return timeout

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[PostgresConnection]:
        """A connection that sees the same state of the database until the block ends."""
        current = getattr(self._threads, "connection", None)
        if current is not None:
            yield current
            return
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            self._threads.connection = connection
            try:
                yield connection
            finally:
                self._threads.connection = None

    # Writing

    @contextlib.contextmanager
    def writing(self) -> Iterator[PostgresConnection]:
        """A connection in a transaction, which is committed unless the block raises."""
        if getattr(self._threads, "writes", False):
            raise RuntimeError("transactions of a store do not nest")
        self._threads.writes = True
        try:
            with self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE") as connection:
                yield connection
        finally:
            self._threads.writes = False

    def lock_table(self, connection: PostgresConnection, name: str) -> None:
        """Make other transactions that lock the table wait until the end of this one. Readers do not wait."""
        connection.lock_table(name)

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgresConnection]:
        """A connection in a transaction. Beginning it is repeated; the block runs once."""

        def attempt() -> _Connection | Failure:
            try:
                connection = self._pool.getconn()
            except PoolTimeout as error:
                return self._failure(error)
            try:
                psycopg.Cursor(connection).execute(begin)
            except psycopg.Error as error:
                self._pool.putconn(connection)
                return self._failure(error)
            return connection

        if self._closed:
            raise Unavailable("The index is closed.")
        connection = with_retries(attempt, self._retries())
        try:
            with self.handling_errors():
                try:
                    yield PostgresConnection(connection, self.settings.project)
                except BaseException:
                    with contextlib.suppress(psycopg.Error):
                        connection.rollback()
                    raise
                connection.commit()
        finally:
            self._pool.putconn(connection)

    # Errors

    @contextlib.contextmanager
    def handling_errors(self) -> Iterator[None]:
        """Raise database exceptions in the block as errors with a stable code."""
        try:
            yield
        except psycopg.Error as error:
            raise error_for(error) from error

    def close(self) -> None:
        self._closed = True
        with self._guard:
            for connection in self._own:
                connection.close()
        self._pool.close()
