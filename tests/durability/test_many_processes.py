"""Some stdio servers and an HTTP server on one project, one of them killed every few seconds.

With `DURABILITY=full` eight stdio servers do ten thousand operations, else three do two hundred.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from contextive.store import open_store
from contextive.store.protocol import Store
from tests.packs.knowledge.repository import write_repository
from tests.processes import clean_environment
from tests.raw_clients import wait_until

from .concurrent_load import ENVIRONMENT, Client, ConcurrentLoad, Server

FULL = os.environ.get("DURABILITY") == "full"
OPERATIONS, KILLS, KILL_SECONDS = (10_000, 10, 4.0) if FULL else (200, 3, 1.0)
STDIO_SERVERS = 8 if FULL else 3
TAKEOVER_SECONDS = 2.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "station")


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    with closing(open_store(root / ".contextive")) as store:
        yield store


@pytest.fixture
def clients(root: Path) -> Iterator[list[Client]]:
    clients: list[Client] = []
    try:
        for number in range(STDIO_SERVERS):
            clients.append(Client(f"c{number}", root, over_http=False, seed=number))
        clients.append(Client("web", root, over_http=True, seed=STDIO_SERVERS))
        yield clients
    finally:
        for client in clients:
            client.server.stop()


##= docs/spec/knowledge.md#store
##% An acknowledged write MUST NOT be lost when a server dies.
def test_acknowledged_writes_survive_repeated_kills_of_servers(root: Path, store: Store, clients: list[Client]) -> None:
    load = ConcurrentLoad(root, store, clients, KILL_SECONDS)
    took = load.run(OPERATIONS, KILLS)
    _print_figures(load, took)

    assert load.failures + [failure for client in clients for failure in client.failures] == []
    assert load.most_watchers <= 1
    assert load.takeovers
    assert median(load.takeovers) < TAKEOVER_SECONDS
    assert max(load.takeovers) < TAKEOVER_SECONDS * load.slowness

    _ingest_on_every_server(clients)
    wait_until(lambda: store.as_of().pending_vectors == 0, "every chunk has its vector", 60)
    for client in clients:
        _assert_writes_kept(client, clients[0].server, root)
    _assert_votes_kept(clients, store)
    _assert_runs_did_not_overlap(store)
    _assert_all_agree([client.server for client in clients])
    assert _verify(root) == {"ok": True, "discrepancies": []}


def _ingest_on_every_server(clients: list[Client]) -> None:
    for client in clients:
        client.server.call("km-ingest-trigger")


def _assert_writes_kept(client: Client, server: Server, root: Path) -> None:
    """Check each write with another server than the one that acknowledged it, and in the file."""
    for slug, (content, version) in client.pages.items():
        page = server.call("get_page", slug=slug)
        assert (page["content"], page["version"]) == (content, version), slug
    for path, content in client.texts.items():
        assert (root / path).read_text(encoding="utf-8").endswith(content), path


def _assert_votes_kept(clients: list[Client], store: Store) -> None:
    kept = {(vote.request_id, vote.chunk_id): vote.vote for vote in store.records.votes(1_000_000)}
    acknowledged = {key: vote for client in clients for key, vote in client.votes.items()}
    assert acknowledged
    assert {key: kept.get(key) for key in acknowledged} == acknowledged


def _assert_runs_did_not_overlap(store: Store) -> None:
    """Allows a small overlap: times are rounded, and start and duration come from different clocks."""
    runs = sorted((run.started_at, run.started_at + run.duration_seconds) for run in store.records.runs(1_000_000))
    assert len(runs) > 5
    for (_, ended), (started, _) in pairwise(runs):
        assert started > ended - 0.005


##= docs/spec/knowledge.md#index-updates
##% Once nothing changes any more, all servers of a project MUST return the same results for the same query.
def _assert_all_agree(servers: list[Server]) -> None:
    """Every server returns the same pages, the same search results and the same generation of the index."""
    results = [_results_of(server) for server in servers]
    for kind, first in results[0].items():
        for number, other in enumerate(results):
            assert other[kind] == first, f"{kind} of server {number}"


def _results_of(server: Server) -> dict[str, object]:
    pages, cursor = [], None
    while True:
        listed = server.call("list_pages", **({"cursor": cursor} if cursor else {}))
        pages += [page["slug"] for page in listed["pages"]]
        if not (cursor := listed.get("next_cursor")):
            break
    found = _search_without_warnings(server, "siren threshold")
    return {
        "pages": pages,
        "results": [result["chunk"]["chunk_id"] for result in found["results"]],
        "index": server.call("km-ingest-status")["as_of"]["generation"],
        "requirements": {k: v for k, v in server.call("search_requirements", query="level").items() if k != "as_of"},
    }


def _search_without_warnings(server: Server, query: str) -> dict[str, Any]:
    """Search until there are no warnings: a server that has just started or is short of time reports what is
    missing."""
    deadline = time.monotonic() + 60
    while True:
        found = server.call("km-search", query=query, limit=10)
        if not found["metadata"].get("warnings"):
            return found
        assert time.monotonic() < deadline, found["metadata"]
        time.sleep(0.2)


def _verify(root: Path) -> object:
    finished = subprocess.run(
        [sys.executable, "-m", "contextive", "verify", "--json"],
        cwd=root, env=clean_environment(ENVIRONMENT), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return json.loads(finished.stdout or "null")


def _print_figures(load: ConcurrentLoad, took: float) -> None:
    """Print the figures of the run; visible with `-s`."""
    finished = load.done()
    timed = sorted(timed for client in load.clients for timed in client.seconds)
    seconds = [took for took, _ in timed]
    print(
        f"\n{finished.total()} operations in {took:.0f} s, {load.kills} kills,"
        f" {sum(client.restarts for client in load.clients)} restarts;"
        f" p50 {seconds[len(seconds) // 2]:.3f} s, p99 {seconds[int(len(seconds) * 0.99)]:.3f} s;"
        f" takeovers {[round(s, 2) for s in load.takeovers]}; {dict(finished)};"
        f" slowest {timed[-3:]}; slowness {load.slowness:.1f}",
        time.strftime("%H:%M:%S"),
    )
