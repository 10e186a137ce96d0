"""Notifies open pages of the site when the project changes, with server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Final

from contextive.errors import ContextiveError, RateLimited
from contextive.registry.threads import run_in_service_thread

logger = logging.getLogger(__name__)

MAX_STREAMS: Final = 64
MAX_STREAMS_OF_SESSION: Final = 8
_HEARTBEAT_SECONDS: Final = 15.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 1.5
_PAUSE_FACTOR: Final = 5
"""The project is checked again after this many times the seconds that the last check took, within the two limits."""


class LiveUpdates:
    """The event streams of all open pages. The project is checked only while there are any."""

    def __init__(self, version: Callable[[], object]) -> None:
        """`version` returns something that changes when the project does. It may block."""
        self._version = version
        self._streams: Counter[str] = Counter()
        self._number = 0
        self._changed = asyncio.Condition()
        self._checker: asyncio.Task[None] | None = None
        self._is_ready = asyncio.Event()
        self._is_closed = False

    ##= docs/spec/site.md#live-updates
    ##% A session MUST have at most 8 event streams and the server at most 64, each with a heartbeat and ended at shutdown.
    def stream(self, session: str) -> AsyncIterator[bytes]:
        """The events of one page. Raises `RateLimited` if there are too many streams."""
        if self._streams[session] >= MAX_STREAMS_OF_SESSION or self._streams.total() >= MAX_STREAMS:
            raise RateLimited("There are too many open pages.", retry_after_seconds=30, hint="Close some of them.")
        self._streams[session] += 1
        return self._events(session)

    async def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        self._is_ready.set()
        if self._checker is not None:
            self._checker.cancel()
        async with self._changed:
            self._changed.notify_all()

    async def _events(self, session: str) -> AsyncIterator[bytes]:
        try:
            if self._checker is None or self._checker.done():
                self._is_ready.clear()
                self._checker = asyncio.create_task(self._check())
            await self._is_ready.wait()  # from here on, no change is missed
            seen = self._number
            yield b"retry: 2000\nevent: hello\ndata: {}\n\n"
            while not self._is_closed:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_HEARTBEAT_SECONDS), self._changed:
                        while not self._is_closed and self._number == seen:
                            await self._changed.wait()
                if self._number != seen:
                    seen = self._number
                    yield f"event: change\ndata: {json.dumps({'number': seen})}\n\n".encode()
                elif not self._is_closed:
                    yield b": still here\n\n"
        finally:
            self._streams[session] -= 1
            if not self._streams[session]:
                del self._streams[session]

    async def _check(self) -> None:
        """Look for changes until no stream is left."""
        known: object = None
        while self._streams.total() and not self._is_closed:
            started = time.monotonic()
            try:
                version = await run_in_service_thread(self._version)
            except ContextiveError as error:
                version = error.code  # the page shows the error when it is loaded again
            if known is not None and version != known:
                self._number += 1
                async with self._changed:
                    self._changed.notify_all()
            known = version
            self._is_ready.set()
            took = time.monotonic() - started
            await asyncio.sleep(min(max(took * _PAUSE_FACTOR, _SHORTEST_PAUSE), _LONGEST_PAUSE))
