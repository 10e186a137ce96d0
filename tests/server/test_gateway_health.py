"""`/healthz` and `/readyz` of a real server: ok, degraded, not ready, and ok again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contextive.ingest.schedule import JobState, write_state
from contextive.store import open_store
from tests.raw_clients import HttpClient, wait_until
from tests.server.conftest import ADMIN
from tests.server.gateways import TOKENS, UNLIMITED, ExampleProject

ENVIRONMENT = {**TOKENS, **UNLIMITED, "KM_SCHEDULER_ENABLED": "true", "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("health")
    (folder / "tide.md").write_text("# Tide\n\nHigh at noon.\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def web(folder: Path) -> Iterator[HttpClient]:
    """A server whose state directory cannot be created, because there is a file with its name."""
    (folder / ".contextive").write_text("in the way", encoding="utf-8")
    with ExampleProject(folder, folder.parent / "user").serve(env=ENVIRONMENT) as server:
        yield server.web


def test_without_an_index_a_server_is_alive_but_not_ready(web: HttpClient, folder: Path) -> None:
    answer = web.get("/readyz")
    assert (answer.status, answer.json["status"]) == (503, "degraded")
    assert answer.json["dependencies"]["index"]["ok"] is False
    assert answer.json["dependencies"]["index"]["detail"]
    assert str(folder) not in answer.text
    wait_until(lambda: web.get("/healthz").json["status"] == "degraded", "the health report to show it", 10.0)
    health = web.get("/healthz")
    assert health.status == 200, "a server that responds is alive"
    assert health.json["checks"]["index"]["ok"] is False
    refused = web.as_bearer(ADMIN).get("/api/v1/coverage")
    assert (refused.status, refused.json["error"]["code"]) == (503, "unavailable")
    assert str(folder) not in refused.text


def test_it_is_ready_as_soon_as_the_index_can_be_opened(web: HttpClient, folder: Path) -> None:
    (folder / ".contextive").unlink()
    wait_until(lambda: web.get("/readyz").status == 200, "the index to be opened", 10.0)
    try:
        wait_until(lambda: web.get("/readyz").json["status"] == "ready", "the first run", 30.0)
    except AssertionError:
        raise AssertionError(web.get("/readyz").text) from None
    assert "dependencies" not in web.get("/readyz").json
    wait_until(lambda: web.get("/healthz").json["status"] == "ok", "the first run", 30.0)
    checks = web.get("/healthz").json["checks"]
    assert {"coverage", "audit", "scheduler", "backup", "index"} <= set(checks)
    assert all(check["ok"] for check in checks.values())
    age = datetime.now(UTC) - datetime.fromisoformat(web.get("/healthz").json["timestamp"])
    assert 0 <= age.total_seconds() < 60


def test_a_failed_job_makes_it_degraded_but_still_ready(web: HttpClient, folder: Path) -> None:
    store = open_store(folder / ".contextive")
    write_state(store, "ingest", JobState(time.time(), "failure", "upstream_error"))
    wait_until(lambda: web.get("/healthz").json["status"] == "degraded", "the failure to be reported", 10.0)
    assert web.get("/healthz").json["checks"]["scheduler"] == {"ok": False, "detail": "failed or late"}
    assert web.get("/readyz").status == 200
    write_state(store, "ingest", JobState(time.time(), "success"))
    store.close()
    wait_until(lambda: web.get("/healthz").json["status"] == "ok", "the success to be reported", 10.0)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_no_token_is_needed_and_a_wrong_one_changes_nothing(web: HttpClient, path: str) -> None:
    answers = [web.as_bearer(token).get(path) for token in (None, "wrong-token-0123456789", ADMIN)]
    assert len({answer.status for answer in answers}) == 1
    assert answers[0].status in (200, 503)
