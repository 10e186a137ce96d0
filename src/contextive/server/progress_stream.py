"""Progress of a call over plain HTTP: an event stream that ends with the result.

A caller requests it with `Accept: text/event-stream`. A call that finishes quickly gets a plain response anyway.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from contextive.registry import Client, NoClient

_STREAM_AFTER_SECONDS = 0.3
_HEARTBEAT_SECONDS = 2.0
_MAX_QUEUED = 100
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class ProgressClient(NoClient):
    """A client that receives progress but cannot be asked anything."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        if self._queue.qsize() >= _MAX_QUEUED:  # a slow client misses older events, never the last one
            self._queue.get_nowait()
        self._queue.put_nowait({"progress": done, "total": total, "message": message})

    async def next(self) -> dict[str, Any]:
        return await self._queue.get()


def wants_progress(request: Request) -> bool:
    accepted = request.headers.get("accept", "").lower().split(",")
    return any(kind.partition(";")[0].strip() == "text/event-stream" for kind in accepted)


async def answer_with_progress(call: Callable[[Client], Coroutine[Any, Any, Response]]) -> Response:
    """The response of a call; if it takes longer than a moment, a stream of its progress and then its response."""
    client = ProgressClient()
    task = asyncio.create_task(call(client))
    try:
        await asyncio.wait({task}, timeout=_STREAM_AFTER_SECONDS)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.done():
        return task.result()
    return StreamingResponse(_events(task, client), media_type="text/event-stream", headers=_HEADERS)


async def _events(task: asyncio.Task[Response], client: ProgressClient) -> AsyncIterator[bytes]:
    """Progress events, a comment as heartbeat when there are none for a while, and the response with its status."""
    try:
        while not task.done():
            next_event = asyncio.create_task(client.next())
            await asyncio.wait({task, next_event}, timeout=_HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if next_event.done():
                yield _event("progress", next_event.result())
                continue
            next_event.cancel()
            if not task.done():
                yield b": at work\n\n"
        response = task.result()
        yield _event("answer", {"http": response.status_code, "body": json.loads(bytes(response.body))})
    finally:
        task.cancel()  # stop the call if the client disconnected


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
