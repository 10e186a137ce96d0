"""What is planned, ticked, in the code and tested: rows for each specification, requirement and task, and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from contextive.trace.formats.values import (
    DeclaredRequirement,
    FormatSpecification,
    KeyReference,
    ReferenceState,
    RequirementKind,
    SpecFormat,
    Task,
    TaskState,
)


class Strength(StrEnum):
    """How a comment refers to a requirement: by its key, or with its words."""

    NAMED = "named"
    QUOTED = "quoted"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place in code or in a test that refers to a requirement or a task."""

    path: str
    line: int
    is_test: bool
    strength: Strength

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class UnknownReference:
    """A comment that names a requirement of the specification that does not exist."""

    path: str
    line: int
    key: str


@dataclass(frozen=True, slots=True)
class SpecEvidence:
    """Everything in code and tests that refers to one specification."""

    by_key: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    by_task: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    dangling: tuple[UnknownReference, ...] = ()
    ambiguous: int = 0
    """References that may mean this specification or another one."""


@dataclass(frozen=True, slots=True)
class SpecRow:
    """One specification in numbers. All but the last three count requirements."""

    id: str
    title: str
    state: str
    path: str
    requirements: int
    with_task: int
    ticked: int
    named: int
    quoted: int
    tested: int
    dangling: int
    ambiguous: int
    not_understood: int


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """One requirement with its tasks and with the places that refer to it."""

    handle: str
    requirement: DeclaredRequirement
    tasks: tuple[Task, ...]
    code: tuple[Evidence, ...]
    tests: tuple[Evidence, ...]

    @property
    def is_ticked(self) -> bool:
        return is_ticked(self.tasks)

    @property
    def rank(self) -> int:
        """How bad it is; the worst have the lowest rank."""
        if self.code and self.tests:
            return 4
        if self.code or self.tests:
            return 3
        if self.is_ticked:
            return 0
        return 2 if self.tasks else 1


class Verdict(StrEnum):
    """Whether the box of a task agrees with the code."""

    TICKED_WITHOUT_EVIDENCE = "ticked without evidence"
    DONE_BUT_NOT_TICKED = "done but not ticked"
    OK = "ok"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task, its evidence in words, and the verdict."""

    spec: str
    task: Task
    evidence: str
    verdict: Verdict


FileEvidence = Callable[[str], str]
"""What is known about a file that a task names: "exists", "changed in …", or nothing."""
NOTHING_TO_CHECK = "it names no requirement and no file"
_FEW_WITHOUT_MODAL_WORD = 3
"""Criteria without a modal word are reported if they are at most one in three. Otherwise it is the author's style."""


def tasks_by_key(specification: FormatSpecification) -> dict[str, list[Task]]:
    """The tasks of each requirement."""
    found: dict[str, list[Task]] = {}
    for task in specification.tasks:
        for key in task.requirement_keys:
            found.setdefault(key, []).append(task)
    return found


def is_ticked(tasks: Sequence[Task]) -> bool:
    """Whether all tasks of a requirement are done. Optional ones may be open."""
    states = [task.state for task in tasks if task.state is not TaskState.OPTIONAL]
    return bool(states) and all(state is TaskState.DONE for state in states)


def spec_row(specification: FormatSpecification, evidence: SpecEvidence) -> SpecRow:
    rows = list(_rows(specification, evidence))
    written = [r for task in specification.tasks for r in task.references]
    written += [r for one in specification.properties for r in one.references]
    return SpecRow(
        id=specification.id,
        title=specification.title,
        state=specification.state.value,
        path=specification.path,
        requirements=len(rows),
        with_task=sum(bool(row.tasks) for row in rows),
        ticked=sum(row.is_ticked for row in rows),
        named=sum(_has(row, Strength.NAMED) for row in rows),
        quoted=sum(_has(row, Strength.QUOTED) for row in rows),
        tested=sum(bool(row.tests) for row in rows),
        dangling=sum(r.state is ReferenceState.DANGLING for r in written) + len(evidence.dangling),
        ambiguous=evidence.ambiguous,
        not_understood=len(specification.unread),
    )


