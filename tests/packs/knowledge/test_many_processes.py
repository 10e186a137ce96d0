"""Four processes that index and others that search, at the same time on one project: all succeed and agree in the end."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from contextive.ingest import indexer
from contextive.ingest.plan import RunInProgress
from contextive.ingest.settings import IngestRequest
from contextive.search.index import Index
from tests.processes import clean_environment

from .conftest import OpenHost
from .snapshots import rows_of

ENVIRONMENT = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy"}
PROGRAM = [sys.executable, "-m", "contextive"]
WRITERS, READERS, ROUNDS = 4, 2, 2


##= docs/spec/knowledge.md#store
##% Readers and writers in many processes MUST NOT get lock errors.
def test_concurrent_writers_and_readers_all_succeed(repository: Path, open_host: OpenHost) -> None:
    failures: list[str] = []

    def run(*arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=repository, env=clean_environment(ENVIRONMENT), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode not in allowed or "locked" in done.stderr or "Traceback" in done.stderr:
            failures.append(f"{arguments}: {done.returncode} {done.stdout[-300:]} {done.stderr[-1500:]}")
        return done.stdout

    def write(number: int) -> None:
        for turn in range(ROUNDS):
            (repository / f"docs/page{number}-{turn}.md").write_text(
                f"# Page {number}\n\nWord{number}x{turn}\n", encoding="utf-8"
            )
            run("ingest", "--json")

    def read() -> None:
        for _ in range(ROUNDS):
            run("search", "siren", "--json")
            json.loads(run("status", "--json") or "{}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    threads += [threading.Thread(target=read) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert run("verify") == "The index matches the files.\n"
    index = open_host(repository).services.get(Index)
    kept = rows_of(index.store)
    index.start_over()
    index.ingest(IngestRequest(full=True))
    assert rows_of(index.store) == kept


def test_a_waiting_run_goes_before_later_requests(
    repository: Path, open_host: OpenHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_LEASE_POLL_SECONDS", 1.0)
    here, there = (open_host(repository).services.get(Index) for _ in range(2))
    waits = threading.Event()
    order: list[str] = []

    def tell(name: str, phase: str, _done: int, _total: int) -> None:
        if phase == "wait":
            waits.set()
        elif phase == "discover":
            order.append(name)

    lease = here.store.acquire_lease("ingest", "somebody")
    assert lease is not None
    first = threading.Thread(target=here.ingest, args=(IngestRequest(),), kwargs={"progress": partial(tell, "first")})
    first.start()
    assert waits.wait(60)
    lease.release()
    # The lease is free now, but the waiting process checks only from time to time.
    with suppress(RunInProgress):
        there.ingest(IngestRequest(), progress=partial(tell, "later"), wait_seconds=0.0)
    first.join(60)
    assert order[0] == "first"
