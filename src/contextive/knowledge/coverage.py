"""The coverage report: which files are indexed, and which of them have no chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Literal

from contextive.knowledge.artifact import Artifact, ArtifactType, Totals
from contextive.knowledge.subsystems import NO_CATALOG, SubsystemCatalog


@dataclass(frozen=True, slots=True)
class ReportRun:
    """The run that a report describes."""

    run_id: str
    profile: str
    repo_head: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"run_id": self.run_id, "profile": self.profile, "repo_head": self.repo_head}


@dataclass(frozen=True, slots=True)
class CoveredArtifact:
    """An indexed file with its chunk count and symbols."""

    artifact: Artifact
    chunk_count: int
    skipped: bool = False
    """Whether the run skipped it because it had not changed."""
    symbols: Sequence[str] = ()
    """Ids of the symbols that it declares."""
    exercises_symbols: Sequence[str] = ()
    """Ids of the symbols that it tests."""


@dataclass(frozen=True, slots=True)
class RemovedArtifact:
    """A file that was removed since the last run."""

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
    totals: Mapping[ArtifactType, Totals],
    listed: Iterable[CoveredArtifact],
    missing: Iterable[CoveredArtifact],
    removed: Iterable[RemovedArtifact] = (),
    include_patterns: Sequence[str] = (),
    catalog: SubsystemCatalog = NO_CATALOG,
) -> dict[str, Any]:
    """The report as it is stored and returned. `generated_at` is in seconds since the epoch.

    `totals` count every file. `listed` and `missing` (files without chunks) are capped, because there may be a
    million.
    """
    return {
        "generated_at": generated_at,
        "generated_at_iso": iso_time(generated_at),
        "run": run.as_dict(),
        "include_patterns": list(include_patterns),
        "summary": {
            "artifact_total": sum(of_type.files for of_type in totals.values()),
            "artifact_breakdown": {kind: of_type.files for kind, of_type in sorted(totals.items())},
            "chunk_count": sum(of_type.chunks for of_type in totals.values()),
        },
        "artifacts": sorted([_row(item, catalog) for item in listed], key=itemgetter("path")),
        "missing_artifacts": sorted([_row(item, catalog) for item in missing], key=itemgetter("path")),
        "removed_artifacts": [item.as_dict() for item in sorted(removed, key=lambda item: item.path)],
    }


def coverage_ratio(chunk_count: int) -> float:
    """1.0 for a file with chunks, else 0.0."""
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
