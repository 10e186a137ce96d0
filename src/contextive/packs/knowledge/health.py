"""`km-health-summary` and `km-scheduler-status`: health of the index, and scheduled jobs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from contextive.errors import ContextiveError
from contextive.ingest.schedule import SchedulePlan, describe_schedule, overdue
from contextive.packs.introspect import HealthCheck, ServerFacts, health_report
from contextive.packs.knowledge.pack import LABELS, as_of_to_dict, index_of, pack
from contextive.registry import Context, NoInput, Scope, ToolOutput

if TYPE_CHECKING:
    from contextive.search.index import Index
    from contextive.store.values import StoreCondition

_DAY_SECONDS = 86_400.0
_HOUR_SECONDS = 3_600.0


class HealthAnswer(ToolOutput):
    status: Literal["ok", "degraded"]
    checks: dict[str, Any] = Field(description="ok and detail, by name")
    timestamp: str
    as_of: dict[str, Any]


##= docs/spec/knowledge.md#km-health-summary
##% The tool `km-health-summary` MUST report `ok` or `degraded`, with the reason for each part.
@pack.tool(
    "km-health-summary",
    title="Index health",
    description="Health of server and index (status ok or degraded), with each check: index, coverage, scheduler, backup.",
    labels=LABELS,
    invocation_hints="when answers look stale or wrong",
)
def health_summary(_given: NoInput, ctx: Context) -> HealthAnswer:
    report = health_report(ctx.service(ServerFacts).checks())
    try:
        as_of = as_of_to_dict(index_of(ctx).as_of())
    except ContextiveError:
        as_of = {}  # the check "index" reports the reason
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
    jobs: list[dict[str, Any]] = Field(description="name, enabled, interval or cron, last and next run")


@pack.tool(
    "km-scheduler-status",
    title="Scheduler",
    description="Scheduled jobs (ingest, backup): interval or cron, last run and its result, next run, leader.",
    scope=Scope.MAINTAINER,
    labels=LABELS,
    invocation_hints="to see why a scheduled ingest or backup did not run",
)
def scheduler_status(_given: NoInput, ctx: Context) -> ScheduleAnswer:
    return ScheduleAnswer(**describe_schedule(ctx.service(SchedulePlan), index_of(ctx).store, time.time()))


def no_index_yet(indexes_itself: bool) -> HealthCheck:
    """The check of a project that was never indexed. It passes if a server indexes the project when it starts."""
    advice = " A server builds it when it starts; so does contextive-mcp ingest." if indexes_itself else ""
    return HealthCheck("index", indexes_itself, f"There is no index yet.{advice}", "Run contextive-mcp ingest.")


##= docs/spec/host.md#health
##% Every place that reports health MUST report the same reasons.
def index_checks(index: Index, plan: SchedulePlan, *, is_watched: bool, now: float | None = None) -> list[HealthCheck]:
    """All checks of an index. Each costs at most one query or one write of a small file."""
    now = time.time() if now is None else now
    condition = index.condition()
    if condition.reason_code == "project_missing":
        return [HealthCheck("index", False, condition.message, condition.hint)]
    checks = [*_state_directory(condition)]
    try:
        checks += _store_checks(index, plan, is_watched, now)
    except ContextiveError as error:
        checks.append(HealthCheck("index", False, error.message, error.hint or ""))
    return checks


def _store_checks(index: Index, plan: SchedulePlan, is_watched: bool, now: float) -> Iterator[HealthCheck]:
    as_of = index.as_of()
    files = f"{as_of.pending_files} files and " if as_of.pending_files else ""
    yield HealthCheck("index", True, f"generation {as_of.generation}, {files}{as_of.pending_vectors} vectors pending")
    yield _embeddings(index)
    yield _watcher(index)
    yield _coverage(index, plan, is_watched, now)
    last = index.last_run()
    yield HealthCheck(
        "audit", last is None or last.success, "no run yet" if last is None else f"last run {last.profile}"
    )
    late = overdue(plan, index.store, now)
    for job in plan.jobs:
        name = "scheduler" if job.name == "ingest" else job.name
        detail = "off" if not job.enabled else "failed or late" if job.name in late else "on"
        yield HealthCheck(name, job.name not in late, detail)


def _state_directory(condition: StoreCondition) -> Iterator[HealthCheck]:
    """Whether the state directory is writable, and whether the index in it was repaired with data loss."""
    is_unusable = condition.reason_code in ("read_only", "full", "busy", "unreachable")
    yield HealthCheck("state", not is_unusable, condition.message if is_unusable else "can be written", condition.hint)
    if condition.reason_code == "repaired":
        yield HealthCheck("repair", False, condition.message, condition.hint)


def _embeddings(index: Index) -> HealthCheck:
    problem = index.embedding_problem()
    remedy = "A running server computes embeddings; so does contextive-mcp ingest --wait."
    return HealthCheck("embeddings", not problem, problem or "complete", remedy)


def _watcher(index: Index) -> HealthCheck:
    problem = index.watcher_problem()
    is_watched = index.is_watched or index.store.lease_holder("keeper") is not None
    detail = problem or ("files are watched" if is_watched else "no server is watching the files")
    return HealthCheck("watcher", not problem, detail, "See the server log, then restart the server.")


##= docs/spec/knowledge.md#km-health-summary
##% An index that no server maintains MUST count as stale after a day, or after twice the interval of a scheduled
##% ingest.
def _coverage(index: Index, plan: SchedulePlan, is_watched: bool, now: float) -> HealthCheck:
    """A watched index is never stale. Any other index is stale after a day, or after twice its ingest interval."""
    reports = index.store.records.reports("coverage", 1)
    if not reports:
        return HealthCheck("coverage", is_watched, "no report yet")
    age = now - reports[0].generated_at
    scheduled = next((job for job in plan.jobs if job.name == "ingest" and job.enabled and not job.cron), None)
    longest = max(2 * 60.0 * scheduled.interval_minutes, _HOUR_SECONDS) if scheduled else _DAY_SECONDS
    is_fresh = is_watched or age <= longest
    return HealthCheck("coverage", is_fresh, "fresh" if is_fresh else f"{age / _HOUR_SECONDS:.0f} hours old")
