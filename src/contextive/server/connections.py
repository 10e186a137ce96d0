"""HTTP connections: closed if they send no request or do not read the response; small responses go in one write."""

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
"""Set in the ASGI scope of a request whose body arrived together with its headers."""
_HEAD_SECONDS = 10.0
_MAX_BUFFERED = 65_536
_CHECKS = 4
"""How many times within `write_seconds` to check whether the client is reading."""
_LENGTHS = re.compile(rb"^content-length:([^\n]*)", re.IGNORECASE | re.MULTILINE)


class TimeoutProtocol(H11Protocol):
    """Limits the time to wait for the headers of a request and for the response to be read.

    uvicorn itself would wait forever, with one open file descriptor per connection.
    """

    _head_awaited_since: float | None = None
    """When waiting for request headers began; None while a request is being answered."""
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
            # The base class has only scheduled the application, so this is set before it runs.
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
        """Whether the response waits for the client, and not for the application.

        An open event stream whose heartbeats fit into the write buffer waits for the application.
        """
        return self.cycle is None or self.cycle.response_complete or self.flow.write_paused

    def _start_head_timer(self) -> None:
        """Start waiting for request headers. A running timer is kept: it checks the deadline when it fires."""
        self._head_awaited_since = self.loop.time()
        if self._timer is None:
            self._timer = self.loop.call_later(_HEAD_SECONDS, self._check_head_deadline)

    def _check_head_deadline(self) -> None:
        self._timer = None
        if self._head_awaited_since is None:
            return
        deadline = self._head_awaited_since + _HEAD_SECONDS
        if self.loop.time() >= deadline:
            self.transport.close()
        else:
            self._timer = self.loop.call_at(deadline, self._check_head_deadline)


class _StrictConnection(h11.Connection):
    """Remembers repeated Content-Length headers of a request. h11 drops those that are equal to the first."""

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
        """The headers that h11 dropped from the latest request; each is returned once."""
        dropped, self._dropped = self._dropped, ()
        return dropped


class _BufferedTransport(asyncio.Transport):
    """A transport that joins all writes of one event loop iteration, usually the headers and body of a response.

    Closes the connection when the client reads nothing for `write_seconds` while a response waits for it.
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
        """How many bytes the client or the operating system had accepted when that number last grew."""
        self._idle_checks = 0
        self._timer: asyncio.TimerHandle | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._buffer:
            self._loop.call_soon(self.send)
        self._buffer.append(bytes(data))
        self._size += len(data)
        if self._size > _MAX_BUFFERED:  # so that flow control stops a writer whose client does not read
            self.send()

    def send(self) -> None:
        """Send the buffered data now."""
        if self._buffer:
            parts, size = self._buffer, self._size
            self._buffer, self._size = [], 0
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))
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
        # Count checks instead of measuring time: after a pause of the whole process the client gets its full time.
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
            logger.warning("closed a connection whose client did not read the response")
            self.abort()

    def stop(self) -> None:
        """Stop checking whether the client reads."""
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
