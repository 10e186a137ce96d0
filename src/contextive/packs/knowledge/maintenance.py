"""Tools for ingest runs, the lifecycle report and votes."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from contextive.errors import ContextiveError, NotFound, Unavailable, UnsupportedOperation
from contextive.ingest.settings import IngestRequest
from contextive.packs.knowledge.pack import LABELS, as_of_to_dict, index_of, pack
from contextive.packs.knowledge.report_forms import ReportInput, ReportList, fields, report_section, short_report
from contextive.registry import Annotations, Context, Reply, Scope, ToolInput
from contextive.registry.budget import Detail
from contextive.registry.registry import safe_repr
from contextive.registry.threads import run_in_thread

if TYPE_CHECKING:
    from contextive.ingest.indexer import IngestResult
    from contextive.search.index import Index
    from contextive.store.values import Run

_LONGEST_RUN_SECONDS = 3_600.0
_MAX_ROWS, _CONCISE_ROWS = 200, 10
"""Files in the full and in the concise answer of a run."""
_PROGRESS_POLL_SECONDS = 0.2
_WRITES = Annotations(read_only=False, destructive=False, idempotent=True)


class ExtensibleAnswer(BaseModel):
    """The published part of an answer that has more fields."""

    model_config = ConfigDict(extra="allow", frozen=True)

    status: str


class StatusInput(ToolInput):
    profile: str | None = Field(None, min_length=1, max_length=64, description="Only runs of this profile")


@pack.tool(
    "km-ingest-status",
    title="Last ingest run",
    description="The latest ingest run (id, success, counts, times) and current activity. status is ok or not_found.",
    scope=Scope.WRITER,
    labels=LABELS,
    invocation_hints="to see whether the index is fresh, or the progress of a run",
    output=ExtensibleAnswer,
)
def ingest_status(given: StatusInput, ctx: Context) -> Reply:
    return Reply(data=status_of(index_of(ctx), given.profile))


class RunListInput(ToolInput):
    profile: str | None = Field(None, min_length=1, max_length=64, description="Only runs of this profile")
    limit: int = Field(10, ge=1, le=100, description="Most runs")


##= docs/spec/gateway.md#km-ingest-status
##% The tool `km-ingest-list` MUST list runs, newest first.
@pack.tool(
    "km-ingest-list",
    title="Ingest runs",
    description="Ingest runs, newest first, with counts, times and success.",
    scope=Scope.WRITER,
    labels=LABELS,
    invocation_hints="to see the history of the index",
    output=ExtensibleAnswer,
)
def ingest_list(given: RunListInput, ctx: Context) -> Reply:
    index = index_of(ctx)
    runs = index.store.records.runs(given.limit, given.profile)
    return Reply(
        data={"status": "success", "runs": [run_to_dict(run) for run in runs], "as_of": as_of_to_dict(index.as_of())}
    )


class TriggerInput(ToolInput):
    profile: str | None = Field(None, min_length=1, max_length=64, description="Name to record the run under")
    dry_run: bool = Field(False, description="Write nothing")
    use_dummy_embeddings: bool = Field(False, description="Embeddings without a model, for smoke tests")
    paths: list[str] | None = Field(None, description="Not supported")
    detail: Detail = "concise"


##= docs/spec/gateway.md#km-ingest-trigger
##% The tool `km-ingest-trigger` MUST bring the index up to date with the files, wait until that is done, and return
##% the run.
##= docs/spec/gateway.md#km-ingest-trigger
##% A run MUST be recorded under `profile`, or under `knowledge.defaultProfile` if none is given.
@pack.tool(
    "km-ingest-trigger",
    title="Index now",
    description="Update the index from the files and wait until it is done, with progress. Returns the run.",
    scope=Scope.WRITER,
    labels=LABELS,
    safety_notes="Writes the index; does not change files.",
    invocation_hints="after files changed outside the watched project, or before a release",
    annotations=_WRITES,
    output=ExtensibleAnswer,
    timeout_seconds=_LONGEST_RUN_SECONDS,
)
async def ingest_trigger(given: TriggerInput, ctx: Context) -> Reply:
    ##= docs/spec/gateway.md#km-ingest-trigger
    ##% A call with `paths` MUST be refused with `unsupported_operation`.
    if given.paths is not None:
        raise UnsupportedOperation(
            "Single paths cannot be ingested.", hint="Omit paths: only changed files are read anyway."
        )
    index = index_of(ctx)
    request = IngestRequest(profile=given.profile or index.settings.default_profile, dry_run=given.dry_run)
    try:
        outcome, vectors, warning = await _run_with_progress(index, request, ctx, dummy=given.use_dummy_embeddings)
    ##= docs/spec/gateway.md#km-ingest-trigger
    ##% A failed run MUST be returned as an error with the `status` `failure`.
    except ContextiveError as error:
        return Reply(
            data={"status": "failure", "profile": request.profile, "success": False, "error": error.as_dict()},
            is_error=True,
        )
    run = outcome_to_dict(outcome, _MAX_ROWS if given.detail == "full" else _CONCISE_ROWS)
    answer = {
        "status": "success",
        **{key: value for key, value in run.items() if not isinstance(value, list)},
        "run": run,
    }
    answer |= {"vectors": vectors, "dry_run": given.dry_run, "as_of": as_of_to_dict(index.as_of())}
    if warning:
        answer["warnings"] = [warning]
    return Reply(data=answer)


##= docs/spec/gateway.md#km-lifecycle-report
##% The tool `km-lifecycle-report` MUST report isolated nodes, stale documents and subsystems without tests, and needs
##% no arguments.
@pack.tool(
    "km-lifecycle-report",
    title="Lifecycle report",
    description="Isolated graph nodes, documents behind their code, subsystems and symbols without tests.",
    scope=Scope.MAINTAINER,
    labels=LABELS,
    invocation_hints="to find what is unconnected, out of date or untested",
    untrusted=("isolated", "missing_tests", "symbol_test_gaps", "symbol_tests"),
    output=ExtensibleAnswer,
)
def lifecycle_report(given: ReportInput, ctx: Context) -> Reply:
    index = index_of(ctx)
    report = index.lifecycle()
    as_of = as_of_to_dict(index.as_of())
    if given.detail == "full" and given.section is None:
        return Reply(data={"status": "success", **_with_first_rows(report), "as_of": as_of})
    lists = {f"isolated.{label}": ReportList(rows, fields("id")) for label, rows in report["isolated"].items()}
    lists |= {
        "stale_docs": ReportList(report["stale_docs"], fields("path", "git_timestamp", "changed_code")),
        "missing_tests": ReportList(
            sorted(report["missing_tests"], key=lambda row: -row["source_files"]), fields("subsystem", "source_files")
        ),
        "removed_artifacts": ReportList(report["removed_artifacts"], fields("path", "artifact_type")),
        "symbol_test_gaps": ReportList(report["symbol_test_gaps"], fields("symbol_id", "callers")),
        "symbol_tests": ReportList(
            sorted(report["symbol_tests"], key=lambda row: len(row["tests"])),
            lambda row: {"symbol_id": row["symbol_id"], "test_count": len(row["tests"])},
        ),
    }
    frame = {"status": "success", "run": report["run"], "summary": report["summary"], "as_of": as_of}
    if given.section is not None:
        return Reply(data=report_section("km-lifecycle-report", frame, lists, given))
    about = {name: report[name] for name in ("generated_at_iso", "thresholds")}
    return Reply(data=short_report({**frame, **about}, lists))


def _with_first_rows(report: dict[str, Any]) -> dict[str, Any]:
    """The whole report with at most _MAX_ROWS rows in each list, and how many are left out."""
    omitted: dict[str, int] = {}
    for name, rows in report.items():
        if isinstance(rows, list) and len(rows) > _MAX_ROWS:
            omitted[name] = len(rows) - _MAX_ROWS
            report[name] = rows[:_MAX_ROWS]
    for label, rows in report["isolated"].items():
        if len(rows) > _MAX_ROWS:
            omitted[f"isolated.{label}"] = len(rows) - _MAX_ROWS
            report["isolated"][label] = rows[:_MAX_ROWS]
    return {**report, "omitted": omitted}


##= docs/spec/gateway.md#km-feedback-submit
##% The tool `km-feedback-submit` MUST take `request_id` and `chunk_id`, and optionally `vote`, `note` and `context`.
##= docs/spec/gateway.md#km-feedback-submit
##% A vote MUST be between -1 and 1.
class VoteInput(ToolInput):
    request_id: str = Field(min_length=1, max_length=200, description="metadata.request_id of the search")
    chunk_id: str = Field(min_length=1, max_length=2000, description="chunk_id of the result")
    vote: float | None = Field(None, ge=-1, le=1, description="-1 (useless) to 1 (very useful)")
    note: str | None = Field(None, max_length=2000, description="Why")
    context: dict[str, Any] | None = Field(None, description="Anything to store with the vote")


@pack.tool(
    "km-feedback-submit",
    title="Vote on a result",
    description="Rate how useful a search result was. Your next vote on the same result replaces this one.",
    scope=Scope.WRITER,
    labels=LABELS,
    safety_notes="Stores your vote with your name.",
    invocation_hints="after a search helped or misled you",
    annotations=_WRITES,
    output=ExtensibleAnswer,
)
def feedback_submit(given: VoteInput, ctx: Context) -> Reply:
    [recorded] = _record_votes(index_of(ctx), [given], ctx)
    return Reply(data={"status": "success", **recorded})


class VotesInput(ToolInput):
    votes: list[VoteInput] = Field(min_length=1, max_length=100, description="Votes; all or none are stored")


@pack.tool(
    "km-feedback-batch",
    title="Vote on several results",
    description="Several votes at once; all or none are stored.",
    scope=Scope.WRITER,
    labels=LABELS,
    safety_notes="Stores your votes with your name.",
    invocation_hints="to judge a whole page of results",
    annotations=_WRITES,
    output=ExtensibleAnswer,
)
def feedback_batch(given: VotesInput, ctx: Context) -> Reply:
    return Reply(data={"status": "success", "votes": _record_votes(index_of(ctx), given.votes, ctx)})


##= docs/spec/gateway.md#km-ingest-status
##% The tool `km-ingest-status` MUST return the newest run, or the newest run of `profile`.
##= docs/spec/gateway.md#km-ingest-status
##% Before the first run, the `status` MUST be `not_found`.
def status_of(index: Index, profile: str | None) -> dict[str, Any]:
    """The latest run and the current activity as a JSON object."""
    run = index.last_run(profile)
    now = index.status()
    if run is None:
        return {"status": "not_found", **({"profile": profile} if profile else {}), "now": now}
    row = run_to_dict(run)
    return {"status": "ok", **row, "run": row, "now": now, "as_of": as_of_to_dict(index.as_of())}


##= docs/spec/gateway.md#km-ingest-status
##% A returned run MUST include its id, profile, start, duration, success, files by type, chunks and git HEAD.
##= docs/spec/gateway.md#km-ingest-status
##% The files and chunks of a run MUST be those of the whole index, and what the run itself wrote is counted separately.
def run_to_dict(run: Run) -> dict[str, Any]:
    """A recorded run as a JSON object."""
    return {
        "run_id": run.run_id,
        "profile": run.profile,
        "started_at": run.started_at,
        "duration_seconds": run.duration_seconds,
        "success": run.success,
        "artifact_counts": dict(run.artifact_counts),
        "artifact_count": run.artifact_count,
        "chunk_count": run.chunk_count,
        "changed_counts": dict(run.changed_counts),
        "changed_chunk_count": run.changed_chunk_count,
        "repo_head": run.repo_head,
        "created_at": run.created_at,
    }


def outcome_to_dict(outcome: IngestResult, most: int = _MAX_ROWS) -> dict[str, Any]:
    """A finished run as a JSON object, with at most `most` of the files that it changed and removed."""
    run = run_to_dict(outcome.run)
    run["artifacts"] = [{"path": path, "skipped": False} for path in outcome.changed[:most]]
    run["artifacts_omitted"] = max(0, len(outcome.changed) - most)
    run["unchanged_count"] = outcome.unchanged_count
    run["removed_artifacts"] = [dict(item) for item in outcome.removed[:most]]
    run["removed_artifacts_omitted"] = max(0, len(outcome.removed) - most)
    run["skipped"] = dict(outcome.run.skipped)
    return run


##= docs/spec/gateway.md#km-ingest-trigger
##% A client that requests progress notifications MUST receive them during a run.
async def _run_with_progress(
    index: Index, request: IngestRequest, ctx: Context, *, dummy: bool
) -> tuple[IngestResult, int, str | None]:
    """Ingest in a separate thread, and report its progress to the client."""
    latest: list[tuple[str, int, int]] = []
    stop = threading.Event()
    work = asyncio.ensure_future(run_in_thread(lambda: _ingest_and_embed(index, request, latest, stop, dummy=dummy)))
    reported: tuple[str, int, int] | None = None
    steps = 0
    try:
        while True:
            done, _ = await asyncio.wait([work], timeout=_PROGRESS_POLL_SECONDS)
            if latest and latest[-1] != reported:
                reported = latest[-1]
                del latest[:-1]
                steps += 1
                phase, count, total = reported
                await ctx.client.progress(steps, None, f"{phase} {count} of {total}" if total else phase)
            if done:
                return work.result()
    finally:
        stop.set()  # stops the thread if the caller is gone
        work.add_done_callback(_ignore_result)


def _ignore_result(work: asyncio.Future[Any]) -> None:
    """Retrieve the exception of an abandoned run so that asyncio does not log it; the run has recorded it."""
    if not work.cancelled():
        work.exception()


##= docs/spec/gateway.md#km-ingest-trigger
##% With `use_dummy_embeddings`, embeddings MUST be computed without a model, unless the index already has embeddings
##% from a model.
def _ingest_and_embed(
    index: Index,
    request: IngestRequest,
    latest: list[tuple[str, int, int]],
    stop: threading.Event,
    *,
    dummy: bool,
) -> tuple[IngestResult, int, str | None]:
    def report_progress(phase: str, done: int, total: int) -> None:
        latest.append((phase, done, total))

    outcome = index.ingest(request, progress=report_progress, stop=stop)
    if request.dry_run:
        return outcome, 0, None
    if dummy and any(model.name != "dummy" for model in index.store.search.vector_counts()):
        return outcome, 0, "The index already has embeddings of a model, so no dummy embeddings were computed."
    if not dummy and index.is_watched:
        return outcome, 0, None  # embeddings are computed in the background
    try:
        return outcome, index.embed(dummy=dummy, progress=report_progress, stop=stop), None
    except Unavailable as error:
        return outcome, 0, f"No embeddings were computed: {error.message}"


##= docs/spec/gateway.md#km-feedback-submit
##% A later note without a vote MUST preserve the earlier vote.
def _with_earlier_vote(index: Index, given: VoteInput, caller: str) -> VoteInput:
    """The input, with the caller's earlier vote on the same result if it has none."""
    if given.vote is not None:
        return given
    earlier = [
        vote.vote
        for vote in index.store.records.votes()
        if (vote.request_id, vote.chunk_id, vote.caller) == (given.request_id, given.chunk_id, caller)
    ]
    return given.model_copy(update={"vote": earlier[-1]}) if earlier else given


