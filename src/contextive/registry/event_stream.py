"""The event stream of a long gateway call: progress events, then the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """The progress of a call."""

    done: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """The answer of a call, with the HTTP status it would have without a stream."""

    status: int
    body: bytes


class EventStreamReader:
    """Splits a stream into events, however it is chunked. Unknown events are ignored."""

    def __init__(self) -> None:
        self._rest = b""

    @property
    def size(self) -> int:
        """Size in bytes of the incomplete event."""
        return len(self._rest)

    def feed(self, piece: bytes) -> Iterator[ProgressEvent | AnswerEvent]:
        self._rest += piece
        while (end := self._rest.find(b"\n\n")) >= 0:
            block, self._rest = self._rest[:end], self._rest[end + 2 :]
            if (event := _parse_event(block)) is not None:
                yield event


def _parse_event(block: bytes) -> ProgressEvent | AnswerEvent | None:
    lines = [line.partition(b": ") for line in block.split(b"\n") if not line.startswith(b":")]
    fields = {name: value for name, _, value in lines}
    try:
        data = json.loads(fields.get(b"data", b""))
    except (ValueError, RecursionError):
        return None
    match fields.get(b"event"), data:
        case b"progress", {"progress": int() | float() as done}:
            total, message = data.get("total"), data.get("message")
            return ProgressEvent(float(done), _number(total), message if isinstance(message, str) else None)
        case b"answer", {"http": int() as status, "body": dict() as body}:
            return AnswerEvent(status, json.dumps(body).encode())
        case _:
            return None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
