"""The record of a recipe run, during the run and after it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from contextive.registry.budget import estimated_tokens, shortened

Status: TypeAlias = Literal["success", "error", "skipped"]

MAX_RESULT_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a run."""

    id: str
    status: Status
    duration_seconds: float
    message: str = ""
    result: Any = None

    def as_dict(self) -> dict[str, Any]:
        """The step as a JSON object. A result that is too large is replaced by its size."""
        body: dict[str, Any] = {
            "id": self.id,
            "status": self.status,
            "duration_seconds": round(self.duration_seconds, 3),
            "message": self.message,
        }
        if self.result is not None:
            size = len(json.dumps(self.result, ensure_ascii=False, default=str).encode("utf-8", "replace"))
            if size <= MAX_RESULT_BYTES:
                body["result"] = self.result
            else:
                body["result_bytes"] = size
        return body


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A finished run."""

    recipe: str
    started_at: datetime
    finished_at: datetime
    success: bool
    dry_run: bool
    steps: tuple[StepRecord, ...]
    outputs: Mapping[str, Any] = field(default_factory=dict)
    captures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def duration_seconds(self) -> float:
        return max(0.0, (self.finished_at - self.started_at).total_seconds())

    ##= docs/spec/models-and-recipes.md#km-recipe-run
    ##% The result of a run MUST have `status`, `outputs` and `steps`, with one entry for each step that says how the
    ##% step ended.
    def as_dict(self) -> dict[str, Any]:
        """The run as a JSON object for the caller."""
        return {
            "recipe": self.recipe,
            "started_at": self.started_at.isoformat(timespec="milliseconds"),
            "finished_at": self.finished_at.isoformat(timespec="milliseconds"),
            "duration_seconds": round(self.duration_seconds, 3),
            "success": self.success,
            "dry_run": self.dry_run,
            "steps": [step.as_dict() for step in self.steps],
            "outputs": dict(self.outputs),
        }

    def audit_line(self) -> dict[str, Any]:
        """The run as a JSON object for the audit log: without the results of steps, but with all captures."""
        line = self.as_dict()
        line["steps"] = [
            {"id": step.id, "status": step.status, "duration_seconds": round(step.duration_seconds, 3)}
            for step in self.steps
        ]
        return {**line, "captures": dict(self.captures)}


##= docs/spec/models-and-recipes.md#km-recipe-run
##% The concise result of a run MUST fit into 1,500 tokens and say what is left out.
def short_run(run: Mapping[str, Any], tokens: int, *, keep_outputs: bool = False) -> dict[str, Any]:
    """A run as JSON object within a budget: without the results of its steps, then with shorter outputs."""
    if estimated_tokens(run) <= tokens:
        return dict(run)
    steps = [_without_result(step) for step in run["steps"]]
    if keep_outputs:
        return {**run, "steps": steps}
    frame: dict[str, Any] = {**run, "steps": steps, "outputs": {}}
    room = tokens - estimated_tokens(frame)
    if room < tokens // 4:
        frame = {**frame, "steps": shortened(frame["steps"], tokens // 2).value}
        room = tokens - estimated_tokens(frame)
    outputs = shortened(run["outputs"], room)
    return {**frame, "outputs": outputs.value, **({"omitted": dict(outputs.omitted)} if outputs.omitted else {})}


def _without_result(step: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in step.items() if key != "result"}


@dataclass
class ActiveRun:
    """A run in progress: its finished steps, and the values that later steps can refer to."""

    recipe: str
    dry_run: bool = False
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    steps: list[StepRecord] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    captures: dict[str, Any] = field(default_factory=dict)

    def close(self, *, success: bool, outputs: Mapping[str, Any] | None = None) -> RunRecord:
        return RunRecord(
            recipe=self.recipe,
            started_at=self.started_at,
            finished_at=datetime.now(UTC),
            success=success,
            dry_run=self.dry_run,
            steps=tuple(self.steps),
            outputs=outputs or {},
            captures=dict(self.captures),
        )
