"""Jobs that a separate process runs on a store: `python -m tests.store.worker KIND DIRECTORY JOB NUMBER`."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from contextive.store.protocol import Store
from contextive.store.values import AuditEntry, LexicalQuery

from .conftest import OPENERS
from .samples import EVERYTHING, MODEL, entry, file_layer, found_ids, parsed, put, vector_of

TURNS = 12


def write_files(store: Store, number: int) -> None:
    for turn in range(TURNS):
        put(store, parsed(f"w{number}/f{turn}", [f"common word{number}x{turn}", "second text"]))
        pending = store.search.pending_vectors(MODEL, 10)
        with store.transaction() as writer:
            writer.put_vectors(MODEL, [(item.number, item.digest, vector_of(item.text)) for item in pending])
            writer.put_audit(AuditEntry(time.time(), f"w{number}", "turn", {"turn": turn}))
        if turn % 5 == 0:
            assert f"w{number}/f{turn}::0" in found_ids(store, f"word{number}x{turn}")
        assert store.files.artifact(f"w{number}/f{turn}") is not None


def read_all(store: Store, number: int) -> None:
    last = 0
    for _ in range(TURNS):
        found = store.search.lexical(LexicalQuery(("common",)), 100, EVERYTHING)
        assert found.generation <= store.generation()
        store.files.chunks([hit.number for hit in found.hits])
        store.search.dense(MODEL, vector_of("q"), 20, EVERYTHING)
        generation = store.as_of().generation
        assert generation >= last
        last = generation
        list(store.files.artifacts())


def hold_lease(store: Store, number: int) -> None:
    lease = store.acquire_lease("ingest", f"worker {number}")
    print("held" if lease is not None and lease.is_held else "refused", flush=True)
    time.sleep(60)


def die_after_commit(store: Store, number: int) -> None:
    """Commit, and die before the sidecars have caught up."""
    put(store, parsed("first", ["before the crash"]))
    found_ids(store, "crash")
    put(store, parsed("second", ["after the crash"]))
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_transaction(store: Store, number: int) -> None:
    put(store, parsed("kept", ["whole"]))
    with store.transaction() as writer:
        for turn in range(200):
            file = parsed(f"half{turn}", ["lost"])
            writer.put_artifact(file, entry(file.artifact.path), file_layer(file))
        os.kill(os.getpid(), signal.SIGKILL)


def only_open(store: Store, number: int) -> None:
    print(store.generation(), flush=True)


def main() -> None:
    kind, directory, job, number = sys.argv[1:5]
    store = OPENERS[kind](Path(directory))
    globals()[job](store, int(number))
    store.close()


if __name__ == "__main__":
    main()
