"""Remote mode: a server on a laptop uses the index of a team's gateway. The gateway is a real process."""

from __future__ import annotations

import json
import socket
import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import ContextiveError, Forbidden, TimedOut, Unauthorized, UpstreamError
from contextive.packs import REMOTE_PACKS, load_builtin
from contextive.registry import Reply, Tool
from contextive.registry.gateway_client import GatewayClient, GatewaySettings
from contextive.registry.remote_pack import remote_pack
from tests.processes import serving_in_thread
from tests.raw_clients import StdioClient, WebServer, envelope
from tests.server.conftest import ADMIN, READER
from tests.server.gateways import TOKENS, ExampleProject, indexed_gateway

TOOLS = {tool.name: tool for tool in load_builtin("knowledge").tools}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with indexed_gateway(tmp_path_factory.mktemp("team")) as (_, server):
        yield server


def url_of(server: WebServer) -> str:
    return f"http://127.0.0.1:{server.web.port}"


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """A project with one note, different from the gateway's project."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.md").write_text("# Mine\n\nOnly here.\n", encoding="utf-8")
    return tmp_path


CallTool = Callable[..., dict[str, Any]]


@contextmanager
def serving(laptop: Path, url: str, **environment: str) -> Iterator[CallTool]:
    """A stdio server in remote mode, and a way to call its tools."""
    with StdioClient("serve", cwd=laptop, env={"KM_GATEWAY_URL": url, **environment}) as pipe:

        def call(tool: str, **arguments: Any) -> dict[str, Any]:
            answer = pipe.ask("tools/call", envelope({"name": tool, "arguments": arguments}), 40.0)
            result: dict[str, Any] = answer["result"]
            return result

        yield call


def data(result: dict[str, Any]) -> dict[str, Any]:
    assert not result.get("isError"), result
    found: dict[str, Any] = result["structuredContent"]
    return found


def error(result: dict[str, Any]) -> dict[str, Any]:
    assert result["isError"]
    found: dict[str, Any] = json.loads(result["content"][0]["text"])["error"]
    return found


##= docs/spec/gateway.md#remote-mode
##% With `KM_GATEWAY_URL` set, calls to the tools of the pack `knowledge` MUST be sent to that gateway, and all other
##% calls are handled locally.
def test_knowledge_tools_use_the_gateway_and_other_tools_run_locally(laptop: Path, gateway: WebServer) -> None:
    with serving(laptop, url_of(gateway), **TOKENS) as call:
        found = data(call("km-search", query="calibrate_sensor"))
        assert found["results"][0]["chunk"]["artifact_path"] == "src/tidewatch/gauge/reader.py"
        node = data(call("km-graph-node", node_id="Subsystem:Gauge"))
        assert node["node"]["properties"]["owner"] == "harbour"
        assert data(call("km-ingest-status"))["run"]["profile"]
        assert "mine" in json.dumps(data(call("list_pages")))
        assert "km-search" in data(call("km-help"))["tools"]
        vote = data(
            call(
                "km-feedback-submit",
                request_id=found["metadata"]["request_id"],
                chunk_id=found["results"][0]["chunk"]["chunk_id"],
                vote=1,
            )
        )
        assert vote["status"] == "success"
    assert not (laptop / ".contextive" / "index.db").exists()
    assert not list(laptop.glob(".contextive/**/*.db"))


##= docs/spec/gateway.md#remote-mode
##% An error that the caller can fix MUST be returned with the gateway's message.
def test_caller_errors_of_the_gateway_keep_their_codes(laptop: Path, gateway: WebServer) -> None:
    with serving(laptop, url_of(gateway), **TOKENS) as call:
        assert error(call("km-graph-node", node_id="SourceFile:nowhere.py"))["code"] == "not_found"
        assert error(call("km-graph-node", node_id="nothing"))["code"] == "invalid_identifier"
        assert error(call("km-ingest-trigger", paths=["a"]))["code"] == "unsupported_operation"


##= docs/spec/gateway.md#remote-mode
##% A call MUST send the token for its scope as a bearer token.
def test_each_tool_is_called_with_the_token_of_its_scope(laptop: Path, gateway: WebServer) -> None:
    wrong = "not-the-token-of-this-gateway"
    with serving(laptop, url_of(gateway), KM_READER_TOKEN=READER, KM_ADMIN_TOKEN=wrong) as call:
        assert data(call("km-search", query="siren"))["results"]
        refusal = error(call("km-ingest-status"))
        assert (refusal["code"], refusal["hint"]) == ("unauthorized", "Check KM_ADMIN_TOKEN.")
    with serving(laptop, url_of(gateway), KM_READER_TOKEN=wrong, KM_ADMIN_TOKEN=ADMIN) as call:
        assert data(call("km-ingest-status"))["status"] == "ok"
        assert error(call("km-search", query="siren"))["hint"] == "Check KM_READER_TOKEN."


def test_an_unreachable_gateway_is_an_upstream_error_without_secrets(laptop: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with serving(laptop, f"http://user:hunter2@127.0.0.1:{port}/secret-path", **TOKENS) as call:
        result = call("km-search", query="siren")
        assert error(result)["code"] == "upstream_error"
        assert not [word for word in (READER, ADMIN, "hunter2", "secret-path") if word in json.dumps(result)]


def test_commands_that_need_a_local_index_report_that_there_is_none(tmp_path: Path) -> None:
    station = ExampleProject(tmp_path, tmp_path / "user")
    stderr = station.run("ingest", code=1, env={"KM_GATEWAY_URL": "http://127.0.0.1:9"})
    assert "There is no local index" in stderr


# -- single calls to misbehaving gateways ------------------------------------------------------------------------------


class Misbehaving:
    """A loopback server that returns the given responses and records the requests."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, str]] = []

    @contextmanager
    def serve(self) -> Iterator[str]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.requests.append({key.lower(): value for key, value in self.headers.items()})
                self.rfile.read(int(self.headers["content-length"]))
                status, body = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads = True
            with serving_in_thread(server) as url:
                yield url


