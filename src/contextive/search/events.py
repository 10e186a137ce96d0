"""What happens to an index, as it is told to whoever counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contextive.store.values import BackupEnded, Run


@dataclass(frozen=True, slots=True)
class RunEnded:
    """An ingest run that was no dry one came to its end."""

    profile: str
    duration_seconds: float
    run: Run | None
    """None where it failed."""
    removed: int = 0
    did_something: bool = False


@dataclass(frozen=True, slots=True)
class SearchCompleted:
    """A search was answered."""

    by_symbol: bool
    graph_seconds: float | None
    """Time that graph context took; None where nobody asked for any."""
    contexts_cached: int = 0
    contexts_read: int = 0
    skipped_by_limit: int = 0
    skipped_by_time: int = 0
    score_changes: tuple[float, ...] = ()
    """How far the rules and the graph moved each result from the cosine of its vector."""


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """A search could not be answered."""


@dataclass(frozen=True, slots=True)
class WatcherRan:
    """The keeper brought the index in step with the files, or could not."""

    success: bool


@dataclass(frozen=True, slots=True)
class EventsDropped:
    """The log of what searches showed was full, so its oldest rows went."""

    count: int


IndexEvent = RunEnded | SearchCompleted | SearchFailed | WatcherRan | EventsDropped | BackupEnded
Observer = Callable[[IndexEvent], None]


def ignore_event(_happening: IndexEvent) -> None:
    """Counts nothing."""
