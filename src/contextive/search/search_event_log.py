"""Logs the results of searches. Rows are written a moment later, so an answer never waits for a write."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from contextive.errors import ContextiveError
from contextive.search.events import EventsDropped, Observer, ignore_event
from contextive.store.protocol import Store
from contextive.store.values import SearchEvent

logger = logging.getLogger(__name__)

_DELAY_SECONDS = 0.3
_MAX_WAITING = 5_000


class SearchEventLog:
    """Collects events and writes them in batches. After `write` returns, all events added before are in the store."""

    def __init__(self, store: Store, keep: int, observer: Observer = ignore_event) -> None:
        self._store = store
        self._keep = keep
        self._observer = observer
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: list[SearchEvent] = []
        self._timer: threading.Timer | None = None

    def add(self, events: Sequence[SearchEvent]) -> None:
        if not self._keep:
            return
        with self._lock:
            self._waiting += events
            del self._waiting[:-_MAX_WAITING]
            if self._timer is None and self._waiting:
                self._timer = threading.Timer(_DELAY_SECONDS, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write the waiting events; a failure is only logged."""
        try:
            self.write()
        except ContextiveError as error:
            logger.warning("search results could not be logged: %s", error.full_message())

    def write(self) -> None:
        """Write the waiting events. If that fails, they stay queued and the error is raised."""
        with self._writing:
            with self._lock:
                events, self._waiting = self._waiting, []
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = None
            if not events:
                return
            try:
                with self._store.transaction() as writer:
                    dropped = writer.put_events(events, self._keep)
            except ContextiveError:
                with self._lock:
                    self._waiting = [*events, *self._waiting][-_MAX_WAITING:]
                raise
            if dropped:
                self._observer(EventsDropped(dropped))
