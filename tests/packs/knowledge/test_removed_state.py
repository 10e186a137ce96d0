"""Real servers whose state directory, or whole project, is removed while they serve."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import ContextiveError, Unavailable
from contextive.ingest.plan import IndexReplaced
from contextive.ingest.settings import IngestRequest
from contextive.search.index import Index
from contextive.store import open_store
from tests.processes import wait_until
from tests.raw_clients import StdioClient, envelope

from .conftest import OpenHost

ENVIRONMENT = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy", "KM_ADMIN_TOKEN": "a-token-for-tests-that-is-long"}
PATIENCE_SECONDS = 120.0


class Server:
    """A stdio server; `call` returns answers and errors."""

    def __init__(self, pipe: StdioClient) -> None:
        self._pipe = pipe

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool, or its error."""
        answer = self._pipe.ask("tools/call", envelope({"name": tool, "arguments": arguments}), PATIENCE_SECONDS)
        result = answer["result"]
        if result.get("isError"):
            error: dict[str, Any] = json.loads(result["content"][0]["text"])["error"]
            return error
        data: dict[str, Any] = result["structuredContent"]
        return data

    def found(self, query: str) -> list[str]:
        return [r["chunk"]["artifact_path"] for r in self.call("km-search", query=query).get("results", [])]


@pytest.fixture
def server(repository: Path) -> Iterator[Server]:
    with contextlib.ExitStack() as stack:
        started = Server(stack.enter_context(StdioClient("serve", cwd=repository, env=ENVIRONMENT)))
        wait_until(lambda: bool(started.found("calibrate_sensor")), "the first run", PATIENCE_SECONDS)
        yield started


def remove(folder: Path) -> None:
    """Remove a directory while a server may write to it, in which case `rm` can fail because it is not empty."""
    wait_until(lambda: subprocess.run(["rm", "-rf", str(folder)], check=False).returncode == 0, "it is removed")


##= docs/spec/knowledge.md#index-updates
##% A state directory that is removed while a server uses it MUST be rebuilt without a restart.
def test_a_call_works_after_the_state_directory_was_removed(server: Server, repository: Path) -> None:
    for _ in range(2):
        remove(repository / ".contextive")
        answer = server.call("km-search", query="calibrate_sensor")
        assert "results" in answer, answer
        wait_until(lambda: bool(server.found("calibrate_sensor")), "the index was filled again", PATIENCE_SECONDS)
        assert (repository / ".contextive" / ".gitignore").exists()
    stored = server.call("km-storetext", title="After it", content="A zeppelin came by.")
    assert "code" not in stored, stored
    ingested = server.call("km-ingest-trigger")
    assert "code" not in ingested, ingested
    wait_until(lambda: bool(server.found("zeppelin")), "new files", PATIENCE_SECONDS)


def test_files_of_a_removed_and_recreated_project_are_watched(server: Server, repository: Path) -> None:
    kept = repository.with_name("kept")
    shutil.copytree(repository, kept, ignore=shutil.ignore_patterns(".contextive"))
    away = repository.with_name("away")
    repository.rename(away)  # in one step: the server recreates the state directory as long as the project exists
    shutil.rmtree(away)
    kept.rename(repository)
    wait_until(lambda: bool(server.found("calibrate_sensor")), "the recreated project", PATIENCE_SECONDS)
    (repository / "docs" / "airship.md").write_text("# Zeppelin\n\nOver the harbour.\n", encoding="utf-8")
    wait_until(lambda: "docs/airship.md" in server.found("zeppelin"), "a file saved after that", PATIENCE_SECONDS)


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("km-search", {"query": "siren"}),
    ("search_requirements", {"query": "siren"}),
    ("list_uncited_requirements", {}),
    ("list_pages", {}),
    ("km-graph-search", {"term": "siren"}),
    ("km-ingest-trigger", {}),
)


##= docs/spec/host.md#errors
##% A tool MUST fail with the code `project_missing` if the project directory no longer exists.
def test_a_removed_project_is_an_error_and_not_an_empty_answer(server: Server, repository: Path) -> None:
    away = repository.with_name("away")
    repository.rename(away)
    try:
        codes = {tool: server.call(tool, **arguments).get("code") for tool, arguments in CALLS}
        assert codes == dict.fromkeys(dict(CALLS), "project_missing")
        assert not repository.exists()
    finally:
        away.rename(repository)
    wait_until(lambda: bool(server.found("calibrate_sensor")), "the project came back", PATIENCE_SECONDS)


##= docs/spec/knowledge.md#index-updates
##% A run whose index is removed or replaced MUST end and report the reason.
def test_a_run_whose_index_is_removed_fails_with_a_reason_and_the_next_run_works(
    repository: Path, open_host: OpenHost
) -> None:
    for number in range(300):
        (repository / "docs" / f"page{number}.md").write_text(f"# Page {number}\n\nText.\n", encoding="utf-8")
    index = open_host(repository).services.get(Index)
    state = repository / ".contextive"
    removed = threading.Event()

    def remove(phase: str, done: int, _total: int) -> None:
        if phase == "parse" and done and not removed.is_set():
            removed.set()
            shutil.rmtree(state)

    with pytest.raises(Unavailable) as ended:
        index.ingest(IngestRequest(profile="cut"), progress=remove)
    assert isinstance(ended.value, IndexReplaced) or "removed" in ended.value.message
    outcome = index.ingest(IngestRequest(profile="again"))
    assert len(outcome.changed) + outcome.unchanged_count > 300
    assert list(index.store.verify()) == []


def test_the_index_of_a_removed_project_is_not_emptied(repository: Path, open_host: OpenHost) -> None:
    index = open_host(repository, CONTEXTIVE_STORE__STATE_PATH=str(repository.parent / "elsewhere")).services.get(Index)
    index.ingest(IngestRequest(profile="first"))
    before = set(index.store.files.ledger())
    away = repository.with_name("away")
    repository.rename(away)
    with pytest.raises(Unavailable, match="no longer exists"):
        index.ingest(IngestRequest(profile="second"))
    assert index.condition().reason_code == "project_missing"
    away.rename(repository)
    assert set(index.store.files.ledger()) == before
    assert index.condition().ok


def test_concurrent_processes_recreate_one_complete_store(tmp_path: Path) -> None:
    place = tmp_path / "state"
    faults: list[BaseException] = []
    stop = threading.Event()

    def use() -> None:
        while not stop.is_set():
            try:
                store = open_store(place)
            except ContextiveError:
                continue
            except BaseException as error:
                faults.append(error)
                return
            with contextlib.suppress(ContextiveError):
                store.generation()
            with contextlib.suppress(ContextiveError):
                store.close()

    users = [threading.Thread(target=use) for _ in range(6)]
    for user in users:
        user.start()
    for _ in range(40):
        shutil.rmtree(place, ignore_errors=True)
        wait_until(lambda: (place / "index.db").exists() or bool(faults), "a store", 30)
    stop.set()
    for user in users:
        user.join(60)
    assert not faults, faults
    store = open_store(place)
    assert list(store.verify()) == []
    assert not list(place.glob("index.db.damaged-*"))
    store.close()
