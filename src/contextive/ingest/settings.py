"""The settings of ingest, and the request for one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

IngestProgress = Callable[[str, int, int], None]
"""Called with the phase, the number done and the total."""
RUN_WAIT_SECONDS = 600.0
"""How long a run waits for runs of other processes. A run that died blocks nobody, so this is time for real work."""


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """What is indexed, and how it is split into chunks."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_file_bytes: int = 1_048_576
    window_characters: int = 1000
    window_overlap: int = 200
    symbols: bool = True


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """The options of one run."""

    profile: str = "manual"
    dry_run: bool = False
    full: bool = False
    """Parse every file again, even if it did not change."""


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """How many reports are kept, and when a document is stale."""

    coverage_history: int = 5
    lifecycle_history: int = 10
    stale_days: int = 30
