"""Events of an index, which an observer counts for the metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contextive.store.values import BackupEnded, Run


@dataclass(frozen=True, slots=True)
class RunEnded:
    """An ingest run ended. Dry runs send no event."""

    profile: str
    duration_seconds: float
    run: Run | None
    """None if the run failed."""
    removed: int = 0
    did_something: bool = False


@dataclass(frozen=True, slots=True)
class SearchCompleted:
    """A search was answered."""

    by_symbol: bool
    graph_seconds: float | None
    """Time spent on graph context; None if it was not requested."""
    contexts_cached: int = 0
    contexts_read: int = 0
    skipped_by_limit: int = 0
    skipped_by_time: int = 0
    score_changes: tuple[float, ...] = ()
    """Adjusted score minus cosine similarity, for each result that has an embedding."""


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """A search failed."""


@dataclass(frozen=True, slots=True)
class WatcherRan:
    """The watcher brought the index up to date, or failed to."""

    success: bool


@dataclass(frozen=True, slots=True)
class EventsDropped:
    """The log of search results was full, so its oldest rows were deleted."""

    count: int


IndexEvent = RunEnded | SearchCompleted | SearchFailed | WatcherRan | EventsDropped | BackupEnded
Observer = Callable[[IndexEvent], None]


def ignore_event(_event: IndexEvent) -> None:
    """An observer that does nothing."""
