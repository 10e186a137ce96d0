"""The coverage report: which files the index holds, and which of them came to nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Literal

from contextive.knowledge.artifact import Artifact, ArtifactType
from contextive.knowledge.subsystems import NO_CATALOG, SubsystemCatalog


@dataclass(frozen=True, slots=True)
class ReportRun:
    """The run that a report was made after."""

    run_id: str
    profile: str
    repo_head: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"run_id": self.run_id, "profile": self.profile, "repo_head": self.repo_head}


@dataclass(frozen=True, slots=True)
class CoveredArtifact:
    """A file of the index with what came of it."""

    artifact: Artifact
    chunk_count: int
    skipped: bool = False
    """Whether the run left it as it was, because it had not changed."""
    symbols: Sequence[str] = ()
    """Ids of the symbols that it declares."""
    exercises_symbols: Sequence[str] = ()
    """Ids of the symbols that it tests."""


@dataclass(frozen=True, slots=True)
class RemovedArtifact:
    """A file that is gone since the last run."""

    path: str
    artifact_type: ArtifactType
    subsystem: str | None
    digest: str
    status: Literal["deleted", "dry-run"] = "deleted"

    def as_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "artifact_type": self.artifact_type,
            "subsystem": self.subsystem,
            "digest": self.digest,
            "status": self.status,
        }


def build_coverage(
    run: ReportRun,
    generated_at: float,
    artifacts: Iterable[CoveredArtifact],
    removed: Iterable[RemovedArtifact] = (),
    include_patterns: Sequence[str] = (),
    catalog: SubsystemCatalog = NO_CATALOG,
    most: int | None = None,
) -> dict[str, Any]:
    """The report as it is stored and shown. `generated_at` is in seconds since the epoch.

    With `most`, only so many files are listed, the first that come, and only so many of those that came to nothing; all of them
    are counted. There may be a million.
    """
    rows: list[dict[str, Any]] = []
    missing: list[dict[str, Any]] = []
    breakdown: Counter[str] = Counter()
    chunk_count = 0
    for item in artifacts:
        breakdown[item.artifact.artifact_type] += 1
        chunk_count += item.chunk_count
        if most is None or len(rows) < most:
            rows.append(_row(item, catalog))
        if item.chunk_count == 0 and (most is None or len(missing) < most):
            missing.append(_row(item, catalog))
    return {
        "generated_at": generated_at,
        "generated_at_iso": iso_time(generated_at),
        "run": run.as_dict(),
        "include_patterns": list(include_patterns),
        "summary": {
            "artifact_total": breakdown.total(),
            "artifact_breakdown": dict(sorted(breakdown.items())),
            "chunk_count": chunk_count,
        },
        "artifacts": sorted(rows, key=itemgetter("path")),
        "missing_artifacts": sorted(missing, key=itemgetter("path")),
        "removed_artifacts": [item.as_dict() for item in sorted(removed, key=lambda item: item.path)],
    }


def coverage_ratio(chunk_count: int) -> float:
    """1.0 for a file of which anything is indexed, else 0.0."""
    return 1.0 if chunk_count > 0 else 0.0


def iso_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _row(item: CoveredArtifact, catalog: SubsystemCatalog) -> dict[str, Any]:
    artifact = item.artifact
    known = catalog.find(artifact.subsystem)
    return {
        "path": artifact.path,
        "artifact_type": artifact.artifact_type,
        "subsystem": artifact.subsystem,
        "chunk_count": item.chunk_count,
        "git_commit": artifact.git.commit if artifact.git else None,
        "git_timestamp": artifact.git.timestamp if artifact.git else None,
        "subsystem_criticality": known.criticality if known else None,
        "coverage_ratio": coverage_ratio(item.chunk_count),
        "content_digest": artifact.digest,
        "skipped": item.skipped,
        "symbols": list(item.symbols),
        "exercises_symbols": list(item.exercises_symbols),
    }
