"""Changes in spec-driven formats: tasks ticked without evidence, and numbers that mean another requirement now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from contextive.review.findings import Finding, Kind, content_digest, listed, short
from contextive.review.versions import ProjectVersion, requirement_name
from contextive.trace.formats.values import FormatSpecification, TaskState
from contextive.trace.requirement import Requirement
from contextive.trace.spec_status import Verdict, task_rows
from contextive.trace.spec_trace import SpecTrace


##= docs/spec/review.md#findings
##% A task that a change ticks and for which neither code nor a file is evidence MUST be reported.
def ticked_tasks(
    old: Iterable[FormatSpecification], new: SpecTrace, exists: Callable[[str], bool]
) -> Iterator[Finding]:
    """One finding for each such task. `exists` says whether the project has a file that a task names."""
    done_before = {
        (specification.id, task.key, task.title)
        for specification in old
        for task in specification.tasks
        if task.state is TaskState.DONE
    }
    for specification in new.current:
        ticked = {t.key for t in specification.tasks if t.state is TaskState.DONE}
        if not ticked:
            continue
        rows = task_rows(
            specification, new.references.of(specification.id), lambda path: "exists" if exists(path) else ""
        )
        for row in rows:
            task = row.task
            is_new = (specification.id, task.key, task.title) not in done_before
            if is_new and row.verdict is Verdict.TICKED_WITHOUT_EVIDENCE:
                wanted = ", ".join([*task.requirement_keys, *task.files][:4])
                yield Finding(
                    Kind.TASK_WITHOUT_EVIDENCE, task.place.path, task.place.line, f"{specification.id} task {task.key}",
                    f"The task was ticked, and nothing of it is in the code ({wanted}): {short(task.title)}",
                    "Name or quote the requirement where it is implemented, or untick the task.",
                    content_digest(task.key, task.title, *task.requirement_keys, *task.files),
                )  # fmt: skip


##= docs/spec/review.md#findings
##% A comment that names a number which now belongs to another requirement MUST be reported.
def renumbered(old: ProjectVersion, new: ProjectVersion) -> Iterator[Finding]:
    """One finding for each requirement that comments name by its former number."""
    before, after = _by_handle(old), _by_handle(new)
    handle_of = {requirement.identifier: handle for handle, requirement in after.items()}
    named_before = {(c.source, c.target) for c in old.analysis.declarations.citations}
    for handle, was in before.items():
        now_at = handle_of.get(was.identifier)
        now = after.get(handle)
        if now_at in (None, handle) or now is None:
            continue
        named = [c for c in now.related if not c.quote and (c.source, c.target) in named_before]
        if named:
            yield Finding(
                Kind.CITATION_BROKEN, named[0].source, named[0].line, requirement_name(now),
                f"{handle} was: {short(was.text)} That is {now_at} now. Named in {listed([c.id for c in named])}.",
                f"Name {now_at} there, or check that the code is about: {short(now.text)}",
                content_digest(handle, was.identifier, now.identifier),
            )  # fmt: skip


def _by_handle(version: ProjectVersion) -> dict[str, Requirement]:
    reports = version.analysis.reports.values()
    return {
        requirement.handle: requirement
        for report in reports
        for requirement in report.requirements
        if requirement.handle
    }