def _has(row: RequirementRow, strength: Strength) -> bool:
    return any(found.strength is strength for found in row.code)


def requirement_rows(specification: FormatSpecification, evidence: SpecEvidence) -> list[RequirementRow]:
    """The requirements of a specification, the worst first and otherwise in text order."""
    return sorted(_rows(specification, evidence), key=lambda row: row.rank)


def _rows(specification: FormatSpecification, evidence: SpecEvidence) -> Iterator[RequirementRow]:
    tasks = tasks_by_key(specification)
    for requirement in specification.requirements:
        found = evidence.by_key.get(requirement.key, ())
        yield RequirementRow(
            specification.handle(requirement.key),
            requirement,
            tuple(tasks.get(requirement.key, ())),
            tuple(one for one in found if not one.is_test),
            tuple(one for one in found if one.is_test),
        )


def task_rows(specification: FormatSpecification, evidence: SpecEvidence, file_evidence: FileEvidence) -> list[TaskRow]:
    """The tasks of a specification in their order, each with a verdict."""
    parts: dict[str, list[Task]] = {}
    for task in specification.tasks:
        if task.parent:
            parts.setdefault(task.parent, []).append(task)
    judge = _Judge(specification, evidence, file_evidence, parts)
    return [judge.row(task) for task in specification.tasks]


@dataclass(frozen=True, slots=True)
class _Judge:
    specification: FormatSpecification
    evidence: SpecEvidence
    file_evidence: FileEvidence
    parts: Mapping[str, Sequence[Task]]

    def row(self, task: Task) -> TaskRow:
        found = next(self._evidence(task), "")
        if not found:
            # A task with parts is as true as its parts.
            found = next((text for part in self.parts.get(task.key, ()) for text in self._evidence(part)), "")
        if task.state is TaskState.DONE:
            return self._ticked(task, found)
        is_done = self._is_done(task)
        verdict = Verdict.DONE_BUT_NOT_TICKED if is_done else Verdict.OPEN
        return TaskRow(self.specification.id, task, found, verdict)

    def _ticked(self, task: Task, found: str) -> TaskRow:
        if found:
            return TaskRow(self.specification.id, task, found, Verdict.OK)
        checked = [task, *self.parts.get(task.key, ())]
        if not any(one.requirement_keys or one.files for one in checked):
            return TaskRow(self.specification.id, task, NOTHING_TO_CHECK, Verdict.OK)
        return TaskRow(self.specification.id, task, "", Verdict.TICKED_WITHOUT_EVIDENCE)

    def _evidence(self, task: Task) -> Iterator[str]:
        """What shows that a task was worked on, the strongest first."""
        for one in self.evidence.by_task.get(task.key, ()):
            yield f"the task is named in {one}"
        for key in task.requirement_keys:
            for one in self.evidence.by_key.get(key, ()):
                yield f"{key} is {one.strength} in {one}"
        for file in task.files:
            if text := self.file_evidence(file):
                yield f"{file} {text}"

    def _is_done(self, task: Task) -> bool:
        """Whether everything that an open task names is there: each requirement or the task itself, and each file.

        A story is no proof: its scenarios belong to all tasks of the story.
        """
        own_keys = [key for reference in task.references if not task.group for key in reference.keys]
        named = bool(self.evidence.by_task.get(task.key))
        covered = bool(own_keys) and all(self._is_in_code(key) for key in own_keys)
        return (named or covered) and all(self.file_evidence(file) for file in task.files)

    def _is_in_code(self, key: str) -> bool:
        found = self.evidence.by_key.get(key, ())
        return any(not one.is_test for one in found) and any(one.is_test for one in found)


@dataclass(frozen=True, slots=True)
class SpecFinding:
    """One certain problem of a specification, and how to fix it."""

    code: str
    path: str
    line: int
    message: str
    fix: str
    spec: str


