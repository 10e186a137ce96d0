"""HTTP connections: one that sends no request, or reads no answer, is closed; and an answer leaves in one piece."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

logger = logging.getLogger(__name__)

BODY_ARRIVED_KEY = "contextive.complete"
"""Set in the ASGI scope of a request whose body had arrived with its head: there is nothing to wait for."""
_HEAD_SECONDS = 10.0
_MAX_BUFFERED = 65_536
_CHECKS = 4
"""How often it is checked, within the time that a client has, whether it reads."""
_LENGTHS = re.compile(rb"^content-length:([^\n]*)", re.IGNORECASE | re.MULTILINE)


class TimeoutProtocol(H11Protocol):
    """Waits a limited time for the head of a request, and for the answer to be read. The web server itself would wait for
    ever, with a descriptor each."""

    _head_awaited_since: float | None = None
    """Since when the head of a request is awaited; None while one is being answered."""
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, write_seconds: Callable[[], float], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.conn: _StrictConnection = _StrictConnection(h11.SERVER)
        self._write_seconds = write_seconds

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in the base class
        self._writes = _BufferedTransport(transport, self.loop, self._write_seconds, self._waits_for_reader)
        super().connection_made(self._writes)
        self._start_head_timer()

    def handle_events(self) -> None:
        super().handle_events()
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            if self._head_awaited_since is None:
                self._start_head_timer()
            return
        self._head_awaited_since = None
        if dropped := self.conn.take_dropped():
            cycle.scope["headers"] = [*cycle.scope["headers"], *dropped]
        if not cycle.more_body:
            # Before the application runs for the first time, which the base class has only planned.
            cycle.scope[BODY_ARRIVED_KEY] = True  # type: ignore[literal-required]

    def on_response_complete(self) -> None:
        self._writes.send()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._writes.stop()
        super().connection_lost(exc)

    ##= docs/spec/host.md#requests
    ##% An open event stream MUST NOT be aborted while its heartbeats still fit into the send buffer.
    def _waits_for_reader(self) -> bool:
        """Whether an answer is held up by the client, and not by the application.

        An event stream that goes on, and whose heartbeats find room, waits for the application.
        """
        return self.cycle is None or self.cycle.response_complete or self.flow.write_paused

    def _start_head_timer(self) -> None:
        """Begin to wait for a head. The timer of an earlier wait goes on: it looks when it ends."""
        self._head_awaited_since = self.loop.time()
        if self._timer is None:
            self._timer = self.loop.call_later(_HEAD_SECONDS, self._check_head_deadline)

    def _check_head_deadline(self) -> None:
        self._timer = None
        if self._head_awaited_since is None:
            return
        ends = self._head_awaited_since + _HEAD_SECONDS
        if self.loop.time() >= ends:
            self.transport.close()
        else:
            self._timer = self.loop.call_at(ends, self._check_head_deadline)


class _StrictConnection(h11.Connection):
    """Remembers each further Content-Length of a request. h11 drops those that are equal to the first."""

    _dropped: tuple[tuple[bytes, bytes], ...] = ()

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        before = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request):
            head = before[: len(before) - len(self.trailing_data[0])]
            lengths = b",".join(_LENGTHS.findall(head)).split(b",")
            self._dropped = tuple((b"content-length", length.strip()) for length in lengths[1:])
        return event

    def take_dropped(self) -> tuple[tuple[bytes, bytes], ...]:
        """The headers of the newest request that h11 has dropped; each is returned once."""
        dropped, self._dropped = self._dropped, ()
        return dropped


class _BufferedTransport(asyncio.Transport):
    """A transport that sends what is written in one turn of the loop together: head and body of an answer, mostly.

    Closes the connection when the client reads nothing for `write_seconds` while the answer waits for it.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        write_seconds: Callable[[], float],
        waits_for_reader: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._write_seconds = write_seconds
        self._waits_for_reader = waits_for_reader
        self._buffer: list[bytes] = []
        self._size = 0
        self._written = 0
        self._read_bytes = 0
        """How many bytes the client, or the system for it, had taken when that number last grew."""
        self._idle_checks = 0
        self._timer: asyncio.TimerHandle | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._buffer:
            self._loop.call_soon(self.send)
        self._buffer.append(bytes(data))
        self._size += len(data)
        if self._size > _MAX_BUFFERED:  # so that whoever writes on and on is told when the peer does not read
            self.send()

    def send(self) -> None:
        """Send now what was gathered."""
        if self._buffer:
            gathered, size = self._buffer, self._size
            self._buffer, self._size = [], 0
            self._transport.write(gathered[0] if len(gathered) == 1 else b"".join(gathered))
            self._written += size
            if self._timer is None and self._transport.get_write_buffer_size():
                self._idle_checks = 0
                self._check_later()

    def _check_later(self) -> None:
        self._timer = self._loop.call_later(self._write_seconds() / _CHECKS, self._check)

    ##= docs/spec/host.md#requests
    ##% A response that waits for its client MUST be aborted when the client reads none of it for
    ##% `limits.writeSeconds`.
    def _check(self) -> None:
        # Checks are counted, and not the time: after a pause of the whole process a client gets its time again.
        self._timer = None
        waiting = self._transport.get_write_buffer_size()
        if not waiting:
            return
        taken = self._written - waiting
        if taken > self._read_bytes or not self._waits_for_reader():
            self._read_bytes, self._idle_checks = taken, 0
        else:
            self._idle_checks += 1
        if self._idle_checks < _CHECKS:
            self._check_later()
        else:
            logger.warning("closed a connection whose client did not read the answer")
            self.abort()

    def stop(self) -> None:
        """Check no longer whether the client reads."""
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        self.send()
        self._transport.close()

    def abort(self) -> None:
        self._buffer.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()