def outcome(fake: Misbehaving, tool: Tool = TOOLS["km-search"], **settings: Any) -> Reply | ContextiveError:
    with fake.serve() as url:
        gateway = GatewayClient(GatewaySettings(url, READER, ADMIN, **settings), sleep=lambda _: None)
        try:
            return gateway.call(tool, {"query": "a"}, "request-1")
        except ContextiveError as failure:
            return failure
        finally:
            gateway.close()


GOOD = (200, b'{"status": "success", "result": {"status": "success"}}')


##= docs/spec/gateway.md#remote-mode
##% A read-only call SHOULD be retried if a retry may help.
def test_a_read_only_call_is_retried() -> None:
    fake = Misbehaving((503, b"{}"), (0, b""), GOOD)
    assert isinstance(outcome(fake), Reply)
    assert len(fake.requests) == 3
    assert {request["x-request-id"] for request in fake.requests} == {"request-1"}
    assert {request["authorization"] for request in fake.requests} == {f"Bearer {READER}"}


##= docs/spec/gateway.md#remote-mode
##% A call that changes something MUST NOT be sent twice.
@pytest.mark.parametrize("tool", ["km-ingest-trigger", "km-feedback-submit"])
@pytest.mark.parametrize("answer", [(503, b"{}"), (0, b"")])
def test_a_call_that_writes_is_not_retried(tool: str, answer: tuple[int, bytes]) -> None:
    fake = Misbehaving(answer)
    assert isinstance(outcome(fake, TOOLS[tool]), UpstreamError)
    assert len(fake.requests) == 1
    assert fake.requests[0]["authorization"] == f"Bearer {ADMIN}"


##= docs/spec/gateway.md#remote-mode
##% Every other failure MUST be reported without the token, and without the address and the message of the gateway.
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((500, b"oops"), UpstreamError),
        ((404, b"<html>"), UpstreamError),
        ((302, b""), UpstreamError),
        ((200, b"<html>"), UpstreamError),
        ((200, b"[]"), UpstreamError),
        ((200, b"x" * 5000), UpstreamError),
        ((401, b"{}"), Unauthorized),
        ((403, b"{}"), Forbidden),
        ((400, b'{"error": {"code": "internal_error", "message": "the words of a stranger"}}'), UpstreamError),
    ],
)
def test_an_unusable_response_is_reported_without_its_text(
    answer: tuple[int, bytes], kind: type[ContextiveError]
) -> None:
    failure = outcome(Misbehaving(answer), max_bytes=4000)
    assert isinstance(failure, kind)
    assert not [word for word in (READER, "oops", "html", "stranger", "127.0.0.1") if word in failure.full_message()]


