"""Real servers on one project: they index automatically, follow changes, and share the work."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from contextive.ingest.indexer import IngestResult
from contextive.search.answer import SearchRequest
from contextive.search.index import Index
from contextive.server.profiles import PROFILES
from contextive.store import open_store
from tests.raw_clients import StdioClient, envelope

from .conftest import OpenHost

ENVIRONMENT = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy"}
PATIENCE_SECONDS = 120.0
"""Long, because several servers start at once on a busy machine."""


class Server:
    """A stdio server that is called statelessly."""

    def __init__(self, pipe: StdioClient) -> None:
        self.pipe = pipe

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.pipe.ask("tools/call", envelope({"name": tool, "arguments": arguments}), PATIENCE_SECONDS)
        result = answer["result"]
        assert not result.get("isError"), result
        data: dict[str, Any] = result["structuredContent"]
        return data

    def found(self, query: str) -> list[str]:
        return [r["chunk"]["artifact_path"] for r in self.call("km-search", query=query)["results"]]


@pytest.fixture
def start(repository: Path) -> Iterator[Callable[[], Server]]:
    with ExitStack() as stack:
        yield lambda: Server(stack.enter_context(StdioClient("serve", cwd=repository, env=ENVIRONMENT)))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass in time"
        time.sleep(0.1)


##= docs/spec/knowledge.md#index-updates
##% A server MUST index automatically after it starts and after each file change, unless `knowledge.autoIngest` is
##% false.
def test_a_server_indexes_automatically_and_follows_saved_files(start: Callable[[], Server], repository: Path) -> None:
    server = start()
    wait_until(lambda: "src/tidewatch/gauge/reader.py" in server.found("calibrate_sensor"))
    (repository / "docs/airship.md").write_text("# Zeppelin\n\nA zeppelin over the harbour.\n", encoding="utf-8")
    wait_until(lambda: "docs/airship.md" in server.found("zeppelin"))
    (repository / "docs/airship.md").unlink()
    wait_until(lambda: "docs/airship.md" not in server.found("zeppelin"))


##= docs/spec/knowledge.md#index-updates
##% A stdio server whose profile includes neither notes nor knowledge MUST NOT index.
def test_a_requirements_only_server_creates_no_index(repository: Path) -> None:
    with StdioClient("serve", "--stdio", "--profile", "duvet", cwd=repository, env=ENVIRONMENT) as alone:
        alone.initialize()
        until = time.monotonic() + 2  # other servers start to index after half a second
        while time.monotonic() < until:
            alone.result("tools/call", {"name": "list_uncited_requirements", "arguments": {}})
            time.sleep(0.1)
    assert not list(repository.rglob("index.db"))
    assert [name for name, profile in PROFILES.items() if not profile.uses_index] == ["duvet", "spexus"]


def test_embeddings_are_computed_in_the_background(start: Callable[[], Server], repository: Path) -> None:
    server = start()

    def found_by_meaning() -> bool:
        results = server.call("km-search", query="siren silence", detail="full")["results"]
        return any(result["scoring"]["vector_score"] is not None for result in results)

    wait_until(found_by_meaning)


##= docs/spec/knowledge.md#index-updates
##% When several servers run for a project, one of them MUST maintain the index, and another takes over when it ends
##% or dies.
def test_one_of_several_servers_updates_the_index_and_another_takes_over(
    start: Callable[[], Server], repository: Path
) -> None:
    servers = [start() for _ in range(3)]
    for server in servers:
        wait_until(lambda server=server: bool(server.found("calibrate_sensor")))  # type: ignore[misc]
    store = open_store(repository / ".contextive")
    try:
        holder = store.lease_holder("keeper")
        assert holder is not None
        keeper = next(s for s in servers if holder.endswith(f":{s.pipe.process.pid}"))
        keeper.pipe.process.send_signal(signal.SIGKILL)
        servers.remove(keeper)
        wait_until(lambda: store.lease_holder("keeper") not in (None, holder))
        (repository / "docs/airship.md").write_text("# Zeppelin\n\nStill seen.\n", encoding="utf-8")
        for server in servers:
            wait_until(lambda server=server: "docs/airship.md" in server.found("zeppelin"))  # type: ignore[misc]
    finally:
        store.close()


def test_files_saved_before_the_watch_started_are_indexed_despite_a_busy_state_directory(
    repository: Path, open_host: OpenHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_host(repository).services.get(Index)
    ingest, late = index.ingest, repository / "docs/airship.md"

    def ingest_and_miss_one(*arguments: Any, **options: Any) -> IngestResult:
        outcome = ingest(*arguments, **options)
        if not late.exists():
            late.write_text("# Zeppelin\n\nSaved after the first refresh.\n", encoding="utf-8")
        return outcome

    monkeypatch.setattr(index, "ingest", ingest_and_miss_one)
    done = threading.Event()

    def search_without_end() -> None:  # every search writes below the state directory
        while not done.wait(0.02):
            (index.settings.state_dir / "busy").write_text("more", encoding="utf-8")

    busy = threading.Thread(target=search_without_end)
    try:
        index.start_watching()
        wait_until(late.exists)
        busy.start()
        wait_until(lambda: index.store.files.artifact("docs/airship.md") is not None)
    finally:
        done.set()
        busy.join()
        index.close()


##= docs/spec/knowledge.md#index-updates
##% When no server maintains the index, an answer MUST reflect every file saved before the call.
def test_a_file_saved_during_a_refresh_of_another_caller_is_found(
    repository: Path, open_host: OpenHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_host(repository).services.get(Index)
    ingest, looked, goes_on = index.ingest, threading.Event(), threading.Event()

    def ingest_slowly(*arguments: Any, **options: Any) -> IngestResult:
        outcome = ingest(*arguments, **options)
        looked.set()
        assert goes_on.wait(60)
        return outcome

    monkeypatch.setattr(index, "ingest", ingest_slowly)

    def found() -> list[str]:
        results = index.search.search(SearchRequest("zeppelin", mode="lexical")).results
        return [one.chunk.artifact_path for one in results]

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(found)
        assert looked.wait(60)
        assert index.store.generation(), "what is open already waits for no look"
        (repository / "docs/airship.md").write_text("# Zeppelin\n\nSaved during a refresh.\n", encoding="utf-8")
        second = pool.submit(found)
        time.sleep(0.2)  # time to join the refresh in progress
        goes_on.set()
        first.result(60)
        assert second.result(60) == ["docs/airship.md"]
