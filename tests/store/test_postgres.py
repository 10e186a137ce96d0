"""What only a shared store has: many machines, roles, lost connections, and projects side by side."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextive.errors import ConfigError, Unavailable, UpstreamError
from contextive.store import open_store, store_condition
from contextive.store.postgres.settings import PostgresSettings
from contextive.store.protocol import Store
from contextive.store.values import AuditEntry, LexicalQuery
from tests.postgres_server import PostgresServer, binaries, schema_for, shared_dsn

from .conftest import OPENERS
from .samples import EVERYTHING, chunk, entry, file_layer, parsed

KINDS = sorted(set(OPENERS) - {"sqlite"})
pytestmark = pytest.mark.skipif(not KINDS, reason="make test-postgres runs these tests")


@pytest.fixture(params=KINDS)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> PostgresSettings:
    return PostgresSettings(shared_dsn(request.param), project=schema_for(tmp_path))


Open = Callable[..., Store]


@pytest.fixture
def opened() -> Iterator[Open]:
    stores: list[Store] = []

    def open_one(settings: PostgresSettings, folder: Path) -> Store:
        stores.append(open_store(folder, postgres=settings))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


def put_file(store: Store, path: str, text: str) -> None:
    file = parsed(path, chunks=[chunk(path, 0, text)])
    with store.transaction() as writer:
        writer.put_artifact(file, entry(path), file_layer(file))


def found(store: Store, word: str) -> list[str]:
    hits = store.search.lexical(LexicalQuery((word,)), 10, EVERYTHING).hits
    rows = store.files.chunks([hit.number for hit in hits])
    return [row.artifact.path for row in rows.values()]


##= docs/spec/knowledge.md#shared-store
##% With `store.dsn`, the index MUST be in a PostgreSQL database, and the files of an embedded index stay unchanged.
def test_two_machines_share_one_index_and_leave_their_own_unchanged(
    settings: PostgresSettings, tmp_path: Path, opened: Open
) -> None:
    embedded = open_store(tmp_path / "one")
    put_file(embedded, "own.py", "green")
    embedded.close()
    before = (tmp_path / "one" / "index.db").read_bytes()
    one, two = opened(settings, tmp_path / "one"), opened(settings, tmp_path / "two")
    put_file(one, "a.py", "green")
    assert found(two, "green") == ["a.py"]
    assert (tmp_path / "one" / "index.db").read_bytes() == before


def test_projects_in_one_database_do_not_see_each_other(
    settings: PostgresSettings, tmp_path: Path, opened: Open
) -> None:
    other = PostgresSettings(settings.dsn, project=f"{settings.project}_b")
    put_file(opened(settings, tmp_path / "one"), "a.py", "green")
    assert found(opened(other, tmp_path / "two"), "green") == []


##= docs/spec/knowledge.md#shared-store
##% A schema that is newer than the program MUST be refused and left unchanged.
def test_a_newer_schema_is_refused(settings: PostgresSettings, tmp_path: Path, opened: Open) -> None:
    store = opened(settings, tmp_path)
    with store._database.writing() as connection:  # type: ignore[attr-defined]
        connection.execute("INSERT INTO migration VALUES (?, ?, ?, ?)", (999, "later", "", 0.0))
    assert store_condition(tmp_path, settings).reason_code == "newer_schema"
    with pytest.raises(Unavailable, match="has schema 999"):
        opened(settings, tmp_path)


def test_tables_are_not_created_when_that_is_not_allowed(
    settings: PostgresSettings, tmp_path: Path, opened: Open
) -> None:
    forbidden = PostgresSettings(settings.dsn, project=settings.project, migrate=False)
    assert not store_condition(tmp_path, forbidden).ok
    with pytest.raises(Unavailable, match="no tables"):
        opened(forbidden, tmp_path)
    opened(settings, tmp_path)
    opened(forbidden, tmp_path)
    assert store_condition(tmp_path, forbidden).ok


def test_many_servers_that_start_together_create_the_tables_once(settings: PostgresSettings, tmp_path: Path) -> None:
    problems: list[BaseException] = []

    def start(number: int) -> None:
        try:
            open_store(tmp_path / str(number), postgres=settings).close()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []


@pytest.mark.parametrize("project", ["Team", "pg_team", 'x"; DROP SCHEMA public'])
def test_a_project_must_be_a_plain_name(settings: PostgresSettings, tmp_path: Path, project: str) -> None:
    with pytest.raises(ConfigError):
        open_store(tmp_path, postgres=PostgresSettings(settings.dsn, project=project))


_HOLDER = """
import pathlib, sys, time
from contextive.store import open_store
from contextive.store.postgres.settings import PostgresSettings
store = open_store(pathlib.Path(sys.argv[1]), postgres=PostgresSettings(sys.argv[2], project=sys.argv[3]))
lease = store.acquire_lease("ingest", "first")
print("held" if lease else "free", flush=True)
time.sleep(600)
"""


##= docs/spec/knowledge.md#shared-store
##% At most one process of a project MUST ingest at a time; when it dies, another one takes over within five seconds.
def test_the_lease_of_a_killed_process_is_taken_over_within_five_seconds(
    settings: PostgresSettings, tmp_path: Path, opened: Open
) -> None:
    store = opened(settings, tmp_path / "two")
    arguments = [str(tmp_path / "one"), settings.dsn, settings.project]
    with subprocess.Popen([sys.executable, "-c", _HOLDER, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            assert store.acquire_lease("ingest", "second") is None
            assert store.lease_holder("ingest") == "first"
        finally:
            process.kill()
        killed_at = time.monotonic()
        while (lease := store.acquire_lease("ingest", "second")) is None:
            assert time.monotonic() < killed_at + 5
            time.sleep(0.05)
    assert lease.is_held
    assert store.lease_holder("ingest") == "second"


@pytest.fixture(params=KINDS)
def own_server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    server = PostgresServer(binaries(request.param), settings=("synchronous_commit=on",))
    yield server
    server.remove()


##= docs/spec/knowledge.md#shared-store
##% A read MUST be repeated after a lost connection, for as long as its call may wait.
def test_calls_go_on_after_the_server_was_killed_and_no_acknowledged_write_is_lost(
    own_server: PostgresServer, tmp_path: Path, opened: Open
) -> None:
    store = opened(PostgresSettings(own_server.dsn(), wait_seconds=20.0), tmp_path)
    lease = store.acquire_lease("ingest", "me")
    assert lease is not None
    acknowledged: list[float] = []
    stop = threading.Event()

    def write() -> None:
        number = 0.0
        while not stop.is_set():
            number += 1
            try:
                with store.transaction() as writer:
                    writer.put_audit(AuditEntry(number, "me", "tool", {}))
            except UpstreamError:
                continue
            acknowledged.append(number)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(2):
            time.sleep(0.3)
            own_server.kill()
            own_server.start()
            assert store.generation() == 0  # waits until the server is back
    finally:
        time.sleep(0.3)
        stop.set()
        thread.join(60)
    stored = {row.timestamp for row in store.records.audit(1_000_000)}
    assert len(acknowledged) > 20
    assert set(acknowledged) <= stored
    time.sleep(1.1)
    assert not lease.is_held
    assert store.acquire_lease("ingest", "me again") is not None


def test_a_server_that_is_gone_is_reported_within_the_time_a_call_may_wait(
    own_server: PostgresServer, tmp_path: Path, opened: Open
) -> None:
    store = opened(PostgresSettings(own_server.dsn(), wait_seconds=1.0), tmp_path)
    own_server.kill()
    started = time.monotonic()
    with pytest.raises(UpstreamError, match="connection to the database"):
        store.generation()
    assert time.monotonic() - started < 8


def test_a_statement_that_takes_too_long_is_an_error_of_the_database(
    settings: PostgresSettings, tmp_path: Path, opened: Open
) -> None:
    store = opened(PostgresSettings(settings.dsn, project=settings.project, statement_seconds=0.2), tmp_path)
    with pytest.raises(UpstreamError, match="took longer"):
        store._database.read("SELECT pg_sleep(5)")  # type: ignore[attr-defined]
