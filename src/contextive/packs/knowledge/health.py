"""`km-health-summary` and `km-scheduler-status`: whether the index is well, and what is done by the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from contextive.errors import ContextiveError
from contextive.ingest.schedule import SchedulePlan, describe_schedule, overdue
from contextive.packs.introspect import HealthCheck, ServerFacts, health_report
from contextive.packs.knowledge.pack import LABELS, index_of, pack, shown_as_of
from contextive.registry import Context, NoInput, Scope, ToolOutput

if TYPE_CHECKING:
    from contextive.search.index import Index

_DAY_SECONDS = 86_400.0
_HOUR_SECONDS = 3_600.0


class HealthAnswer(ToolOutput):
    status: Literal["ok", "degraded"]
    checks: dict[str, Any] = Field(description="ok and detail, by name")
    timestamp: str
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#km-health-summary
##% The tool `km-health-summary` MUST say `ok` or `degraded`, and why, part by part.
@pack.tool(
    "km-health-summary",
    title="Health of the index",
    description="Whether server and index are well (status ok or degraded), check by check: index, coverage, scheduler, backup.",
    labels=LABELS,
    invocation_hints="when answers look stale or wrong",
)
def health_summary(_given: NoInput, ctx: Context) -> HealthAnswer:
    index = index_of(ctx)
    as_of = shown_as_of(index.as_of())  # opens the index, which the checks then speak of
    report = health_report(ctx.service(ServerFacts).checks())
    return HealthAnswer(
        status="ok" if report.status == "healthy" else "degraded",
        checks={check.name: {"ok": check.ok, "detail": check.detail} for check in report.checks},
        timestamp=report.timestamp,
        as_of=as_of,
    )


class ScheduleAnswer(ToolOutput):
    status: Literal["success"] = "success"
    enabled: bool
    leader: str | None = Field(None, description="Process that runs the jobs")
    jobs: list[dict[str, Any]] = Field(description="name, enabled, interval or cron, last and next turn")


@pack.tool(
    "km-scheduler-status",
    title="Scheduler",
    description="The jobs that run by the clock (ingest, backup): interval or cron, last turn and result, next turn, leader.",
    scope=Scope.MAINTAINER,
    labels=LABELS,
    invocation_hints="to see why a scheduled ingest or backup did not happen",
)
def scheduler_status(_given: NoInput, ctx: Context) -> ScheduleAnswer:
    return ScheduleAnswer(**describe_schedule(ctx.service(SchedulePlan), index_of(ctx).store, time.time()))


def index_checks(index: Index, plan: SchedulePlan, *, is_kept: bool, now: float | None = None) -> list[HealthCheck]:
    """What can be said about an index without work: one question each to the store."""
    now = time.time() if now is None else now
    try:
        return list(_checks(index, plan, is_kept, now))
    except ContextiveError as error:
        return [HealthCheck("index", False, error.message)]


def _checks(index: Index, plan: SchedulePlan, is_kept: bool, now: float) -> Iterator[HealthCheck]:
    as_of = index.as_of()
    yield HealthCheck("index", True, f"generation {as_of.generation}, {as_of.pending_vectors} vectors pending")
    yield _coverage(index, plan, is_kept, now)
    last = index.last_run()
    yield HealthCheck(
        "audit", last is None or last.success, "no run yet" if last is None else f"last run {last.profile}"
    )
    late = overdue(plan, index.store, now)
    for job in plan.jobs:
        name = "scheduler" if job.name == "ingest" else job.name
        detail = "off" if not job.enabled else "failed or late" if job.name in late else "on"
        yield HealthCheck(name, job.name not in late, detail)


##= docs/spec/knowledge.md#km-health-summary
##% An index that nothing follows MUST count as stale after a day, or after twice the interval of a scheduled ingest.
def _coverage(index: Index, plan: SchedulePlan, is_kept: bool, now: float) -> HealthCheck:
    """An index that follows its files is never stale; any other one is after a day, or twice its interval."""
    reports = index.store.reports("coverage", 1)
    if not reports:
        return HealthCheck("coverage", is_kept, "no report yet")
    age = now - reports[0].generated_at
    scheduled = next((job for job in plan.jobs if job.name == "ingest" and job.enabled and not job.cron), None)
    longest = max(2 * 60.0 * scheduled.interval_minutes, _HOUR_SECONDS) if scheduled else _DAY_SECONDS
    is_fresh = is_kept or age <= longest
    return HealthCheck("coverage", is_fresh, "fresh" if is_fresh else f"{age / _HOUR_SECONDS:.0f} hours old")
