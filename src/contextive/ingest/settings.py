"""What an ingest run is asked, and what it is told once for all runs."""

from __future__ import annotations

from dataclasses import dataclass

RUN_WAIT_SECONDS = 600.0
"""How long a run waits for those of other processes. A run that died holds up nobody, so the wait is for work that is done."""


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """What is indexed, and how it is cut."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_file_bytes: int = 1_048_576
    window_characters: int = 1000
    window_overlap: int = 200
    symbols: bool = True


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What is asked of a run."""

    profile: str = "manual"
    dry_run: bool = False
    full: bool = False
    """Parse every file again, also those that did not change."""


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """How much history is kept, and when a document is old."""

    coverage_history: int = 5
    lifecycle_history: int = 10
    stale_days: int = 30
