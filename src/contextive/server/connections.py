"""HTTP connections whose client takes its time: one that does not say what it wants is closed."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

_HEAD_SECONDS = 10.0


class ImpatientProtocol(H11Protocol):
    """Waits a limited time for the head of a request. The web server itself would wait for ever, with a descriptor each."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in the base class
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_HEAD_SECONDS, transport.close)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_wait()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def _end_wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
