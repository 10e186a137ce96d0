"""HTTP connections: one that does not say what it wants is closed, and an answer leaves in one piece."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

COMPLETE_KEY = "contextive.complete"
"""Set in the ASGI scope of a request whose body had arrived with its head: there is nothing to wait for."""
_HEAD_SECONDS = 10.0
_MOST_GATHERED = 65_536


class ImpatientProtocol(H11Protocol):
    """Waits a limited time for the head of a request. The web server itself would wait for ever, with a descriptor each."""

    _waits_since: float | None = None
    """Since when the head of a request is awaited; None while one is being answered."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in the base class
        self._writes = _GatheredWrites(transport, self.loop)
        super().connection_made(self._writes)
        self._wait()

    def handle_events(self) -> None:
        super().handle_events()
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            if self._waits_since is None:
                self._wait()
            return
        self._waits_since = None
        if not cycle.more_body:
            # Before the application runs for the first time, which the base class has only planned.
            cycle.scope[COMPLETE_KEY] = True  # type: ignore[literal-required]

    def on_response_complete(self) -> None:
        self._writes.send()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Begin to wait for a head. The timer of an earlier wait goes on: it looks when it ends."""
        self._waits_since = self.loop.time()
        if self._timer is None:
            self._timer = self.loop.call_later(_HEAD_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._waits_since is None:
            return
        ends = self._waits_since + _HEAD_SECONDS
        if self.loop.time() >= ends:
            self.transport.close()
        else:
            self._timer = self.loop.call_at(ends, self._look)


class _GatheredWrites(asyncio.Transport):
    """A transport that sends what is written in one turn of the loop together: head and body of an answer, mostly."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._gathered: list[bytes] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._gathered:
            self._loop.call_soon(self.send)
        self._gathered.append(bytes(data))
        self._size += len(data)
        if self._size > _MOST_GATHERED:  # so that whoever writes on and on is told when the peer does not read
            self.send()

    def send(self) -> None:
        """Send now what was gathered."""
        if self._gathered:
            gathered, self._gathered, self._size = self._gathered, [], 0
            self._transport.write(gathered[0] if len(gathered) == 1 else b"".join(gathered))

    def close(self) -> None:
        self.send()
        self._transport.close()

    def abort(self) -> None:
        self._gathered.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()
