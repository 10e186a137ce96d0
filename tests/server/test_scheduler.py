"""Scheduled ingests and backups: when they are due, when they are skipped, and which process runs them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool
from contextive.config import ConfigRequest, load_config
from contextive.ingest.schedule import JobPlan, JobState, read_state, write_state
from contextive.packs import BUILTIN
from contextive.search.index import Index
from contextive.server.host import Host
from contextive.server.scheduler import Scheduler
from contextive.store import open_store
from tests.packs.knowledge.repository import commit_all, write_repository
from tests.raw_clients import wait_until
from tests.server.conftest import ADMIN, READER
from tests.server.gateways import ExampleProject

HOURLY = {"KM_SCHEDULER_ENABLED": "true", "KM_SCHEDULER_INTERVAL_MINUTES": "60", "KM_ADMIN_TOKEN": ADMIN}


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


OpenHost = Callable[..., Host]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "station")


@pytest.fixture
def open_host(repository: Path) -> Iterator[OpenHost]:
    hosts: list[Host] = []

    def open_at(**environ: str) -> Host:
        request = ConfigRequest(
            project=repository,
            builtin_packs=frozenset(BUILTIN),
            environ={"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none", **environ},
        )
        hosts.append(Host(load_config(request), mode="in-process"))
        return hosts[-1]

    yield open_at
    for host in hosts:
        host.close()


def profiles(host: Host) -> list[str]:
    return [run.profile for run in host.services.get(Index).store.records.runs(100)]


def state_of(host: Host, job: Any = "ingest") -> JobState:
    return read_state(host.services.get(Index).store, job)


def run_due_jobs(scheduler: Scheduler) -> None:
    asyncio.run(scheduler.run_due_jobs())


##= docs/spec/gateway.md#schedule
##% Jobs MUST run on a schedule only if the configuration asks for it.
def test_no_job_runs_unless_scheduling_is_enabled(open_host: OpenHost) -> None:
    host, clock = open_host(), Clock()
    scheduler = Scheduler(host, clock)
    clock.now += 1_000_000
    run_due_jobs(scheduler)
    assert profiles(host) == []
    assert host.services.get(Index).store.lease_holder("scheduler") is None


##= docs/spec/gateway.md#schedule
##% A job MUST run after each interval, or at the times of `cron` if that is set.
def test_an_ingest_runs_after_each_interval_with_a_new_commit(open_host: OpenHost, repository: Path) -> None:
    host, clock = open_host(**HOURLY), Clock()
    scheduler = Scheduler(host, clock)
    run_due_jobs(scheduler)
    assert profiles(host) == []
    clock.now += 3600
    run_due_jobs(scheduler)
    assert profiles(host) == ["scheduled"]
    assert state_of(host).result == "success"
    clock.now += 3600
    run_due_jobs(scheduler)
    assert (state_of(host).result, state_of(host).detail, state_of(host).skips) == ("skipped", "head", 1)
    commit_all(repository, "Another one")
    clock.now += 1800
    run_due_jobs(scheduler)
    assert profiles(host) == ["scheduled"]
    clock.now += 1800
    run_due_jobs(scheduler)
    assert profiles(host) == ["scheduled", "scheduled"]
    assert state_of(host).skips == 0


##= docs/spec/gateway.md#schedule
##% A scheduled ingest MUST be skipped while another ingest runs, and when the git HEAD has not changed.
def test_an_ingest_is_skipped_while_another_one_runs(open_host: OpenHost) -> None:
    host, clock = open_host(**HOURLY), Clock()
    scheduler = Scheduler(host, clock)
    lease = host.services.get(Index).store.acquire_lease("ingest", "somebody")
    assert lease is not None
    clock.now += 3601
    run_due_jobs(scheduler)
    assert (state_of(host).result, state_of(host).detail) == ("skipped", "lock")
    lease.release()
    clock.now += 3601
    run_due_jobs(scheduler)
    assert state_of(host).result == "success"


##= docs/spec/gateway.md#schedule
##% If there are tokens but none has the maintainer scope, jobs MUST change nothing.
def test_with_tokens_but_no_maintainer_token_jobs_are_skipped(open_host: OpenHost) -> None:
    host, clock = open_host(**{**HOURLY, "KM_ADMIN_TOKEN": "", "KM_READER_TOKEN": READER}), Clock()
    scheduler = Scheduler(host, clock)
    clock.now += 3601
    run_due_jobs(scheduler)
    assert (state_of(host).detail, profiles(host)) == ("auth", [])


def test_a_cron_wins_over_the_interval(open_host: OpenHost) -> None:
    host, clock = open_host(**HOURLY, KM_SCHEDULER_CRON="*/10 * * * *"), Clock()
    scheduler = Scheduler(host, clock)
    clock.now += 601
    run_due_jobs(scheduler)
    assert profiles(host) == ["scheduled"]


def test_a_scheduled_backup_uses_the_backup_tool(open_host: OpenHost, repository: Path) -> None:
    host = open_host(KM_BACKUP_ENABLED="true", KM_BACKUP_INTERVAL_MINUTES="5", KM_ADMIN_TOKEN=ADMIN)
    clock = Clock()
    scheduler = Scheduler(host, clock)
    clock.now += 301
    run_due_jobs(scheduler)
    assert state_of(host, "backup").result == "success"
    assert list((repository / ".contextive").glob("backups/**/km-backup-*.tgz"))


##= docs/spec/gateway.md#schedule
##% Exactly one server of a project MUST run the jobs, and another one takes over when it ends.
def test_only_one_scheduler_runs_jobs_and_another_takes_over(open_host: OpenHost) -> None:
    first, second, clock = open_host(**HOURLY), open_host(**HOURLY), Clock()
    leader, follower = Scheduler(first, clock), Scheduler(second, clock)
    run_due_jobs(leader)
    run_due_jobs(follower)
    clock.now += 3601
    run_due_jobs(follower)
    assert profiles(first) == []
    leader._release()
    run_due_jobs(follower)
    assert profiles(first) == ["scheduled"]


##= docs/spec/gateway.md#schedule
##% The tool `km-scheduler-status` MUST report the last and the next execution of each job.
def test_the_status_shows_the_leader_and_the_times_of_jobs(open_host: OpenHost) -> None:
    host, clock = open_host(**HOURLY), Clock()
    scheduler = Scheduler(host, clock)
    clock.now += 3601
    run_due_jobs(scheduler)
    status = call_tool(host, "km-scheduler-status", {})
    assert status["enabled"] is True
    assert status["leader"] == host.holder
    ingest, backup = status["jobs"]
    assert (ingest["name"], ingest["interval_minutes"], ingest["last_result"]) == ("ingest", 60, "success")
    assert ingest["next_at"] > ingest["last_at"]
    assert backup == {"name": "backup", "enabled": False, "interval_minutes": 720}


##= docs/spec/knowledge.md#km-health-summary
##% The tool `km-health-summary` MUST report `ok` or `degraded`, with the reason for each part.
##= docs/spec/gateway.md#schedule
##% A failed or late job MUST set the health to degraded.
def test_a_failed_job_makes_the_server_degraded(open_host: OpenHost) -> None:
    host = open_host(**HOURLY)
    assert call_tool(host, "km-ingest-trigger", {})["status"] == "success"
    assert call_tool(host, "km-health-summary", {})["status"] == "ok"
    write_state(host.services.get(Index).store, "ingest", JobState(time.time(), "failure", "upstream_error", 1.0))
    summary = call_tool(host, "km-health-summary", {})
    assert (summary["status"], summary["checks"]["scheduler"]["ok"]) == ("degraded", False)


##= docs/spec/knowledge.md#km-health-summary
##% An index that no server maintains MUST count as stale after a day, or after twice the interval of a scheduled
##% ingest.
def test_an_index_without_ingests_becomes_stale(open_host: OpenHost) -> None:
    from contextive.ingest.schedule import SchedulePlan
    from contextive.packs.knowledge.health import index_checks

    host = open_host(KM_ADMIN_TOKEN=ADMIN)
    call_tool(host, "km-ingest-trigger", {})
    index = host.services.get(Index)

    def coverage(hours: float, plan: SchedulePlan, *, is_watched: bool = False) -> bool:
        found = index_checks(index, plan, is_watched=is_watched, now=time.time() + hours * 3600)
        return next(check.ok for check in found if check.name == "coverage")

    hourly = SchedulePlan((JobPlan("ingest", True, 60),))
    assert coverage(23, SchedulePlan())
    assert not coverage(25, SchedulePlan())
    assert coverage(25, SchedulePlan(), is_watched=True)
    assert coverage(1.9, hourly)
    assert not coverage(2.1, hourly)


def test_a_real_server_runs_scheduled_jobs(tmp_path: Path) -> None:
    station = ExampleProject.at(tmp_path)
    store = open_store(station.root / ".contextive")
    try:
        write_state(store, "ingest", JobState(time.time() - 7200, "success"))
        with station.serve(env={**HOURLY, "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"}) as server:
            wait_until(lambda: bool(store.records.runs(1, "scheduled")), "the scheduled run", 30.0)
            wait_until(lambda: read_state(store, "ingest").result == "success", "its record", 10.0)
            admin = server.web.as_bearer(ADMIN)
            wait_until(
                lambda: 'km_scheduler_runs_total{job="ingest",result="success"} 1.0' in admin.get("/metrics").text,
                "the metric",
            )
            line = server.process.wait_for_log(lambda found: found.get("caller") == "scheduler")
            assert (line["tool"], line["door"]) == ("km-ingest-trigger", "scheduler")
    finally:
        store.close()
