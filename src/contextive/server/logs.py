"""Structured logs: one JSON object per line on standard error. Callers queue records; a separate thread writes them."""

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
"""The attribute of a log record that has the structured fields."""

_refusals = logging.getLogger("contextive.refusal")
_escaping = json.JSONEncoder(separators=(",", ":"), default=repr)


def log_refusal(status: str, **more: str | int | None) -> None:
    """Log a message that was refused before it became a call: the reason, never the content."""
    fields = {key: value for key, value in more.items() if value is not None}
    _refusals.info("refused", extra={FIELDS: {**fields, "status": status}})


class LogPipeline:
    """Writes everything logged in this process as JSON lines to one stream. `close` flushes."""

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
        # The SDK and the web server log a lot about every session at info; at that level, show only their warnings.
        for noisy in ("mcp", "uvicorn", "httpx", "watchfiles", "asyncio"):
            logging.getLogger(noisy).setLevel(max(LEVELS[level], logging.WARNING) if level == "info" else LEVELS[level])

    ##= docs/spec/host.md#logs
    ##% A secret from the configuration MUST NOT be logged.
    def redact(self, secrets: Sequence[str]) -> None:
        """Replace these values in every line."""
        self._writer.redact(secrets)

    ##= docs/spec/host.md#shutdown
    ##% Before it exits, the server MUST write all pending log lines.
    def close(self) -> None:
        """Write the queued records and restore the root logger."""
        self._root.handlers[:], level = self._before
        self._root.setLevel(level)
        self._closing.set()
        self._queue.put(None)
        self._thread.join(_CLOSE_SECONDS)

    def _write_batches(self) -> None:
        """Wait for the first record, then a moment for more, and write them together.

        Waking for every record would compete with the event loop for the interpreter on every call. Rendering a whole
        batch without a pause would delay calls that arrive meanwhile.
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
        # The record stays in this process, so pass it on unchanged; the writer renders exceptions as fields.
        return record


##= docs/spec/host.md#logs
##% Logs MUST be written to standard error as JSON, one object per line.
class _JsonLines:
    def __init__(self, stream: TextIO, secrets: Sequence[str]) -> None:
        self._stream = stream
        self._tracebacks = logging.Formatter()
        self.redact(secrets)

    def redact(self, secrets: Sequence[str]) -> None:
        # Escaped as inside a JSON string.
        self._secrets = tuple(json.dumps(secret)[1:-1] for secret in secrets if secret)

    def write(self, records: Sequence[logging.LogRecord]) -> None:
        try:
            self._stream.write("".join(f"{self._line(record)}\n" for record in records))
            self._stream.flush()
        except (OSError, ValueError):
            # Standard error is closed; there is nowhere left to report it.
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
        # The time of the event, not of writing the line.
        entry["timestamp"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        entry.update(getattr(record, FIELDS, {}))
        return entry


def _as_json(entry: dict[str, Any]) -> str:
    """One line of ASCII. Other characters are escaped, because some readers treat U+2028 as a line break."""
    try:
        fast = to_json(entry, fallback=repr)
    except ValueError:  # a lone surrogate, or bytes that are not text
        return _escaping.encode(entry)
    return fast.decode("ascii") if fast.isascii() else _escaping.encode(entry)
