"""Generations, state, leases, health, and closing a store."""

from __future__ import annotations

import threading
import time

import pytest

from contextive.errors import Unavailable
from contextive.store.protocol import Store
from contextive.store.values import STATE_PENDING_FILES, STATE_REPO_HEAD, STATE_SKIPPED_FILES, STATE_VECTOR_MODEL

from .conftest import StoreFactory
from .samples import MODEL, embed, entry, file_layer, parsed, put


def test_every_transaction_that_changes_something_creates_one_generation(store: Store) -> None:
    start = store.generation()
    put(store, parsed("a", ["x"]), parsed("b", ["y"]))
    assert store.generation() == start + 1
    with store.transaction():
        pass
    assert store.generation() == start + 1
    embed(store)
    assert store.generation() == start + 2
    with store.transaction() as writer:
        writer.put_state("k", "v")
    with store.transaction() as writer:
        writer.put_state("k", "v")
    assert store.generation() == start + 3


def test_as_of_reports_the_state_of_the_index(store: Store) -> None:
    put(store, parsed("a", ["x", "y"]))
    with store.transaction() as writer:
        writer.put_state(STATE_REPO_HEAD, "abc")
        writer.put_state(STATE_PENDING_FILES, "4")
        writer.put_state(STATE_SKIPPED_FILES, "2")
        writer.put_state(STATE_VECTOR_MODEL, f"{MODEL.name}/{MODEL.dimensions}")
    as_of = store.as_of()
    assert (as_of.generation, as_of.repo_head) == (store.generation(), "abc")
    assert (as_of.pending_files, as_of.skipped_files, as_of.pending_vectors) == (4, 2, 2)
    assert abs(as_of.committed_at - time.time()) < 60
    embed(store)
    assert store.as_of().pending_vectors == 0


def test_state_values_are_stored_and_deleted(store: Store, store_factory: StoreFactory) -> None:
    with store.transaction() as writer:
        writer.put_state("k", "v")
    assert store_factory().state("k") == "v"
    with store.transaction() as writer:
        writer.put_state("k", None)
    assert store.state("k") is None


def test_a_reopened_index_has_the_same_content(store_factory: StoreFactory) -> None:
    first = store_factory()
    put(first, parsed("a", ["text"]))
    before = (first.generation(), first.files.chunks_of("a"))
    first.close()
    second = store_factory()
    assert (second.generation(), second.files.chunks_of("a")) == before


def test_only_one_store_holds_a_lease_at_a_time(store: Store, store_factory: StoreFactory) -> None:
    other = store_factory()
    assert store.lease_holder("ingest") is None
    lease = store.acquire_lease("ingest", "first")
    assert lease is not None
    assert lease.is_held
    assert other.acquire_lease("ingest", "second") is None
    assert other.lease_holder("ingest") == "first"
    assert other.acquire_lease("watch", "second") is not None
    lease.release()
    lease.release()
    assert other.lease_holder("ingest") is None
    second_lease = other.acquire_lease("ingest", "second")
    assert second_lease is not None
    second_lease.release()


def test_only_one_of_many_threads_gets_the_lease(store: Store) -> None:
    leases, ready = [], threading.Barrier(8)

    def attempt() -> None:
        ready.wait(10)
        lease = store.acquire_lease("ingest", "thread")
        if lease is not None:
            leases.append(lease)

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(leases) == 1
    leases[0].release()


def test_threads_can_read_and_write_at_the_same_time(store: Store) -> None:
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(6):
                put(store, parsed(f"f{number}-{turn}", [f"word{number} turn{turn}"]))
                assert store.files.artifact(f"f{number}-{turn}") is not None
                list(store.files.artifacts())
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    assert len(store.files.ledger()) == 36
    assert list(store.verify()) == []


def test_a_reader_sees_nothing_of_an_open_transaction(store: Store, store_factory: StoreFactory) -> None:
    other = store_factory()
    file = parsed("a", ["text"])
    with store.transaction() as writer:
        writer.put_artifact(file, entry("a"), file_layer(file))
        assert other.files.artifact("a") is None
        assert store.files.artifact("a") is None
    assert other.files.artifact("a") is not None


def test_health_counts_rows(store: Store) -> None:
    put(store, parsed("a", ["x"]))
    embed(store)
    health = store.health()
    assert health["counts"]["chunk"] == health["counts"]["vector"] == 1
    assert health["generation"] == store.generation()
    assert health["warnings"] == []


def test_a_closed_store_raises_unavailable(store_factory: StoreFactory) -> None:
    store = store_factory()
    store.close()
    store.close()
    with pytest.raises(Unavailable):
        store.generation()
    with pytest.raises(Unavailable), store.transaction():
        pass
