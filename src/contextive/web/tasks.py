"""The tasks of requirements in spec-driven formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contextive.ingest.trace_service import TraceView
from contextive.trace.formats.values import Task, TaskState
from contextive.trace.requirement import Requirement
from contextive.trace.spec_status import tasks_by_key
from contextive.web.addresses import file_address


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task with its box."""

    key: str
    title: str
    state: str
    is_ticked: bool
    address: str


def tasks_by_handle(view: TraceView) -> Mapping[str, tuple[TaskLine, ...]]:
    """The tasks of each requirement, by its handle."""
    return {
        specification.handle(key): tuple(map(_task_line, tasks))
        for specification in view.state.formats.current
        for key, tasks in tasks_by_key(specification).items()
    }


def tasks_of(view: TraceView, requirement: Requirement) -> tuple[TaskLine, ...]:
    return tasks_by_handle(view).get(requirement.handle, ()) if requirement.handle else ()


def _task_line(task: Task) -> TaskLine:
    place = file_address(task.place.path, task.place.line)
    return TaskLine(task.key, task.title, task.state.value, task.state is TaskState.DONE, place)
