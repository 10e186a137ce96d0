"""Each call logs one JSON line with the types and sizes of its arguments, not the values; no caller can forge one."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from contextive.registry import CallRecord
from contextive.server.logs import FIELDS, LogPipeline
from contextive.server.telemetry import log_call, summarise
from tests.raw_clients import StdioClient, WebServer
from tests.server.conftest import ServerFactory

FORGERY = 'x\n{"event": "call", "tool": "forged", "status": "success"}\r\n\u2028\x1b[31m'


@pytest.fixture(scope="module")
def server(shared_server_factory: ServerFactory) -> Iterator[WebServer]:
    with shared_server_factory.http() as running:
        yield running


def call_line(process: StdioClient, request_id: str) -> dict[str, Any]:
    return process.wait_for_log(lambda line: line["event"] == "call" and line["requestId"] == request_id)


##= docs/spec/host.md#logs
##% A finished call MUST produce one log line with time, request id, tool, caller, transport, duration and outcome.
##= docs/spec/host.md#logs
##% The values of arguments MUST NOT be logged.
##= docs/spec/gateway.md#call-metrics-and-logs
##% The log line of a call MUST contain the tool, a summary of its parameters without values, the duration, and the
##% number of warnings in the result.
def test_a_call_logs_one_line_with_every_field(server: WebServer) -> None:
    arguments = {"text": "private words", "words": ["a", "b"], "number": 3, "maybe": None, "flag": True}
    server.web.post("/api/v1/tools/odd_echo", arguments, {"X-Request-ID": "complete"})
    line = call_line(server.process, "complete")
    assert set(line) == {
        *("event", "level", "logger", "timestamp"),
        *("requestId", "tool", "caller", "door", "durationMs", "status", "parameters"),
    }
    assert line["tool"] == "odd_echo"
    assert line["status"] == "success"
    assert line["door"] == "rest"
    assert line["level"] == "info"
    assert 0 <= line["durationMs"] < 10_000
    assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
    assert line["parameters"] == {
        "text": "str[13]",
        "words": "list[2]",
        "number": "int",
        "maybe": "null",
        "flag": "bool",
    }
    assert "private words" not in server.process.log_text
    lines = [found for found in server.process.log_lines() if found.get("requestId") == "complete"]
    assert len(lines) == 1


##= docs/spec/host.md#tool-calls
##% A result MUST be checked against the tool's output schema before it is sent.
@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("odd_echo", {}, "invalid_request"),
        ("odd_raise", {}, "internal_error"),
        ("odd_mismatch", {}, "internal_error"),
        ("odd_not_json", {}, "internal_error"),
        ("odd_big", {"size": 2_000_000}, "too_large"),
        ("no_such_tool", {}, "tool_not_found"),
        ("odd_maintain", {}, "forbidden"),
    ],
)
def test_a_failed_call_logs_its_error_code(
    server: WebServer, tool: str, arguments: dict[str, Any], status: str
) -> None:
    request_id = f"failing-{tool}"
    server.web.post(f"/api/v1/tools/{tool}", arguments, {"X-Request-ID": request_id})
    line = call_line(server.process, request_id)
    assert line["status"] == status
    assert line["tool"] == (tool if status != "tool_not_found" else "unknown")


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "evil.com"}, 421), ({"Origin": "http://evil.com"}, 403)],
)
def test_a_request_refused_by_the_guard_is_logged(server: WebServer, headers: dict[str, str], status: int) -> None:
    server.web.get("/metrics", {**headers, "X-Request-ID": f"refused-{status}"})
    line = server.process.wait_for_log(lambda found: found.get("requestId") == f"refused-{status}")
    assert (line["event"], line["http"], line["status"]) == ("refused", status, "invalid_request")


##= docs/spec/host.md#logs
##% Text from a caller MUST NOT be able to forge a log line.
def test_a_caller_cannot_forge_a_log_line(server: WebServer) -> None:
    server.web.post("/api/v1/tools/odd_echo", {FORGERY: FORGERY, "text": FORGERY}, {"X-Request-ID": "forger"})
    server.web.open_session().ask("tools/call", {"name": FORGERY, "arguments": {FORGERY: 1}})
    server.web.get("/%0a%7b%22event%22:%22call%22%7d")
    line = call_line(server.process, "forger")
    assert all(name.isprintable() for name in line["parameters"])
    text = server.process.log_text
    assert all(found.startswith("{") and found.endswith("}") for found in text.splitlines())
    assert not [found for found in server.process.log_lines() if found.get("tool") == "forged"]
    assert "\x1b" not in text


##= docs/spec/host.md#logs
##% Logs MUST be written to standard error as JSON, one object per line.
def test_a_call_over_stdio_is_logged_only_on_standard_error(pipe: StdioClient) -> None:
    pipe.call("odd_echo", {"text": "hello"})
    line = pipe.wait_for_log(lambda found: found.get("tool") == "odd_echo")
    assert line["door"] == "mcp-stdio"
    assert line["caller"] == "owner"
    assert line["requestId"]


def test_the_log_level_decides_what_is_written(server_factory: ServerFactory) -> None:
    with server_factory.pipe({"server": {"logLevel": "error"}}) as quiet:
        quiet.initialize()
        quiet.call("odd_echo", {"text": "hello"})
        quiet.call("odd_raise")
        quiet.close_stdin()
        quiet.end()
        assert [line["level"] for line in quiet.log_lines()] == ["error"]


def test_a_summary_is_bounded() -> None:
    summary = summarise({f"argument {number}": number for number in range(1000)} | {"x" * 500: 1})
    assert len(summary) == 21
    assert summary["…"] == "981 more"
    assert max(map(len, summarise({"x" * 500: 1}))) == 64


##= docs/spec/host.md#logs
##% A secret from the configuration MUST NOT be logged.
@pytest.mark.parametrize("secret", ["plain-secret-0123456789", 'quoted"and\\slashed-secret', "tab\tand-ünïcode-secret"])
def test_a_secret_is_hidden_even_if_json_escapes_it(secret: str) -> None:
    stream = io.StringIO()
    pipeline = LogPipeline("info", stream=stream, secrets=[secret])
    try:
        logging.getLogger("test").warning("token is %s", secret)
        try:
            raise ValueError(secret)
        except ValueError:
            logging.getLogger("test").exception("failed")
    finally:
        pipeline.close()
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first["event"] == "token is [hidden]"
    assert secret not in second["exception"]


@pytest.mark.parametrize("text", ["plain", "ünïcode", "a\u2028b\x85c", "half \ud800", "tab\t, \x1b and \x7f", ""])
def test_a_line_is_ascii_and_keeps_the_text(text: str) -> None:
    stream = io.StringIO()
    pipeline = LogPipeline("info", stream=stream)
    try:
        fields = {"text": text, "bytes": b"\xff", "number": 1.5, "thing": io, "nested": {"list": [text, None]}}
        logging.getLogger("test").info("said %s", text, extra={FIELDS: fields})
    finally:
        pipeline.close()
    [line] = stream.getvalue().splitlines()
    assert line.isascii()
    logged = json.loads(line)
    assert (logged["event"], logged["text"], logged["nested"]["list"]) == (f"said {text}", text, [text, None])
    assert (logged["bytes"], logged["number"], logged["thing"]) == (repr(b"\xff"), 1.5, repr(io))


def test_the_record_of_a_call_works_with_standard_log_handlers(caplog: pytest.LogCaptureFixture) -> None:
    record = CallRecord("odd_echo", True, "owner", "test", "r1", 0.25, {"text": "private"}, None)
    with caplog.at_level(logging.INFO):
        logging.getLogger("contextive.call").info("call")
        log_call(record)
    usual, ours = caplog.records
    assert ours.__dict__.keys() - {FIELDS} == usual.__dict__.keys()
    assert (ours.name, ours.levelno, ours.getMessage()) == (usual.name, usual.levelno, usual.getMessage())
    assert 0 <= ours.created - usual.created < 60
    formatted = logging.Formatter("%(asctime)s %(filename)s %(levelname)s %(message)s").format(ours)
    assert formatted.endswith(" telemetry.py INFO call")
    assert getattr(ours, FIELDS)["parameters"] == {"text": "str[7]"}