def spec_findings(specification: FormatSpecification, evidence: SpecEvidence) -> list[SpecFinding]:
    """The findings of one specification, sorted by place."""
    found = [
        *_dangling(specification, evidence),
        *_duplicates(specification),
        *_without_modal_word(specification),
        *_without_task(specification),
        *_open_questions(specification),
    ]
    return sorted(found, key=lambda finding: (finding.path, finding.line, finding.code))


def _dangling(specification: FormatSpecification, evidence: SpecEvidence) -> Iterator[SpecFinding]:
    written: list[tuple[str, str, KeyReference]] = []
    written += [(task.place.path, f"Task {task.key}", r) for task in specification.tasks for r in task.references]
    written += [(p.place.path, f"Property {p.key}", r) for p in specification.properties for r in p.references]
    for path, what, reference in written:
        if reference.state is ReferenceState.DANGLING:
            yield _finding(
                specification, "dangling_reference", path, reference.line,
                f"{what} names {reference.text}, which is no requirement of {specification.id}.",
                "Correct the number, or add the requirement.",
            )  # fmt: skip
    for unknown in evidence.dangling:
        yield _finding(
            specification, "dangling_reference", unknown.path, unknown.line,
            f"The comment names {unknown.key}, which is no requirement of {specification.id}.",
            "Correct the number, or remove the reference.",
        )  # fmt: skip


def _duplicates(specification: FormatSpecification) -> Iterator[SpecFinding]:
    first: dict[str, DeclaredRequirement] = {}
    for requirement in specification.requirements:
        known = first.setdefault(requirement.key, requirement)
        if known is not requirement:
            yield _finding(
                specification, "duplicate_id", requirement.place.path, requirement.place.line,
                f"{requirement.key} is already the id of the requirement on line {known.place.line}.",
                "Give one of them another number.",
            )  # fmt: skip


def _without_modal_word(specification: FormatSpecification) -> Iterator[SpecFinding]:
    criteria = [r for r in specification.requirements if r.kind is RequirementKind.CRITERION]
    without = [requirement for requirement in criteria if not requirement.has_modal_word]
    if len(without) * _FEW_WITHOUT_MODAL_WORD > len(criteria):
        return
    for requirement in without:
        yield _finding(
            specification, "no_modal_word", requirement.place.path, requirement.place.line,
            f"{requirement.key} does not say how binding it is.", "Write SHALL, MUST, SHOULD or MAY.",
        )  # fmt: skip


def _without_task(specification: FormatSpecification) -> Iterator[SpecFinding]:
    """Requirements without a task, where the tasks of the specification name requirements of that kind at all."""
    if specification.format is SpecFormat.OPENSPEC:
        return  # its tasks never name requirements
    tasks = tasks_by_key(specification)
    by_key = {requirement.key: requirement for requirement in specification.requirements}
    kinds = {by_key[key].kind for key in tasks if key in by_key}
    for requirement in specification.requirements:
        if requirement.kind in kinds and requirement.key not in tasks:
            yield _finding(
                specification, "no_task", requirement.place.path, requirement.place.line,
                f"{requirement.key} has no task.", "Add a task, or name the requirement in an existing one.",
            )  # fmt: skip


def _open_questions(specification: FormatSpecification) -> Iterator[SpecFinding]:
    asked = dict.fromkeys(specification.clarifications, specification.path)
    asked |= {r.place.line: r.place.path for r in specification.requirements if r.needs_clarification}
    for line, path in asked.items():
        yield _finding(
            specification, "needs_clarification", path, line, "A question is still open: [NEEDS CLARIFICATION].",
            "Answer it and remove the mark.",
        )  # fmt: skip


def _finding(
    specification: FormatSpecification, code: str, path: str, line: int, message: str, fix: str
) -> SpecFinding:
    return SpecFinding(code, path, line, message, fix, specification.id)


def totals(rows: Iterable[SpecRow]) -> dict[str, int]:
    """The sums of all rows, by the name of the column."""
    columns = (
        "requirements", "with_task", "ticked", "named", "quoted", "tested", "dangling", "ambiguous", "not_understood",
    )  # fmt: skip
    rows = list(rows)
    return {column: sum(getattr(row, column) for row in rows) for column in columns}
