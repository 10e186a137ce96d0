"""Status: how fresh the index is, what runs, what is wrong and why, who may sign in, and how to connect a client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contextive.errors import ContextiveError
from contextive.ingest.schedule import SchedulePlan, describe_schedule
from contextive.store.values import Run
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject


@dataclass(frozen=True, slots=True)
class CheckLine:
    name: str
    is_ok: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Running:
    """A run that is in progress."""

    phase: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run that has ended."""

    profile: str
    ended_at: float
    seconds: float
    is_ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class JobLine:
    name: str
    is_enabled: bool
    rhythm: str
    last: str
    next: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """How to connect a client, ready to copy."""

    client: str
    text: str


@dataclass(frozen=True, slots=True)
class Status:
    is_healthy: bool
    checks: tuple[CheckLine, ...]
    generation: int
    indexed_at: float
    pending_files: int
    pending_vectors: int
    running: Running | None
    runs: tuple[RunLine, ...]
    jobs: tuple[JobLine, ...]
    tokens: tuple[str, ...]
    snippets: tuple[Snippet, ...]
    problem: str


def status(project: SiteProject, _given: Parameters) -> Page:
    """Everything about the server and its index."""
    checks = tuple(CheckLine(check.name, check.ok, check.reason) for check in project.checks())
    facts, problem = _index_facts(project)
    content = Status(
        is_healthy=all(check.is_ok for check in checks),
        checks=tuple(sorted(checks, key=lambda check: check.is_ok)),
        tokens=project.token_names,
        snippets=tuple(_snippets(project)),
        problem=problem,
        **facts,
    )
    return Page("status.html", "Status", content, "status")


def _index_facts(project: SiteProject) -> tuple[dict[str, Any], str]:
    """What is known about the index, and why nothing is."""
    nothing = {"generation": 0, "indexed_at": 0.0, "pending_files": 0, "pending_vectors": 0}
    try:
        index = project.index()
        as_of = index.as_of()
        runs = index.store.records.runs(5)
        running = index.status().get("running")
        jobs = describe_schedule(project.service(SchedulePlan), index.store, time.time())["jobs"]
    except ContextiveError as error:
        return {**nothing, "running": None, "runs": (), "jobs": ()}, error.full_message()
    return {
        "generation": as_of.generation,
        "indexed_at": as_of.committed_at,
        "pending_files": as_of.pending_files,
        "pending_vectors": as_of.pending_vectors,
        "running": _running(running),
        "runs": tuple(
            RunLine(
                run.profile,
                run.started_at + run.duration_seconds,
                run.duration_seconds,
                run.success,
                run.error or ", ".join(_changes(run)) or "nothing changed",
            )
            for run in runs
        ),
        "jobs": tuple(map(_job, jobs)),
    }, ""


def _running(found: dict[str, Any] | None) -> Running | None:
    if found is None:
        return None
    return Running(str(found.get("phase", "another process is indexing")), found.get("done", 0), found.get("total", 0))


def _changes(run: Run) -> Iterator[str]:
    for kind, number in run.changed_counts.items():
        if number:
            yield f"{number:,} {kind}"
    if run.removed:
        yield f"{len(run.removed):,} removed"


def _job(job: dict[str, Any]) -> JobLine:
    rhythm = job.get("cron") or f"every {job.get('interval_minutes', 0):g} min"
    last = f"{job['last_at']} ({job.get('last_result')})" if "last_at" in job else "never"
    return JobLine(job["name"], job["enabled"], str(rhythm), last, str(job.get("next_at", "")))


def _snippets(project: SiteProject) -> Iterator[Snippet]:
    """Entries for clients. They contain the address of this server and never a token."""
    url = f"{project.address}/mcp"
    yield Snippet("Claude Code", f"claude mcp add --transport http contextive {url}")
    entry = f'{{\n  "mcpServers": {{\n    "contextive": {{ "type": "http", "url": "{url}" }}\n  }}\n}}'
    yield Snippet("Cursor, Kiro and most others", entry)
    yield Snippet("VS Code", entry.replace("mcpServers", "servers"))
    yield Snippet("Over a pipe, without this server", "contextive-mcp install")
