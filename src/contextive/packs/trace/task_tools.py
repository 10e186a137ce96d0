"""The tools for tasks: what is ticked and not done, what is done and not ticked, and ticking a box."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from pydantic import Field

from contextive.errors import Conflict, InvalidRequest, NotFound
from contextive.ingest.evidence_service import EvidenceService
from contextive.ingest.task_files import TaskFiles, tick, version_of
from contextive.ingest.trace_service import TraceService, TraceView
from contextive.packs.trace.lists import missing_specification_hint, page_reply
from contextive.packs.trace.pack import LABELS, pack, service_of, view_of
from contextive.packs.trace.schemas import PageInput, PageSchema
from contextive.packs.trace.spec_tools import find_format_specification, unknown_specification
from contextive.recipes.recipe import RecipePaths
from contextive.registry import Annotations, Context, Reply, Scope, ToolInput, ToolOutput
from contextive.registry.registry import safe_repr
from contextive.trace.formats.values import FormatSpecification, TaskState
from contextive.trace.spec_status import NOTHING_TO_CHECK, TaskRow, Verdict, task_rows
from contextive.workspace.audit_log import AuditLog

State = Literal["open", "done", "doing", "optional"]
_VERDICTS: Final = (Verdict.TICKED_WITHOUT_EVIDENCE, Verdict.DONE_BUT_NOT_TICKED, Verdict.OPEN, Verdict.OK)
_MOST_PLACES: Final = 5


class TasksInput(PageInput):
    spec: str | None = Field(None, max_length=4096, description="Only this specification, such as kiro:user-auth")
    state: State | None = Field(None, description="Only tasks in this state")


class TaskItem(ToolOutput):
    """A task of a plan."""

    spec: str
    task: str = Field(description="Its number, id or line")
    title: str
    state: State
    verdict: Literal["ticked without evidence", "done but not ticked", "ok", "open"]
    evidence: str | None = None
    level: str | None = Field(None, description="Weakest evidence of its requirements, once test results were added")
    requirements: list[str] | None = Field(None, description="Keys of the requirements that it names")
    place: str
    version: str = Field(description="Digest of the file, for complete_task")


##= docs/spec/trace.md#spec-driven-formats
##% The tool `list_tasks` MUST say of each task whether its box agrees with the code, the tests and the files that it
##% names.
@pack.tool(
    "list_tasks",
    title="Tasks",
    description="The tasks of the plans with their state, what shows that they were done, and a verdict: ticked without "
    "evidence, done but not ticked, open or ok. The doubtful ones come first.",
    labels=LABELS,
    invocation_hints="to see what is left to do, and which ticked tasks to doubt",
    output=PageSchema,
    untrusted=("result",),
)
def list_tasks(given: TasksInput, ctx: Context) -> Reply:
    view, service = view_of(ctx), service_of(ctx)
    if given.spec is None:
        chosen: Sequence[FormatSpecification] = view.state.formats.current
    else:
        found = find_format_specification(view, given.spec)
        if found is None:
            raise unknown_specification(view, given.spec)
        chosen = [found]
    rows = [row for specification in chosen for row in rows_of(view, service, specification)]
    rows = [row for row in rows if given.state is None or row.task.state == given.state]
    rows.sort(key=lambda row: _VERDICTS.index(row.verdict))
    versions: dict[str, str] = {}

    def show(row: TaskRow) -> TaskItem:
        path = row.task.place.path
        if path not in versions:
            versions[path] = version_of(service.files, path)
        return _item(row, versions[path], _level(row, view, ctx.service(EvidenceService)))

    note = "" if rows else missing_specification_hint(view) or "No task matches."
    return page_reply("list_tasks", rows, show, given, note=note)


def rows_of(view: TraceView, service: TraceService, specification: FormatSpecification) -> list[TaskRow]:
    """The tasks of a specification, each with its verdict."""
    references = view.state.formats.references.of(specification.id)
    return task_rows(specification, references, TaskFiles(service.files, specification).evidence)


def _level(row: TaskRow, view: TraceView, service: EvidenceService) -> str | None:
    handles = [f"{row.spec}/{key}" for key in row.task.requirement_keys]
    states = service.described(one for handle in handles for one in view.catalog.by_handle.get(handle, ())).values()
    return min(states, key=lambda state: (state.level, state.is_current)).words if states else None


def _item(row: TaskRow, version: str, level: str | None) -> TaskItem:
    keys = list(row.task.requirement_keys)
    more = [f"{len(keys) - _MOST_PLACES} more"] if len(keys) > _MOST_PLACES else []
    return TaskItem(
        spec=row.spec,
        task=row.task.key,
        title=row.task.title[:200],
        state=row.task.state.value,
        verdict=row.verdict.value,
        evidence=row.evidence or None,
        level=level,
        requirements=[*keys[:_MOST_PLACES], *more] or None,
        place=str(row.task.place),
        version=version,
    )


class CompleteInput(ToolInput):
    spec: str = Field(min_length=1, max_length=4096, description="Specification, such as kiro:user-auth")
    task: str = Field(min_length=1, max_length=200, description="Number, id or line, as in list_tasks")
    version: str = Field(min_length=1, max_length=64, description="version of the task in list_tasks")


class CompletedTask(ToolOutput):
    spec: str
    task: str
    place: str
    changed: bool
    evidence: str | None = None
    version: str = Field(description="The new digest of the file")


##= docs/spec/trace.md#spec-driven-formats
##% The tool `complete_task` MUST be for maintainers, and refuse to tick a task without evidence.
@pack.tool(
    "complete_task",
    title="Complete a task",
    description="Tick the box of a task, if the code, a test or a file shows that it was done.",
    scope=Scope.MAINTAINER,
    labels=LABELS,
    safety_notes="Changes one character of a task list in the project.",
    annotations=Annotations(read_only=False, destructive=False, idempotent=True),
    untrusted=("task", "place", "evidence"),
)
def complete_task(given: CompleteInput, ctx: Context) -> CompletedTask:
    version = version_of(service_of(ctx).files, _find_task(given, ctx).task.place.path)
    if version != given.version:
        raise Conflict("The task list changed.", hint="Read it again with list_tasks.")
    # Read again: the task must be that of a text which is at least as new as the one with this digest.
    row = _find_task(given, ctx)
    task = row.task
    changed = task.state is not TaskState.DONE
    if changed:
        if not row.evidence or row.evidence == NOTHING_TO_CHECK:
            raise InvalidRequest(
                f"Nothing shows that task {task.key} was done.",
                hint="Name the task or its requirements in a comment of the code and of a test, then call again.",
            )
        version = tick(service_of(ctx).files.root, task, given.version).version
        ##= docs/spec/trace.md#spec-driven-formats
        ##% Each ticked task MUST be in the audit log `tasks.log`, with the caller and the evidence.
        AuditLog(ctx.service(RecipePaths).state, "tasks").append(_audit_line(row, ctx))
    return CompletedTask(
        spec=row.spec,
        task=task.key,
        place=str(task.place),
        changed=changed,
        evidence=row.evidence or None,
        version=version,
    )


def _find_task(given: CompleteInput, ctx: Context) -> TaskRow:
    view = view_of(ctx)
    specification = find_format_specification(view, given.spec)
    if specification is None:
        raise unknown_specification(view, given.spec)
    return _row_of(rows_of(view, service_of(ctx), specification), given.task)


def _row_of(rows: Sequence[TaskRow], name: str) -> TaskRow:
    """The task with this key or place."""
    found = [row for row in rows if name in (row.task.key, str(row.task.place))]
    if not found:
        raise NotFound(f"No task {safe_repr(name)}.", hint="List them with list_tasks.")
    if len(found) > 1:
        places = ", ".join(str(row.task.place) for row in found[:_MOST_PLACES])
        raise InvalidRequest(f"Several tasks are called {safe_repr(name)}.", hint=f"Give the place: {places}.")
    return found[0]


def _audit_line(row: TaskRow, ctx: Context) -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "caller": ctx.caller.name,
        "client": ctx.client.name,
        "request_id": ctx.request_id,
        "spec": row.spec,
        "task": row.task.key,
        "place": str(row.task.place),
        "evidence": row.evidence,
    }
