"""Structured logs: one JSON object a line on standard error, written by a thread of its own.

Callers only put a record into a queue; structlog, which costs a tenth of a second to import, is loaded by the writer.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import queue
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

TRACE = 5
LEVELS: Mapping[str, int] = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
FIELDS = "contextive_fields"
"""The attribute of a log record under which structured fields travel."""


class LogPipeline:
    """Everything that is logged in this process, as JSON lines on one stream. `close` flushes."""

    def __init__(self, level: str, *, stream: TextIO | None = None, secrets: Sequence[str] = ()) -> None:
        logging.addLevelName(TRACE, "TRACE")
        self._queue: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
        self._writer = _JsonLines(stream or sys.stderr, secrets)
        self._listener = logging.handlers.QueueListener(self._queue, self._writer)
        self._entrance = _Entrance(self._queue)
        self._root = logging.getLogger()
        self._before = (self._root.handlers[:], self._root.level)
        self._root.handlers[:] = [self._entrance]
        self.set_level(level)
        self._listener.start()

    def set_level(self, level: str) -> None:
        self._root.setLevel(LEVELS[level])
        # The SDK and the web server tell a lot about every session at info; it is news only when something is wrong.
        for noisy in ("mcp", "uvicorn", "httpx", "watchfiles", "asyncio"):
            logging.getLogger(noisy).setLevel(max(LEVELS[level], logging.WARNING) if level == "info" else LEVELS[level])

    def hide(self, secrets: Sequence[str]) -> None:
        """Never print these values, whoever logs them."""
        self._writer.hide(secrets)

    def close(self) -> None:
        """Write what is queued, then give the root logger back."""
        self._listener.stop()
        self._root.handlers[:], level = self._before
        self._root.setLevel(level)


class _Entrance(logging.handlers.QueueHandler):
    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        # Same process: the record can travel as it is, so that the writer renders exceptions as fields.
        return record


class _JsonLines(logging.Handler):
    def __init__(self, stream: TextIO, secrets: Sequence[str]) -> None:
        super().__init__()
        self._stream = stream
        self.hide(secrets)
        self._renderer: logging.Formatter | None = None

    def hide(self, secrets: Sequence[str]) -> None:
        # As they would stand inside a JSON string.
        self._secrets = tuple(json.dumps(secret)[1:-1] for secret in secrets if secret)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._renderer is None:
                self._renderer = _structlog_formatter()
            line = self._renderer.format(record)
            for secret in self._secrets:
                line = line.replace(secret, "[hidden]")
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody reads standard error any more. There is no better place to say so.
            return


def _structlog_formatter() -> logging.Formatter:
    import structlog

    def take_fields(_logger: Any, _method: str, event: Any) -> Any:
        record = event.get("_record")
        event.update(getattr(record, FIELDS, {}))
        return event

    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
        structlog.processors.ExceptionRenderer(),
    ]
    return structlog.stdlib.ProcessorFormatter(
        processors=[
            take_fields,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(sort_keys=False, ensure_ascii=True),
        ],
        foreign_pre_chain=shared,
    )
