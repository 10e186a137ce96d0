"""Clients for tests that do not use the MCP SDK: JSON lines over stdio of a real process, and plain HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self

from tests.processes import WAIT_SECONDS, clean_environment
from tests.processes import wait_until as wait_until

MODERN = "2026-07-28"
LATEST_HANDSHAKE = "2025-11-25"
PROGRAM = (sys.executable, "-m", "contextive")

_META = "io.modelcontextprotocol/"


def envelope(
    params: Mapping[str, Any] | None = None,
    *,
    version: str = MODERN,
    capabilities: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the parameters of a request of the stateless era."""
    own = {
        f"{_META}protocolVersion": version,
        f"{_META}clientInfo": {"name": "wires", "version": "1"},
        f"{_META}clientCapabilities": dict(capabilities or {}),
        **(meta or {}),
    }
    return {**(params or {}), "_meta": own}


def handshake(version: str = LATEST_HANDSHAKE, capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the parameters of `initialize`."""
    return {
        "protocolVersion": version,
        "capabilities": dict(capabilities or {}),
        "clientInfo": {"name": "wires", "version": "1"},
    }


def rpc(method: str, params: Mapping[str, Any] | None = None, request_id: object = 1) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = dict(params)
    return message


class StdioClient:
    """A server process over stdio. Threads read its output, so that every wait has a timeout."""

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = PROGRAM,
        stdin: int | IO[bytes] = subprocess.PIPE,
        stdout: int | IO[bytes] = subprocess.PIPE,
    ) -> None:
        self.process = subprocess.Popen(
            [*command, *arguments],
            cwd=cwd,
            env=clean_environment(env),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )
        self.notifications: list[dict[str, Any]] = []
        self._started_at = time.monotonic()
        self._slowness = 1.0
        self._next_id = 1000
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._log: list[bytes] = []
        self._logged = threading.Condition()
        self._threads = [threading.Thread(target=self._read_log, daemon=True)]
        if self.process.stdout is not None:
            self._threads.append(threading.Thread(target=self._read_lines, daemon=True))
        for thread in self._threads:
            thread.start()

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._logged:
                self._log.append(line)
                self._logged.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the process: terminate it, and kill it if it does not end."""
        self.close_stdin()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        for thread in self._threads:
            thread.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = dict(params)
        self.send(message)

    def close_stdin(self) -> None:
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    # -- reading -------------------------------------------------------------------------------------------------------

    def receive(self, timeout: float = WAIT_SECONDS) -> Any:
        """Return the next JSON value. Invalid JSON or the end of the stream fails the test."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"nothing received within {timeout} seconds; log: {self.log_text[-2000:]}") from None
        if line is None:
            raise AssertionError(f"the server closed the pipe; log: {self.log_text[-2000:]}")
        self._has_started()
        return json.loads(line, parse_constant=_no_constant)

    def rest(self, timeout: float = WAIT_SECONDS) -> list[Any]:
        """Return everything up to the end of the stream."""
        found = []
        while (line := self._lines.get(timeout=timeout)) is not None:
            found.append(json.loads(line, parse_constant=_no_constant))
        return found

    def reply_to(self, request_id: object, timeout: float = WAIT_SECONDS) -> dict[str, Any]:
        """Return the response to one request. Notifications are collected; any other response fails the test."""
        while True:
            message = self.receive(timeout)
            if isinstance(message, dict) and "method" in message:
                self.notifications.append(message)
                continue
            assert isinstance(message, dict)
            assert message["id"] == request_id, message
            assert type(message["id"]) is type(request_id), message
            return message

    def ask(
        self, method: str, params: Mapping[str, Any] | None = None, timeout: float = WAIT_SECONDS
    ) -> dict[str, Any]:
        """Send one request and return the whole response."""
        self._next_id += 1
        self.send(rpc(method, params, self._next_id))
        return self.reply_to(self._next_id, timeout)

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        answer = self.ask(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        answer = self.ask(method, params)
        return answer["error"]

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool in the handshake era."""
        return self.result("tools/call", {"name": tool, "arguments": dict(arguments or {})})

    def modern(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return self.ask(method, envelope(params, **more))

    def initialize(
        self, version: str = LATEST_HANDSHAKE, capabilities: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        result: dict[str, Any] = self.result("initialize", handshake(version, capabilities))
        self.notify("notifications/initialized")
        return result

    def notification(self, method: str, timeout: float = WAIT_SECONDS) -> dict[str, Any]:
        """Remove and return the first notification with this method; wait for it if necessary."""
        deadline = time.monotonic() + timeout
        while True:
            for index, kept in enumerate(self.notifications):
                if kept["method"] == method:
                    return self.notifications.pop(index)
            message = self.receive(max(0.01, deadline - time.monotonic()))
            assert "method" in message, message
            self.notifications.append(message)

    # -- the log and the end -------------------------------------------------------------------------------------------

    @property
    def log_text(self) -> str:
        with self._logged:
            return b"".join(self._log).decode("utf-8", "replace")

    def log_since(self, line: int) -> list[bytes]:
        """Return the log lines from this index on, for tests that follow the log."""
        with self._logged:
            return self._log[line:]

    def log_lines(self) -> list[dict[str, Any]]:
        """Return every log line that is JSON."""
        return [json.loads(line) for line in self.log_text.splitlines() if line.startswith("{")]

    def wait_for_log(self, wanted: Callable[[dict[str, Any]], bool], timeout: float = WAIT_SECONDS) -> dict[str, Any]:
        """Wait for the first log line that matches and return it."""
        deadline = time.monotonic() + timeout
        while True:
            seen = len(self._log)
            for line in self.log_lines():
                if wanted(line):
                    self._has_started()
                    return line
            with self._logged:
                if len(self._log) > seen:
                    continue
                if self.process.poll() is not None or not self._logged.wait(max(0.0, deadline - time.monotonic())):
                    text = b"".join(self._log).decode("utf-8", "replace")
                    raise AssertionError(f"no such log line within {timeout} seconds: {text[-3000:]}")

    def _has_started(self) -> None:
        if self._slowness == 1.0:
            self._slowness = max(1.0, time.monotonic() - self._started_at)

    def end(self, timeout: float = WAIT_SECONDS) -> tuple[int, float]:
        """Wait for the process to end; return its exit code and the time that this took."""
        started = time.monotonic()
        code = self.process.wait(timeout)
        for thread in self._threads:
            thread.join(timeout)
        return code, time.monotonic() - started

    def end_within(self, seconds: float) -> int:
        """Return the exit code; fail if the process takes longer. On a busy machine the limit grows by the same factor as
        the start, which takes one second on an idle one."""
        code, took = self.end()
        assert took < seconds * self._slowness, f"took {took} seconds, {self._slowness} times slower than usual"
        return code


def _no_constant(name: str) -> object:
    raise AssertionError(f"{name} is not JSON")


@dataclass(frozen=True)
class HttpResponse:
    """One complete HTTP response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body, parse_constant=_no_constant)

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def messages(self) -> list[Any]:
        """The JSON-RPC messages in the body, whether it is JSON or an event stream."""
        if (self.headers["content-type"] or "").startswith("text/event-stream"):
            return [json.loads(line[5:]) for line in self.text.splitlines() if line[:5] == "data:" and line[5:].strip()]
        return [self.json]

    @property
    def message(self) -> Any:
        """The response among the messages."""
        return next(m for m in self.messages if "id" in m and "method" not in m)


@dataclass(frozen=True)
class HttpClient:
    """Plain HTTP to one server: no redirects, no cookies, no extra headers."""

    port: int
    token: str | None = None
    address: str = "127.0.0.1"

    def as_bearer(self, token: str | None) -> HttpClient:
        return replace(self, token=token)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> HttpResponse:
        response, connection = self._start(method, path, body, headers, timeout)
        try:
            return HttpResponse(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
        return self.request("GET", path, headers=headers)

    def post(self, path: str, value: Any, headers: Mapping[str, str] | None = None) -> HttpResponse:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.request("POST", path, body, {"Content-Type": "application/json", **(headers or {})})

    def mcp(self, message: Any, headers: Mapping[str, str] | None = None, path: str = "/mcp") -> HttpResponse:
        """Send a JSON-RPC message of a handshake session."""
        return self.post(path, message, {"Accept": "application/json, text/event-stream", **(headers or {})})

    def modern(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        path: str = "/mcp",
    ) -> HttpResponse:
        """Send a request of the stateless era with the required headers."""
        return self.mcp(rpc(method, envelope(params)), {**modern_headers(method, params), **(headers or {})}, path)

    def open_session(
        self, version: str = LATEST_HANDSHAKE, path: str = "/mcp", headers: Mapping[str, str] | None = None
    ) -> Session:
        answer = self.mcp(rpc("initialize", handshake(version)), headers, path)
        assert answer.status == 200, answer.text
        session = Session(self, path, answer.headers["mcp-session-id"], answer.message["result"])
        accepted = session.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert accepted.status == 202, accepted.text
        return session

    @contextlib.contextmanager
    def stream(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[EventStream]:
        response, connection = self._start(method, path, body, headers, WAIT_SECONDS)
        try:
            assert response.status == 200, response.read()
            yield EventStream(response)
        finally:
            response.close()
            connection.close()

    def _start(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None, timeout: float
    ) -> tuple[http.client.HTTPResponse, http.client.HTTPConnection]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout, (self.address, 0))
        sent = {"Host": f"127.0.0.1:{self.port}"}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        sent |= headers or {}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if body is not None and "Transfer-Encoding" not in sent:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return connection.getresponse(), connection
        except BaseException:
            connection.close()
            raise

    def raw(self, data: bytes, timeout: float = 3.0) -> bytes:
        """Send bytes and return everything received until the server closes or is silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            connection.sendall(data)
            found = b""
            with contextlib.suppress(TimeoutError, ConnectionError):
                while chunk := connection.recv(65536):
                    found += chunk
            return found


@dataclass
class Session:
    """A handshake session over HTTP."""

    web: HttpClient
    path: str
    id: str
    result: dict[str, Any]

    @property
    def headers(self) -> dict[str, str]:
        found = {"Mcp-Session-Id": self.id}
        if self.result["protocolVersion"] >= "2025-06-18":
            found["MCP-Protocol-Version"] = self.result["protocolVersion"]
        return found

    def post(self, message: Any) -> HttpResponse:
        return self.web.mcp(message, self.headers, self.path)

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        answer = self.post(rpc(method, params))
        assert answer.status == 200, answer.text
        return answer.message

    def listen(self) -> contextlib.AbstractContextManager[EventStream]:
        return self.web.stream("GET", self.path, headers={"Accept": "text/event-stream", **self.headers})


class EventStream:
    """An open `text/event-stream` response."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def next(self) -> Any:
        """Return the next message; fail if the stream ends or is silent for too long."""
        while True:
            line = self._response.readline()
            assert line, "the stream ended"
            if line.startswith(b"data:") and line[5:].strip():
                return json.loads(line[5:])

    def rest(self) -> list[Any]:
        """Return all messages until the server ends the stream."""
        lines = self._response.read().splitlines()
        return [json.loads(line[5:]) for line in lines if line.startswith(b"data:") and line[5:].strip()]


@dataclass(frozen=True)
class WebServer:
    """A server process with HTTP, and a plain client for it."""

    process: StdioClient
    web: HttpClient


@contextlib.contextmanager
def serving_http(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = WAIT_SECONDS,
    command: Sequence[str] = PROGRAM,
) -> Iterator[WebServer]:
    """Run a server on a free port until the block ends; the port is read from its log."""
    serve = ("serve", "--http", "--port", "0", *arguments)
    process = StdioClient(
        *serve, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, command=command
    )
    try:
        line = process.wait_for_log(lambda found: found["event"] == "serving", timeout)
        port = int(line["url"].rsplit(":", 1)[1].split("/")[0])
        yield WebServer(process, HttpClient(port))
    finally:
        process.process.terminate()
        process.stop()


def modern_headers(method: str, params: Mapping[str, Any] | None = None, version: str = MODERN) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    key = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(method)
    if key and params and key in params:
        headers["Mcp-Name"] = str(params[key])
    return headers
