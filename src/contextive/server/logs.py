"""Structured logs: one JSON object a line on standard error, written by a thread of its own; callers only queue a record."""

from __future__ import annotations

import contextlib
import json
import logging
import logging.handlers
import queue
import sys
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TextIO

from pydantic_core import to_json

TRACE = 5
LEVELS: Mapping[str, int] = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
_BATCH_SECONDS = 0.2
_LINES_AT_ONCE = 16
_YIELD_SECONDS = 0.0005
_CLOSE_SECONDS = 5.0
FIELDS = "contextive_fields"
"""The attribute of a log record under which structured fields travel."""

_refusals = logging.getLogger("contextive.refusal")
_escaping = json.JSONEncoder(separators=(",", ":"), default=repr)


def log_refusal(status: str, **more: str | int | None) -> None:
    """One line for a message that was refused before it became a call: why, and never what it held."""
    fields = {key: value for key, value in more.items() if value is not None}
    _refusals.info("refused", extra={FIELDS: {**fields, "status": status}})


class LogPipeline:
    """Everything that is logged in this process, as JSON lines on one stream. `close` flushes."""

    def __init__(self, level: str, *, stream: TextIO | None = None, secrets: Sequence[str] = ()) -> None:
        logging.addLevelName(TRACE, "TRACE")
        self._queue: queue.SimpleQueue[logging.LogRecord | None] = queue.SimpleQueue()
        self._writer = _JsonLines(stream or sys.stderr, secrets)
        self._thread = threading.Thread(target=self._write_batches, name="logs", daemon=True)
        self._closing = threading.Event()
        self._queue_handler = _RecordQueueHandler(self._queue)
        self._root = logging.getLogger()
        self._before = (self._root.handlers[:], self._root.level)
        self._root.handlers[:] = [self._queue_handler]
        self.set_level(level)
        self._thread.start()

    def set_level(self, level: str) -> None:
        self._root.setLevel(LEVELS[level])
        # The SDK and the web server tell a lot about every session at info; it is news only when something is wrong.
        for noisy in ("mcp", "uvicorn", "httpx", "watchfiles", "asyncio"):
            logging.getLogger(noisy).setLevel(max(LEVELS[level], logging.WARNING) if level == "info" else LEVELS[level])

    ##= docs/spec/host.md#logs
    ##% A secret of the configuration MUST NOT be logged.
    def redact(self, secrets: Sequence[str]) -> None:
        """Never print these values, whoever logs them."""
        self._writer.redact(secrets)

    ##= docs/spec/host.md#shutdown
    ##% Before it exits, the server MUST write all pending log lines.
    def close(self) -> None:
        """Write what is queued, then give the root logger back."""
        self._root.handlers[:], level = self._before
        self._root.setLevel(level)
        self._closing.set()
        self._queue.put(None)
        self._thread.join(_CLOSE_SECONDS)

    def _write_batches(self) -> None:
        """Wake for the first record, wait a moment for its neighbours, write them together.

        A writer that woke for every record would fight the event loop for the interpreter at every call. One that rendered
        a whole batch at a stretch would hold up the call that comes meanwhile.
        """
        while True:
            batch = [self._queue.get()]
            self._closing.wait(_BATCH_SECONDS)
            with contextlib.suppress(queue.Empty):
                while True:
                    batch.append(self._queue.get_nowait())
            records = [record for record in batch if record is not None]
            for start in range(0, len(records), _LINES_AT_ONCE):
                self._writer.write(records[start : start + _LINES_AT_ONCE])
                self._closing.wait(_YIELD_SECONDS)
            if None in batch:
                return


class _RecordQueueHandler(logging.handlers.QueueHandler):
    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        # Same process: the record can travel as it is, so that the writer renders exceptions as fields.
        return record


##= docs/spec/host.md#logs
##% Logs MUST be written to standard error as JSON, one object per line.
class _JsonLines:
    def __init__(self, stream: TextIO, secrets: Sequence[str]) -> None:
        self._stream = stream
        self._tracebacks = logging.Formatter()
        self.redact(secrets)

    def redact(self, secrets: Sequence[str]) -> None:
        # As they would stand inside a JSON string.
        self._secrets = tuple(json.dumps(secret)[1:-1] for secret in secrets if secret)

    def write(self, records: Sequence[logging.LogRecord]) -> None:
        try:
            self._stream.write("".join(f"{self._line(record)}\n" for record in records))
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody reads standard error any more. There is no better place to say so.
            return

    def _line(self, record: logging.LogRecord) -> str:
        line = _as_json(self._object(record))
        for secret in self._secrets:
            line = line.replace(secret, "[hidden]")
        return line

    def _object(self, record: logging.LogRecord) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.exc_info:
            entry["exception"] = self._tracebacks.formatException(record.exc_info)
        # When it happened, not when it was written.
        entry["timestamp"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        entry.update(getattr(record, FIELDS, {}))
        return entry


def _as_json(entry: dict[str, Any]) -> str:
    """One line of ASCII. Whatever else stands in it is escaped: some readers take U+2028 for the end of a line."""
    try:
        fast = to_json(entry, fallback=repr)
    except ValueError:  # half a surrogate pair, or bytes that are no text
        return _escaping.encode(entry)
    return fast.decode("ascii") if fast.isascii() else _escaping.encode(entry)