##= docs/spec/gateway.md#km-feedback-submit
##% A vote MUST be acknowledged with the time at which it was recorded.
##= docs/spec/gateway.md#km-feedback-submit
##% A vote on a chunk that the search did not return MUST be refused with `not_found`.
def _record_votes(index: Index, vote_inputs: list[VoteInput], ctx: Context) -> list[dict[str, Any]]:
    from contextive.store.values import AuditEntry, Vote

    index.search_event_log.write()
    for vote_input in vote_inputs:
        known = [event.chunk_id for event in index.store.records.events(vote_input.request_id)]
        if not known:
            raise NotFound(
                f"No search has the request id {safe_repr(vote_input.request_id)}.",
                hint="Use metadata.request_id of km-search.",
            )
        if vote_input.chunk_id not in known:
            raise NotFound(
                f"That search did not return {safe_repr(vote_input.chunk_id)}.",
                hint=f"It returned: {', '.join(known[:5])}.",
            )
    now = time.time()
    vote_inputs = [_with_earlier_vote(index, vote_input, ctx.caller.name) for vote_input in vote_inputs]
    ##= docs/spec/gateway.md#km-feedback-submit
    ##% The tool `km-feedback-batch` MUST record all of its votes or none.
    with index.store.transaction() as writer:
        for vote_input in vote_inputs:
            context = dict(vote_input.context or {})
            writer.put_vote(
                Vote(
                    vote_input.request_id,
                    vote_input.chunk_id,
                    ctx.caller.name,
                    vote_input.vote,
                    vote_input.note,
                    context,
                    now,
                )
            )
            body = {"request_id": vote_input.request_id, "chunk_id": vote_input.chunk_id, "vote": vote_input.vote}
            writer.put_audit(AuditEntry(now, ctx.caller.name, "km-feedback-submit", body))
    return [
        {
            "request_id": vote_input.request_id,
            "chunk_id": vote_input.chunk_id,
            "vote": vote_input.vote,
            "note": vote_input.note,
            "context": dict(vote_input.context or {}),
            "timestamp": now,
            "source": "mcp.manual",
        }
        for vote_input in vote_inputs
    ]
