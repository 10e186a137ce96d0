"""Each condition that degrades a server is created for real, and all health reports must give the same reason."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, WebServer, serving_http, wait_until
from tests.server.conftest import ADMIN
from tests.server.gateways import TOKENS, UNLIMITED, ExampleProject

Steps = Callable[[Path, contextlib.ExitStack], None]


@dataclass(frozen=True)
class Condition:
    """How to create a condition, before the server starts or while it runs, and which check reports it."""

    check: str
    reason: str
    before: Steps = lambda _project, _stack: None
    during: Steps = lambda _project, _stack: None
    doctor: str = ""
    command: Sequence[str] = ()
    env: dict[str, str] = field(default_factory=dict)


def mount(stack: contextlib.ExitStack, folder: Path, *options: str) -> None:
    try:
        subprocess.run(["mount", *options, str(folder)], check=True, capture_output=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("mounting is not allowed here")
    stack.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True, timeout=10)


def small_disk(project: Path, stack: contextlib.ExitStack) -> None:
    state = project / ".contextive"
    saved = project.parent / "saved"
    shutil.move(state, saved)
    state.mkdir()
    mount(stack, state, "-t", "tmpfs", "-o", "size=48m", "tmpfs")
    shutil.copytree(saved, state, dirs_exist_ok=True)


def fill_disk(project: Path, _stack: contextlib.ExitStack) -> None:
    with contextlib.suppress(OSError), (project / ".contextive" / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))


def make_read_only(project: Path, stack: contextlib.ExitStack) -> None:
    state = project / ".contextive"
    mount(stack, state, "--bind", str(state))
    subprocess.run(["mount", "-o", "remount,ro,bind", str(state)], check=True, timeout=10)


def break_configuration(project: Path, _stack: contextlib.ExitStack) -> None:
    (project / "contextive.config.yaml").write_text("server: {logLevel: shouting}\n", encoding="utf-8")


def set_schema(version: int) -> Steps:
    def steps(project: Path, _stack: contextlib.ExitStack) -> None:
        with contextlib.closing(sqlite3.connect(project / ".contextive" / "index.db")) as database:
            database.execute(f"PRAGMA user_version = {version}")

    return steps


def add_unembedded_file(project: Path, _stack: contextlib.ExitStack) -> None:
    (project / "unread.md").write_text("# Unread\n\nNo model has seen this text.\n", encoding="utf-8")
    command = [*PROGRAM, "ingest", "--no-vectors"]
    subprocess.run(command, cwd=project, env=clean_environment(MODEL), check=True, capture_output=True, timeout=60)


MODEL = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy"}
WITHOUT_INOTIFY = (
    "unshare",
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"',
    "sh",
)
CONDITIONS = {
    "a full disk": Condition("state", "disk of the state directory is full", small_disk, fill_disk),
    "a read-only directory": Condition("state", "state directory is read-only", make_read_only),
    "a refused configuration": Condition("config", "logLevel", during=break_configuration, doctor="configuration"),
    "a newer schema": Condition("index", "schema 9999", set_schema(9999)),
    "missing embeddings": Condition(
        "embeddings",
        "no embedding yet",
        add_unembedded_file,
        doctor="vectors",
        env={"CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"},
    ),
    "a dead watcher": Condition("watcher", "does not report file changes", command=WITHOUT_INOTIFY),
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> ExampleProject:
    station = ExampleProject.at(tmp_path_factory.mktemp("health"))
    station.run("ingest", "--wait", "--name", "first")
    return station


@contextlib.contextmanager
def degraded(indexed: ExampleProject, folder: Path, condition: Condition) -> Iterator[tuple[ExampleProject, WebServer]]:
    station = ExampleProject(shutil.copytree(indexed.root, folder / "project"), folder / "user")
    if condition.command and subprocess.run([*condition.command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces are not allowed here")
    env = station.environment({**TOKENS, **UNLIMITED, **condition.env})
    with contextlib.ExitStack() as stack:
        condition.before(station.root, stack)
        command = (*condition.command, *PROGRAM)
        server = stack.enter_context(serving_http(cwd=station.root, env=env, command=command))
        condition.during(station.root, stack)
        yield station, server


def read_everywhere(station: ExampleProject, server: WebServer, condition: Condition) -> dict[str, tuple[str, str]]:
    """The status and the reason of the condition's check in each report."""
    admin = server.web.as_bearer(ADMIN)
    found: dict[str, tuple[str, str]] = {}
    for path, key in (("/healthz", "checks"), ("/readyz", "dependencies")):
        body = server.web.get(path).json
        found[path] = body["status"], body[key][condition.check]["detail"]
    health = admin.post("/api/v1/tools/contextive_health", b"{}").json["result"]
    found["contextive_health"] = health["status"], reason_in(health["checks"], "name", condition.check)
    summary = admin.post("/api/v1/tools/km-health-summary", b"{}").json["result"]
    found["km-health-summary"] = summary["status"], summary["checks"][condition.check]["detail"]
    status = printed(station, condition, "status")["health"]
    found["status"] = status["status"], status["reasons"][condition.check]
    findings = printed(station, condition, "doctor")
    subject = condition.doctor or condition.check
    wrong = "ok" if all(finding["ok"] for finding in findings if finding["subject"] == subject) else "degraded"
    found["doctor"] = wrong, reason_in([f for f in findings if not f["ok"]], "subject", subject)
    return found


def reason_in(entries: list[dict[str, Any]], key: str, name: str) -> str:
    return next(str(entry["detail"]) for entry in entries if entry[key] == name)


def printed(station: ExampleProject, condition: Condition, command: str) -> Any:
    done = subprocess.run(
        [*PROGRAM, command, "--json"],
        cwd=station.root,
        env=clean_environment(station.environment(condition.env)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


##= docs/spec/host.md#health
##= type=test
##% Every place that reports health MUST report the same reasons.
@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_is_reported_everywhere_with_the_same_reason(
    name: str, indexed: ExampleProject, tmp_path: Path
) -> None:
    condition = CONDITIONS[name]

    with degraded(indexed, tmp_path, condition) as (station, server):
        wait_until(
            lambda: not server.web.get("/healthz").json["checks"].get(condition.check, {"ok": True})["ok"], name, 20.0
        )
        found = read_everywhere(station, server, condition)
        metrics = server.web.as_bearer(ADMIN).get("/metrics").text

    assert {verdict for verdict, _ in found.values()} == {"degraded"}, found
    reason = found["/healthz"][1]
    assert condition.reason in reason
    doctor = found.pop("doctor")[1]
    assert {detail for _, detail in found.values()} == {reason}
    assert reason.startswith(doctor), "doctor prints the fix separately"
    assert f'contextive_check_ok{{check="{condition.check}"}} 0.0' in metrics


def test_a_server_that_has_indexed_everything_is_ok_everywhere(indexed: ExampleProject) -> None:
    with indexed.serve(env={**TOKENS, **UNLIMITED}) as server:
        wait_until(lambda: server.web.get("/healthz").json["status"] == "ok", "the first run", 30.0)
        assert server.web.get("/readyz").json["status"] == "ready"
        admin = server.web.as_bearer(ADMIN)
        assert admin.post("/api/v1/tools/contextive_health", b"{}").json["result"]["status"] == "healthy"
        assert json.loads(indexed.run("status", "--json"))["health"] == {"status": "ok", "reasons": {}}
        assert "contextive_check_ok" in admin.get("/metrics").text