##= docs/spec/gateway.md#remote-mode
##% A call MUST end within its time limit, including all retries.
def test_a_hanging_gateway_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = GatewaySettings(f"http://127.0.0.1:{silent.getsockname()[1]}", READER, timeout_seconds=0.3)
        gateway = GatewayClient(settings)
        with pytest.raises(TimedOut):
            gateway.call(TOOLS["km-search"], {"query": "a"}, "r")
        gateway.close()


##= docs/spec/gateway.md#remote-mode
##% Without a maintainer token, a maintainer tool MUST fail before anything is sent.
def test_without_a_maintainer_token_no_request_is_made() -> None:
    fake = Misbehaving(GOOD)
    with fake.serve() as url:
        gateway = GatewayClient(GatewaySettings(url, READER))
        with pytest.raises(Forbidden, match="maintainer token"):
            gateway.call(TOOLS["km-ingest-trigger"], {}, "r")
    assert fake.requests == []


##= docs/spec/gateway.md#remote-mode
##% The names, arguments and scopes of the tools MUST be the same as without a gateway.
def test_every_tool_of_the_pack_is_forwarded_with_its_declaration() -> None:
    pack = load_builtin("knowledge")
    forwarding = remote_pack(pack, GatewayClient(GatewaySettings("http://127.0.0.1:9")), REMOTE_PACKS["knowledge"])
    assert [tool.name for tool in forwarding.tools] == [tool.name for tool in pack.tools]
    for mine, theirs in zip(forwarding.tools, pack.tools, strict=True):
        assert (mine.input_schema, mine.scope) == (theirs.input_schema, theirs.scope)
        assert (mine.handler is theirs.handler) is (mine.name == "km-help")


##= docs/spec/gateway.md#remote-mode
##% The server MUST warn if tokens would be sent to another machine without TLS.
@pytest.mark.parametrize(
    ("url", "is_detected"),
    [("http://team.example", True), ("https://team.example", False), ("http://127.0.0.1:1", False)],
)
def test_tokens_sent_without_tls_are_detected(url: str, is_detected: bool) -> None:
    assert GatewaySettings(url, READER).sends_tokens_unencrypted is is_detected
    assert not GatewaySettings(url).sends_tokens_unencrypted


##= docs/spec/gateway.md#remote-mode
##% In remote mode, `km-upload` MUST upload a text file of the local project, and otherwise a file of the gateway.
def test_a_local_file_is_uploaded_to_the_gateway(laptop: Path, gateway: WebServer) -> None:
    (laptop / "notes" / "crane.md").write_text("# Crane\n\nThe crane is squeaking.\n", encoding="utf-8")
    (laptop / "notes" / "plan.pdf").write_bytes(b"%PDF-1.7\n\0\n")
    with serving(laptop, url_of(gateway), **TOKENS) as call:
        stored = data(call("km-upload", source_path="notes/crane.md", destination="docs/inbox", ingest=True))
        assert (stored["relative_path"], stored["ingest_triggered"]) == ("docs/inbox/crane.md", True)
        assert not (laptop / "docs").exists()
        found = data(call("km-search", query="squeaking crane"))["results"]
        assert found[0]["chunk"]["artifact_path"] == "docs/inbox/crane.md"
        copied = data(call("km-upload", source_path="docs/inbox/crane.md", destination="docs/copy.md"))
        assert copied["relative_path"] == "docs/copy.md", "a file of the gateway"
        assert "Only text files" in error(call("km-upload", source_path="notes/plan.pdf"))["message"]
        assert error(call("km-upload", source_path="notes/nowhere.md"))["code"] == "invalid_request"
