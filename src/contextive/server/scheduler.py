"""Runs scheduled ingests and backups in the background of a server process.

Of all processes that serve a project, only the holder of the lease `scheduler` runs jobs. A job is a normal tool call,
so it has the same log line, metrics and audit entry as any other call.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from contextive.errors import ContextiveError, ToolNotFound
from contextive.ingest.schedule import (
    INGEST_PROFILE,
    LEASE,
    JobPlan,
    JobSkipReason,
    JobState,
    SchedulePlan,
    read_state,
    write_state,
)
from contextive.packs import SCHEDULED_TOOLS
from contextive.registry import Caller, Scope
from contextive.search.index import Index
from contextive.server.logs import FIELDS
from contextive.workspace.git import git_head

if TYPE_CHECKING:
    from contextive.config import Config
    from contextive.server.host import Host
    from contextive.store.protocol import Lease, Store

logger = logging.getLogger(__name__)

CALLER = Caller("scheduler", Scope.MAINTAINER)
_POLL_SECONDS = 1.0


##= docs/spec/gateway.md#schedule
##% Jobs MUST run on a schedule only if the configuration asks for it.
def plan_of(config: Config) -> SchedulePlan:
    """The jobs that a configuration describes."""
    ingest, backup = config.knowledge.schedule.ingest, config.knowledge.schedule.backup
    return SchedulePlan(
        (
            JobPlan("ingest", ingest.enabled, ingest.interval_minutes, ingest.cron),
            JobPlan("backup", backup.enabled, backup.interval_minutes, backup.cron),
        )
    )


class Scheduler:
    """Checks every second whether a job is due. The clock is a parameter so that tests need not wait."""

    def __init__(self, host: Host, clock: Callable[[], float] = time.time, poll_seconds: float = _POLL_SECONDS) -> None:
        self._host = host
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._lease: Lease | None = None
        self._started_at = clock()

    async def run(self) -> None:
        """Run jobs until cancelled, then release the lease."""
        try:
            while True:
                await asyncio.sleep(self._poll_seconds)
                try:
                    await self.run_due_jobs()
                except ContextiveError as error:
                    logger.warning("scheduled jobs cannot run now: %s", error.full_message())
        finally:
            self._release()

    async def run_due_jobs(self) -> None:
        """Run the jobs that are due, if this process has the lease."""
        plan = plan_of(self._host.config)
        if not plan.is_enabled or self._host.is_remote or not await asyncio.to_thread(self._acquire_lease):
            if not plan.is_enabled:
                self._release()
            return
        for job in plan.jobs:
            if job.enabled and await asyncio.to_thread(self._is_due, job):
                await self._run_job(job)

    ##= docs/spec/gateway.md#schedule
    ##% Exactly one server of a project MUST run the jobs, and another one takes over when it ends.
    def _acquire_lease(self) -> bool:
        if self._lease is None or not self._lease.is_held:
            self._lease = self._store.acquire_lease(LEASE, self._host.holder)
        return self._lease is not None

    def _is_due(self, job: JobPlan) -> bool:
        last = read_state(self._store, job.name).last_at
        now = self._clock()
        return now >= job.next_due(self._started_at if last is None else last, now)

    async def _run_job(self, job: JobPlan) -> None:
        before = await asyncio.to_thread(read_state, self._store, job.name)
        at = self._clock()
        reason = await asyncio.to_thread(self._skip_reason, job)
        if reason is not None:
            state = JobState(at, "skipped", reason, None, before.skips + 1)
        else:
            started = time.monotonic()
            error = await self._call(job)
            result = "success" if error is None else "failure"
            state = JobState(at, result, error, round(time.monotonic() - started, 3))  # type: ignore[arg-type]
        await asyncio.to_thread(write_state, self._store, job.name, state)
        if self._host.metrics is not None:
            self._host.metrics.index.count_job_run(job.name, state.result or "", reason, at)
        logger.info("schedule", extra={FIELDS: {"job": job.name, "status": state.result, "reason": state.detail}})

    ##= docs/spec/gateway.md#schedule
    ##% A scheduled ingest MUST be skipped while another ingest runs, and when the git HEAD has not changed.
    ##= docs/spec/gateway.md#schedule
    ##% If there are tokens but none has the maintainer scope, jobs MUST change nothing.
    def _skip_reason(self, job: JobPlan) -> JobSkipReason | None:
        """Why to skip a job: no valid maintainer token (auth), an ingest is running (lock), no new commit (head)."""
        authenticator = self._host.authenticator()
        if authenticator and not authenticator.has_maintainer:
            return "auth"
        if job.name != "ingest":
            return None
        if self._store.lease_holder("ingest") is not None:
            return "lock"
        runs = self._store.records.runs(1, INGEST_PROFILE)
        head = git_head(self._host.loaded.project)
        return "head" if head is not None and runs and runs[0].success and runs[0].repo_head == head else None

    async def _call(self, job: JobPlan) -> str | None:
        """Run a job; return the error code, or None if it succeeded."""
        tool = SCHEDULED_TOOLS[job.name]
        profile = self._host.profile_with("knowledge")
        surface = self._host.surface_for(profile, CALLER)
        context = self._host.context(CALLER, door="scheduler", profile=profile, request_id=uuid.uuid4().hex)
        arguments = {"profile": INGEST_PROFILE} if job.name == "ingest" else {}
        try:
            result = await self._host.dispatcher.call(surface, tool, arguments, context)
        except ToolNotFound:
            logger.warning("%s is not available on this server, so it cannot be scheduled", tool)
            return ToolNotFound.code
        except ContextiveError as error:
            logger.warning("the scheduled %s failed: %s", job.name, error.full_message())
            return error.code
        return "failed" if result.is_error else None

    @property
    def _store(self) -> Store:
        return self._host.services.get(Index).store

    def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()
