"""What is known about one run of a recipe, while it goes on and when it has ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal["success", "error", "skipped"]

LARGEST_SHOWN_RESULT = 8_000


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a run."""

    id: str
    status: Status
    duration_seconds: float
    message: str = ""
    result: Any = None

    def as_dict(self) -> dict[str, Any]:
        """The step for a reader; a long result is left out, and its length said."""
        body: dict[str, Any] = {
            "id": self.id,
            "status": self.status,
            "duration_seconds": round(self.duration_seconds, 3),
            "message": self.message,
        }
        if self.result is not None:
            size = len(json.dumps(self.result, ensure_ascii=False, default=str).encode("utf-8", "replace"))
            if size <= LARGEST_SHOWN_RESULT:
                body["result"] = self.result
            else:
                body["result_bytes"] = size
        return body


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A whole run, ended well or not."""

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
        """The run as its caller sees it."""
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
        """The run as the audit log keeps it: no results of steps, but all that was captured."""
        line = self.as_dict()
        line["steps"] = [
            {"id": step.id, "status": step.status, "duration_seconds": round(step.duration_seconds, 3)}
            for step in self.steps
        ]
        return {**line, "captures": dict(self.captures)}


@dataclass
class ActiveRun:
    """A run that goes on: steps that ended, and what later ones can name."""

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
