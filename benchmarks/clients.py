"""Clients with almost no overhead: they send prepared bytes and read the answers without an SDK."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HANDSHAKE_VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"
_CLIENT = {"name": "bench", "version": "1"}
_START_SECONDS = 30.0
_CONNECTIONS = 8
_FIRST_NUMBER = 10_000_000
_ROUND_SECONDS = 1.0
"""A round ends after this time, even with fewer calls than planned: a slow server must not delay the whole run."""


def request(number: int, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def initialize() -> dict[str, Any]:
    return request(0, "initialize", {"protocolVersion": HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": _CLIENT})


def discover() -> dict[str, Any]:
    return request(0, "server/discover", {"_meta": _envelope()})


def call(number: int, tool: str, *, modern: bool = False) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": {}}
    return request(number, "tools/call", {**params, "_meta": _envelope()} if modern else params)


def _envelope() -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
        "io.modelcontextprotocol/clientInfo": _CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def environment() -> dict[str, str]:
    """The environment of this process without our settings."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("KM_", "CONTEXTIVE_"))}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Process:
    """A server process with its own empty directory; it is stopped at the end of the `with` block."""

    def __init__(self, command: Sequence[str], *, stdin: int, stdout: int, extra: dict[str, str] | None = None) -> None:
        self._home = tempfile.TemporaryDirectory()
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [part.replace("{project}", self._home.name) for part in command],
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            env={**environment(), **(extra or {})},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self._home.cleanup()


class StdioServer(_Process):
    """A server on stdio, and its client."""

    def __init__(self, command: Sequence[str], tool: str, extra: dict[str, str] | None = None) -> None:
        super().__init__(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, extra=extra)
        self._tool = tool

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self._write(message)
        answer: dict[str, Any] = json.loads(self._read())
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"the server refused: {answer}")
        return answer

    def initialize_session(self) -> None:
        self.initialize_only()
        self.ask(call(0, self._tool))

    def initialize_only(self) -> None:
        self.ask(initialize())
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def peak_memory_mb(self) -> float:
        """The peak memory of the process; 0 if the system does not report it."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return 0.0
        [line] = [line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) / 1024

    def latencies_ms(self, calls: int) -> list[float]:
        """The latency of each call, one call after the other."""
        lines = [_line(call(number, self._tool)) for number in range(calls)]
        return _latencies_ms(lines, self._write_bytes, self._read)

    def calls_per_second(self, calls: int, depth: int) -> float:
        """The rate of calls with `depth` of them in flight."""
        lines = [_line(call(number, self._tool)) for number in range(calls)]
        return _calls_per_second(calls, depth, lambda number: self._write_bytes(lines[number]), lambda _: self._read())

    def _write(self, message: dict[str, Any]) -> None:
        self._write_bytes(_line(message))

    def _write_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def _read(self) -> bytes:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended with {self.process.wait(10)}")
        return line


class HttpServer(_Process):
    """A server on a loopback port, without a rate limit."""

    def __init__(self, command: Sequence[str], port: int, extra: dict[str, str] | None = None) -> None:
        settings = {"CONTEXTIVE_LIMITS__RATE_REQUESTS": "0", **(extra or {})}
        super().__init__(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, extra=settings)
        self.port = port
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError("the server did not listen in time")


class HttpClient:
    """Calls one tool in one protocol era. Each measurement opens new connections: a server closes idle ones."""

    def __init__(self, port: int, tool: str, *, modern: bool) -> None:
        self._port = port
        headers = {"MCP-Protocol-Version": MODERN_VERSION if modern else HANDSHAKE_VERSION}
        if modern:
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}
        else:
            headers["Mcp-Session-Id"] = self._open_session()
        self._numbers = itertools.count(_FIRST_NUMBER)  # of equal width, so that every request has the same length
        template = _post(port, json.dumps(call(_FIRST_NUMBER, tool, modern=modern)).encode(), headers)
        self._parts = template.split(str(_FIRST_NUMBER).encode())
        with self._connections(1) as [connection]:
            answer = connection.ask(self._next_request())
        if b'"isError":false' not in answer:
            raise RuntimeError(f"the server refused: {answer.decode()}")

    def _open_session(self) -> str:
        with self._connections(1) as [connection]:
            opened = connection.ask(_post(self._port, json.dumps(initialize()).encode(), {}))
            session = next(
                line.split(b":", 1)[1].strip().decode()
                for line in opened.split(b"\r\n")
                if line.lower().startswith(b"mcp-session-id:")
            )
            initialized = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
            headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": HANDSHAKE_VERSION}
            connection.ask(_post(self._port, initialized, headers))
        return session

    def _next_request(self) -> bytes:
        return str(next(self._numbers)).encode().join(self._parts)

    @contextlib.contextmanager
    def _connections(self, count: int) -> Iterator[list[_Connection]]:
        connections = [_Connection(self._port) for _ in range(count)]
        try:
            yield connections
        finally:
            for connection in connections:
                connection.close()

    def latencies_ms(self, calls: int) -> list[float]:
        """The latency of each call, one call after the other on one connection."""
        with self._connections(1) as [connection]:
            return _latencies_ms([self._next_request() for _ in range(calls)], connection.send, connection.receive)

    def calls_per_second(self, calls: int) -> float:
        """The rate of calls with one in flight on each of eight connections."""
        with self._connections(_CONNECTIONS) as connections:
            return _calls_per_second(
                calls,
                _CONNECTIONS,
                lambda number: connections[number % _CONNECTIONS].send(self._next_request()),
                lambda number: connections[number % _CONNECTIONS].receive(),
            )


def _latencies_ms(
    messages: Sequence[bytes], send: Callable[[bytes], object], receive: Callable[[], object]
) -> list[float]:
    until = time.perf_counter() + _ROUND_SECONDS
    taken = []
    for message in messages:
        before = time.perf_counter()
        send(message)
        receive()
        after = time.perf_counter()
        taken.append((after - before) * 1000)
        if after > until:
            break
    return taken


def _calls_per_second(calls: int, depth: int, send: Callable[[int], object], receive: Callable[[int], object]) -> float:
    """The rate of numbered calls, with at most `depth` of them in flight."""
    before = time.perf_counter()
    for number in range(depth):
        send(number)
    sent, received = depth, 0
    while received < sent:
        receive(received)
        received += 1
        if sent < calls and time.perf_counter() - before < _ROUND_SECONDS:
            send(sent)
            sent += 1
    return received / (time.perf_counter() - before)


class _Connection:
    """HTTP/1.1 on one socket: just enough to find the end of an answer."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self._socket.close()

    def ask(self, data: bytes) -> bytes:
        self.send(data)
        return self.receive()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """The head and the body of the next answer. Raises on an error status."""
        data = bytearray()
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._more()
        head = bytes(data[:end]).lower()
        if b"transfer-encoding: chunked" in head:
            while not data.endswith(b"\r\n0\r\n\r\n"):
                data += self._more()
            return bytes(data)
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        while len(data) < end + 4 + length:
            data += self._more()
        if not data.startswith((b"HTTP/1.1 200", b"HTTP/1.1 202")):
            raise RuntimeError(f"the server refused: {data.decode()}")
        return bytes(data)

    def _more(self) -> bytes:
        data = self._socket.recv(65_536)
        if not data:
            raise RuntimeError("the server closed the connection")
        return data


def _post(port: int, body: bytes, headers: dict[str, str]) -> bytes:
    fields = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(body)),
        **headers,
    }
    return "".join(["POST /mcp HTTP/1.1\r\n", *(f"{k}: {v}\r\n" for k, v in fields.items()), "\r\n"]).encode() + body


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
