"""Several processes that share one index."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from contextive.store.protocol import Store

from .conftest import OPENERS
from .samples import MODEL, found_ids, near_ids, parsed, put, vector_of
from .worker import TURNS

ROOT = Path(__file__).parents[2]
KINDS = sorted(OPENERS)
LIMIT_SECONDS = 120


def start(kind: str, directory: Path, job: str, number: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.worker", kind, str(directory), job, str(number)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0, err
    return out


##= docs/spec/knowledge.md#store
##% Readers and writers in many processes MUST NOT get lock errors.
@pytest.mark.parametrize("kind", KINDS)
def test_readers_and_writers_in_many_processes_get_no_lock_errors(kind: str, tmp_path: Path) -> None:
    jobs = [start(kind, tmp_path, "write_files", number) for number in range(4)]
    jobs += [start(kind, tmp_path, "read_all", number) for number in range(2)]
    for job in jobs:
        finish(job)
    store = OPENERS[kind](tmp_path)
    try:
        assert len(store.files.ledger()) == len(store.records.audit(1000)) == 4 * TURNS
        assert len(found_ids(store, "common", 1000)) == 4 * TURNS
        assert len(near_ids(store, vector_of("q"), 1000)) == store.search.vector_counts()[MODEL] == 8 * TURNS
        assert list(store.verify()) == []
    finally:
        store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_many_processes_that_start_at_once_create_one_index(kind: str, tmp_path: Path) -> None:
    jobs = [start(kind, tmp_path, "only_open") for _ in range(6)]
    assert [finish(job).strip() for job in jobs] == ["0"] * 6


##= docs/spec/knowledge.md#index-updates
##% The lease of a dead process MUST be available to another process within two seconds.
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_holder_loses_the_lease_within_two_seconds(kind: str, tmp_path: Path) -> None:
    store = OPENERS[kind](tmp_path)
    holder = start(kind, tmp_path, "hold_lease", 7)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "held"
        assert store.acquire_lease("ingest", "me") is None
        assert store.lease_holder("ingest") == "worker 7"
        holder.kill()
        holder.wait(10)
        freed = time.monotonic()
        lease = store.acquire_lease("ingest", "me")
        while lease is None and time.monotonic() < freed + 2:
            time.sleep(0.02)
            lease = store.acquire_lease("ingest", "me")
        assert lease is not None
        lease.release()
    finally:
        holder.kill()
        holder.communicate()
        store.close()


##= docs/spec/knowledge.md#store
##% Committed transactions MUST survive a crash, and a transaction that a crash interrupts is rolled back.
@pytest.mark.parametrize("kind", KINDS)
def test_committed_transactions_survive_a_crash(kind: str, tmp_path: Path) -> None:
    process = start(kind, tmp_path, "die_after_commit")
    process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode != 0
    store = OPENERS[kind](tmp_path)
    try:
        assert set(found_ids(store, "crash")) == {"first::0", "second::0"}
        assert list(store.verify()) == []
    finally:
        store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_transaction_that_a_crash_interrupts_is_rolled_back(kind: str, tmp_path: Path) -> None:
    process = start(kind, tmp_path, "die_in_transaction")
    process.communicate(timeout=LIMIT_SECONDS)
    store: Store = OPENERS[kind](tmp_path)
    try:
        assert list(store.files.ledger()) == ["kept"]
        put(store, parsed("new", ["text"]))
        assert list(store.verify()) == []
    finally:
        store.close()
