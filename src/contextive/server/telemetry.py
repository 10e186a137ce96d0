"""Records every finished call: one log line and, if enabled, metrics."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextive.errors import all_error_types
from contextive.packs import CAPTURE_COUNTERS, REFUSED_CYPHER
from contextive.registry import CallRecord
from contextive.server.logs import FIELDS

if TYPE_CHECKING:
    from prometheus_client import Counter, Histogram

    from contextive.models.request import ModelUse

logger = logging.getLogger("contextive.call")

_MAX_SUMMARY_KEYS = 20
_NOT_FAILURES = frozenset({"input_required", "cancelled"})


##= docs/spec/host.md#logs
##% A finished call MUST produce one log line with time, request id, tool, caller, transport, duration and outcome.
##= docs/spec/gateway.md#call-metrics-and-logs
##% The log line of a call MUST contain the tool, a summary of its parameters without values, the duration, and the
##% number of warnings in the result.
def log_call(record: CallRecord) -> None:
    """Log a call: the tool, duration, result, and the types and sizes of its arguments, never their values."""
    if not logger.isEnabledFor(logging.INFO):
        return
    fields = {
        "requestId": record.request_id,
        "tool": record.tool,
        "caller": record.caller,
        "door": record.door,
        "durationMs": round(record.duration_seconds * 1000, 3),
        "status": record.error or "success",
        "parameters": summarise(record.arguments),
    }
    if record.warnings:
        fields["warnings"] = record.warnings
    logger.handle(_log_record(fields))


_RECORD_TEMPLATE = logging.LogRecord(logger.name, logging.INFO, __file__, 0, "call", (), None, "log_call").__dict__


def _log_record(fields: dict[str, Any]) -> logging.LogRecord:
    """The record that `logger.info` would create, but faster: thread and line of code are the same for every call."""
    line = logging.LogRecord.__new__(logging.LogRecord)
    now = time.time()
    line.__dict__ = {**_RECORD_TEMPLATE, "created": now, "msecs": now % 1 * 1000, FIELDS: fields}
    return line


##= docs/spec/models-and-recipes.md#provider-requests
##% Logs and metrics of a request MUST contain provider, model, tokens, duration and outcome, but no text of prompts
##% or answers.
def log_model_use(use: ModelUse) -> None:
    """Log a request to a model: the model, duration and number of tokens, never any text."""
    fields = {
        "provider": use.provider,
        "model": use.model,
        "durationMs": round(use.duration_seconds * 1000, 3),
        "inputTokens": use.usage.input_tokens,
        "outputTokens": use.usage.output_tokens,
        "status": use.error or "success",
    }
    logger.info("model", extra={FIELDS: fields})


##= docs/spec/host.md#logs
##% The values of arguments MUST NOT be logged.
##= docs/spec/host.md#logs
##% Text from a caller MUST NOT be able to forge a log line.
def summarise(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Names, types and sizes of the arguments. Values are left out, since they may be confidential."""
    summary = {}
    for name, value in list(arguments.items())[:_MAX_SUMMARY_KEYS]:
        printable = "".join(c if c.isprintable() else "?" for c in str(name)[:64])
        summary[printable] = _type_and_size(value)
    if len(arguments) > _MAX_SUMMARY_KEYS:
        summary["…"] = f"{len(arguments) - _MAX_SUMMARY_KEYS} more"
    return summary


def _type_and_size(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool() | int() | float():
            return type(value).__name__
        case str() | list() | dict():
            return f"{type(value).__name__}[{len(value)}]"
        case _:
            return type(value).__name__


@dataclass(frozen=True, slots=True)
class _Series:
    """The series that every call of one tool updates, looked up once."""

    success: Counter
    error: Counter
    seconds: Histogram


##= docs/spec/host.md#metrics
##% In HTTP mode, the server MUST expose the number, the failures and the duration of calls for each tool.
##= docs/spec/gateway.md#call-metrics-and-logs
##% The metrics MUST include `km_mcp_failures_total` by tool and error.
class Metrics:
    """Prometheus metrics with the names of the gateway contract. All series exist from the start."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, tools: Iterable[str]) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

        from contextive.server.index_metrics import IndexMetrics

        self._registry = CollectorRegistry(auto_describe=True)
        ##= docs/spec/gateway.md#call-metrics-and-logs
        ##% The metrics MUST include `km_mcp_requests_total` by tool and result.
        self._requests = Counter(
            "km_mcp_requests_total", "Tool calls by result", ["tool", "result"], registry=self._registry
        )
        ##= docs/spec/gateway.md#call-metrics-and-logs
        ##% The metrics MUST include `km_mcp_request_seconds` with buckets by tool.
        self._seconds = Histogram(
            "km_mcp_request_seconds", "Duration of a tool call in seconds", ["tool"], registry=self._registry
        )
        self._failures = Counter(
            "km_mcp_failures_total", "Failed tool calls by error code", ["tool", "error"], registry=self._registry
        )
        self._model_requests = Counter(
            "km_model_requests_total",
            "Requests to models by result",
            ["provider", "model", "result"],
            registry=self._registry,
        )
        self._model_tokens = Counter(
            "km_model_tokens_total", "Tokens by direction", ["provider", "model", "direction"], registry=self._registry
        )
        self._model_seconds = Histogram(
            "km_model_request_seconds",
            "Duration of a request to a model in seconds",
            ["provider", "model"],
            registry=self._registry,
        )
        self._captures = {
            tool: Counter(name, f"Calls of {tool} by result", ["result"], registry=self._registry)
            for tool, name in CAPTURE_COUNTERS.items()
        }
        for counter in self._captures.values():
            for result in ("success", "error"):
                counter.labels(result)
        self.index = IndexMetrics(self._registry)
        self._codes = frozenset(kind.code for kind in all_error_types())
        self._tools: set[str] = set()
        self._series: dict[str, _Series] = {}
        self.add_tools([*tools, "unknown"])

    ##= docs/spec/host.md#metrics
    ##% An unknown tool name MUST NOT create a new metric series.
    def add_tools(self, tools: Iterable[str]) -> None:
        """Create the series of these tools; any other name is counted as `unknown`."""
        for tool in tools:
            if tool not in self._tools:
                self._tools.add(tool)
                self._series[tool] = _Series(
                    self._requests.labels(tool, "success"),
                    self._requests.labels(tool, "error"),
                    self._seconds.labels(tool),
                )
                self._failures.labels(tool, "internal_error")

    def __call__(self, record: CallRecord) -> None:
        if record.error in _NOT_FAILURES:
            return
        tool = record.tool if record.tool in self._tools else "unknown"
        series = self._series[tool]
        (series.error if record.error else series.success).inc()
        series.seconds.observe(record.duration_seconds)
        if tool in self._captures:
            self._captures[tool].labels("error" if record.error else "success").inc()
        if record.error:
            self._failures.labels(tool, record.error if record.error in self._codes else "internal_error").inc()
            if tool == REFUSED_CYPHER:
                self.index.count_refused_cypher()

    def count_use(self, use: ModelUse) -> None:
        """Count one request to a model and the tokens it used."""
        self._model_requests.labels(use.provider, use.model, use.error or "success").inc()
        self._model_tokens.labels(use.provider, use.model, "input").inc(use.usage.input_tokens)
        self._model_tokens.labels(use.provider, use.model, "output").inc(use.usage.output_tokens)
        self._model_seconds.labels(use.provider, use.model).observe(use.duration_seconds)

    def render(self) -> bytes:
        from prometheus_client import generate_latest

        return generate_latest(self._registry)
