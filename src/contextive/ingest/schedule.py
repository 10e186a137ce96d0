"""Scheduled jobs: when each is due, and the result of its last execution.

Results are kept in the store, so every process of a project can report them, and a new leader continues where the
last one stopped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from contextive.config.cron import Cron
from contextive.store.protocol import Store

JobName = Literal["ingest", "backup"]
JobSkipReason = Literal["lock", "head", "auth"]
LEASE = "scheduler"
"""The process with this lease runs the jobs of a project."""
INGEST_PROFILE = "scheduled"
_STATE_KEY = "schedule:"


@dataclass(frozen=True, slots=True)
class JobPlan:
    """One job: whether it is enabled, and when it runs."""

    name: JobName
    enabled: bool
    interval_minutes: int
    cron: str | None = None

    ##= docs/spec/gateway.md#schedule
    ##% A job MUST run after each interval, or at the times of `cron` if that is set.
    def next_due(self, last: float | None, now: float) -> float:
        """When the job is due next. With an interval, the first execution is one interval after the start."""
        if self.cron is not None:
            after = datetime.fromtimestamp(now if last is None else last, UTC)
            return Cron.parse(self.cron).next_after(after).timestamp()
        return (now if last is None else last) + self.interval_minutes * 60


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """All jobs of a server."""

    jobs: tuple[JobPlan, ...] = ()

    @property
    def is_enabled(self) -> bool:
        return any(job.enabled for job in self.jobs)


@dataclass(frozen=True, slots=True)
class JobState:
    """The last execution of a job. A skipped execution counts, too."""

    last_at: float | None = None
    result: Literal["success", "failure", "skipped"] | None = None
    detail: str | None = None
    """Why it was skipped, or the code of the error."""
    duration_seconds: float | None = None
    skips: int = 0
    """Executions skipped in a row."""


def read_state(store: Store, job: JobName) -> JobState:
    """The last state of a job in the store; empty if it cannot be parsed."""
    try:
        return JobState(**json.loads(store.state(_STATE_KEY + job) or "{}"))
    except (ValueError, TypeError):
        return JobState()


def write_state(store: Store, job: JobName, state: JobState) -> None:
    with store.transaction() as writer:
        writer.put_state(_STATE_KEY + job, json.dumps(asdict(state)))


##= docs/spec/gateway.md#schedule
##% The tool `km-scheduler-status` MUST report the last and the next execution of each job.
def describe_schedule(plan: SchedulePlan, store: Store, now: float) -> dict[str, Any]:
    """The schedule as JSON values: each job with its last and next execution, and the process that runs them."""
    return {
        "enabled": plan.is_enabled,
        "leader": store.lease_holder(LEASE),
        "jobs": [_job_to_dict(job, read_state(store, job.name), now) for job in plan.jobs],
    }


##= docs/spec/gateway.md#schedule
##% A failed or late job MUST set the health to degraded.
def overdue(plan: SchedulePlan, store: Store, now: float) -> Sequence[JobName]:
    """Jobs whose last execution failed, or that are late by more than their interval and by more than an hour."""
    late: list[JobName] = []
    for job in plan.jobs:
        state = read_state(store, job.name)
        if not job.enabled or state.last_at is None:
            continue
        due = job.next_due(state.last_at, now)
        if state.result == "failure" or now - due > max(3600.0, due - state.last_at):
            late.append(job.name)
    return late


def _job_to_dict(job: JobPlan, state: JobState, now: float) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": job.name, "enabled": job.enabled}
    fields |= {"cron": job.cron} if job.cron else {"interval_minutes": job.interval_minutes}
    if state.last_at is not None:
        fields |= {"last_at": _iso(state.last_at), "last_result": state.result, "skips": state.skips}
        fields |= {"last_detail": state.detail} if state.detail else {}
    if job.enabled:
        fields["next_at"] = _iso(max(now, job.next_due(state.last_at, now)))
    return fields


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
