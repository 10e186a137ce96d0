"""Remote mode: verification of certificates, and progress of long calls."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import ConfigError, UpstreamError
from contextive.packs import load_builtin
from contextive.registry import OWNER_AS_MAINTAINER, Context, NoClient, NoInput, Reply, Services
from contextive.registry.event_stream import AnswerEvent, EventStreamReader, ProgressEvent
from contextive.registry.gateway_client import GatewayClient, GatewaySettings
from contextive.registry.remote_pack import remote_pack
from contextive.store import open_store
from tests.raw_clients import StdioClient, WebServer, wait_until
from tests.server.conftest import ADMIN, READER
from tests.server.gateways import TOKENS, ExampleProject, indexed_gateway
from tests.workspace.web import Authority

TOOLS = {tool.name: tool for tool in load_builtin("knowledge").tools}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ExampleProject, WebServer]]:
    with indexed_gateway(tmp_path_factory.mktemp("team"), {"CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"}) as running:
        yield running


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def ca_file(authority: Authority) -> Path:
    file = authority.folder / "team-ca.pem"
    file.write_bytes(authority.certificate.public_bytes(serialization.Encoding.PEM))
    return file


# -- certificates ------------------------------------------------------------------------------------------------------


@contextmanager
def relay_to(context: ssl.SSLContext | None, port: int, passed: threading.Event | None = None) -> Iterator[int]:
    """A port that forwards TLS or plain connections as plain text to `port`. `passed` is set with the first data."""

    def relay(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
                if passed is not None:
                    passed.set()
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def serve(connection: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            context.wrap_socket(connection, server_side=True) if context else connection as near,
            socket.create_connection(("127.0.0.1", port), 10) as plain,
        ):
            back = threading.Thread(target=relay, args=(plain, near), daemon=True)
            back.start()
            relay(near, plain)
            back.join(10)

    def accept(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def search(settings: GatewaySettings) -> Reply | UpstreamError:
    gateway = GatewayClient(settings, sleep=lambda _: None)
    try:
        return gateway.call(TOOLS["km-search"], {"query": "siren"}, "request-1")
    except UpstreamError as failure:
        return failure
    finally:
        gateway.close()


def test_a_gateway_is_trusted_only_with_the_configured_ca(
    team: tuple[ExampleProject, WebServer], authority: Authority, ca_file: Path, tmp_path: Path
) -> None:
    with relay_to(authority.server("localhost"), team[1].web.port) as port:
        environment = {"KM_GATEWAY_URL": f"https://localhost:{port}", **TOKENS}
        for trust, is_trusted in (({}, False), ({"KM_MCP_CA_FILE": str(ca_file)}, True)):
            with StdioClient("serve", cwd=tmp_path, env={**environment, **trust}) as laptop:
                laptop.initialize()
                result = laptop.call("km-search", {"query": "siren"})
                if is_trusted:
                    assert result["structuredContent"]["results"]
                else:
                    error = json.loads(result["content"][0]["text"])["error"]
                    assert error["code"] == "upstream_error"
                    assert "certificate is not trusted" in error["message"]
                    assert "KM_MCP_CA_FILE" in error["hint"]
                assert not [word for word in (READER, ADMIN, str(port)) if word in json.dumps(result)]


@pytest.mark.parametrize(
    ("names", "expired", "is_configured", "is_accepted"),
    [
        (("localhost",), False, True, True),
        (("localhost",), False, False, False),
        (("localhost",), True, True, False),
        (("elsewhere.example",), False, True, False),
    ],
    ids=["configured authority", "unknown authority", "expired", "another host name"],
)
def test_issuer_expiry_and_name_of_a_certificate_are_checked(
    team: tuple[ExampleProject, WebServer],
    authority: Authority,
    ca_file: Path,
    names: tuple[str, ...],
    expired: bool,
    is_configured: bool,
    is_accepted: bool,
) -> None:
    with relay_to(authority.server(*names, expired=expired), team[1].web.port) as port:
        url = f"https://localhost:{port}"
        outcome = search(GatewaySettings(url, READER, ca_file=str(ca_file) if is_configured else None))
        assert isinstance(outcome, Reply) is is_accepted
        if isinstance(outcome, UpstreamError):
            assert outcome.message == "The gateway's certificate is not trusted."
        assert isinstance(search(GatewaySettings(url, READER, verify_ssl=False)), Reply), (
            "accepted only with verification turned off"
        )


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_ca_file_without_certificates_is_a_configuration_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match="gatewayCaFile") as caught:
        GatewayClient(GatewaySettings("https://team.example", ca_file=str(tmp_path / "ca.pem")))
    assert str(tmp_path) not in caught.value.full_message()


# -- long calls --------------------------------------------------------------------------------------------------------


@contextmanager
def runs_blocked(station: ExampleProject) -> Iterator[threading.Event]:
    """Block every run at the gateway until the event is set or the block ends."""
    store = open_store(station.root / ".contextive")
    lease = store.acquire_lease("ingest", "somebody")
    assert lease is not None
    free = threading.Event()

    def release() -> None:
        free.wait(30)
        lease.release()

    waiter = threading.Thread(target=release)
    waiter.start()
    try:
        yield free
    finally:
        free.set()
        waiter.join(10)
        store.close()


def test_the_progress_of_a_gateway_run_reaches_the_local_client(
    team: tuple[ExampleProject, WebServer], tmp_path: Path
) -> None:
    station, server = team
    (station.root / "docs" / "another.md").write_text("# Another\n\nText.\n", encoding="utf-8")
    environment = {"KM_GATEWAY_URL": f"http://127.0.0.1:{server.web.port}", **TOKENS}
    with runs_blocked(station) as free, StdioClient("serve", cwd=tmp_path, env=environment) as laptop:
        laptop.initialize()
        asked = {"name": "km-ingest-trigger", "arguments": {}, "_meta": {"progressToken": "run"}}
        threading.Timer(1.0, free.set).start()
        answer = laptop.ask("tools/call", asked, 40.0)["result"]["structuredContent"]
    assert answer["status"] == "success"
    assert answer["run"]["artifacts"] == [{"path": "docs/another.md", "skipped": False}]
    progress_notes = [note["params"] for note in laptop.notifications if note["method"] == "notifications/progress"]
    assert {note["progressToken"] for note in progress_notes} == {"run"}
    assert any("of 1" in note.get("message", "") for note in progress_notes), progress_notes
    numbers = [note["progress"] for note in progress_notes]
    assert numbers == sorted(set(numbers))


def test_a_cancelled_call_is_also_cancelled_at_the_gateway(
    team: tuple[ExampleProject, WebServer], tmp_path: Path
) -> None:
    station, server = team
    passed = threading.Event()
    with (
        runs_blocked(station),
        relay_to(None, server.web.port, passed) as port,
        StdioClient("serve", cwd=tmp_path, env={"KM_GATEWAY_URL": f"http://127.0.0.1:{port}", **TOKENS}) as laptop,
    ):
        laptop.initialize()
        before = len(calls(server, "km-ingest-trigger"))
        laptop.send({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "km-ingest-trigger"}})
        assert passed.wait(20)
        laptop.notify("notifications/cancelled", {"requestId": 77})
        wait_until(lambda: len(calls(server, "km-ingest-trigger")) > before, "the end at the gateway", 15.0)
    assert calls(server, "km-ingest-trigger")[-1]["status"] == "cancelled"


def calls(server: WebServer, tool: str) -> list[dict[str, Any]]:
    return [line for line in server.process.log_lines() if line.get("tool") == tool and "durationMs" in line]


def test_over_rest_progress_is_sent_on_request(team: tuple[ExampleProject, WebServer]) -> None:
    station, server = team
    web = server.web.as_bearer(ADMIN)
    accept = {"Accept": "application/json, text/event-stream"}
    quick = web.post("/api/v1/tools/km-help", {}, accept)
    assert quick.headers["content-type"] == "application/json"
    assert web.as_bearer(READER).post("/api/v1/tools/km-ingest-trigger", {}, accept).status == 403
    with runs_blocked(station) as free:
        threading.Timer(0.8, free.set).start()
        answer = web.post("/api/v1/tools/km-ingest-trigger", {}, accept)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = list(EventStreamReader().feed(answer.body))
    assert [type(event) for event in events[:-1]] == [ProgressEvent] * (len(events) - 1)
    assert len(events) > 1
    assert isinstance(events[-1], AnswerEvent)
    assert events[-1].status == 200
    assert json.loads(events[-1].body)["result"]["status"] == "success"


class Recorder(NoClient):
    """A client that records its progress notifications."""

    def __init__(self) -> None:
        self.received: list[tuple[float, float | None, str | None]] = []

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        self.received.append((done, total, message))


def test_while_a_silent_gateway_works_the_client_gets_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextive.registry.remote_pack._HEARTBEAT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:

        def answer_late() -> None:
            connection, _ = silent.accept()
            with connection:
                connection.recv(65536)
                time.sleep(1.2)
                body = b'{"status": "success", "result": {"status": "ok"}}'
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        thread = threading.Thread(target=answer_late)
        thread.start()
        gateway = GatewayClient(GatewaySettings(f"http://127.0.0.1:{silent.getsockname()[1]}", READER))
        tool = next(
            t for t in remote_pack(load_builtin("knowledge"), gateway, ()).tools if t.name == "km-coverage-summary"
        )
        client = Recorder()
        context = Context(OWNER_AS_MAINTAINER, Services(), "request-1", "test", client=client)

        async def ask() -> Reply:
            reply: Reply = await tool.handler(NoInput(), context)
            return reply

        reply = asyncio.run(ask())
        thread.join(10)
        gateway.close()
    assert reply.data == {"status": "ok"}
    assert len(client.received) >= 2
    assert {message for _, _, message in client.received} == {"The gateway is working."}
    assert [number for number, _, _ in client.received] == sorted({number for number, _, _ in client.received})


def test_an_interrupted_stream_is_an_upstream_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as breaking:

        def break_off() -> None:
            connection, _ = breaking.accept()
            with connection:
                connection.recv(65536)
                event = b'event: progress\ndata: {"progress": 1}\n\n'
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + event)

        thread = threading.Thread(target=break_off)
        thread.start()
        gateway = GatewayClient(GatewaySettings(f"http://127.0.0.1:{breaking.getsockname()[1]}", READER, ADMIN))
        received: list[ProgressEvent] = []
        with pytest.raises(UpstreamError, match="connection to the gateway was lost"):
            gateway.call(TOOLS["km-ingest-trigger"], {}, "r", received.append)
        thread.join(10)
        gateway.close()
    assert received == [ProgressEvent(1.0)]


STREAM = (
    b': at work\n\nevent: progress\ndata: {"progress": 1, "total": 4, "message": "parse"}\n\n'
    b'event: unknown\ndata: {}\n\nevent: progress\ndata: {"progress": "far"}\n\nnonsense\n\n'
    b'event: answer\ndata: {"http": 200, "body": {"status": "success"}}\n\n'
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_a_stream_is_parsed_the_same_however_it_is_split(cuts: list[int]) -> None:
    reader = EventStreamReader()
    events: list[ProgressEvent | AnswerEvent] = []
    edges = [0, *sorted(cuts), len(STREAM)]
    for start, end in itertools.pairwise(edges):
        events += reader.feed(STREAM[start:end])
    assert events == [ProgressEvent(1.0, 4.0, "parse"), AnswerEvent(200, b'{"status": "success"}')]


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_event_stream_reader(data: bytes) -> None:
    for event in EventStreamReader().feed(data + b"\n\n"):
        assert isinstance(event, ProgressEvent | AnswerEvent)
