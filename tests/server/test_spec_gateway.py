"""Requirements of the gateway that no other test covers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from contextive.config import ConfigRequest, load_config
from contextive.errors import UpstreamError
from contextive.packs import load_builtin
from contextive.registry import Reply
from contextive.registry.gateway_client import GatewayClient, GatewaySettings
from contextive.server.assembly import assemble
from tests.processes import serving_in_thread
from tests.raw_clients import serving_http
from tests.server.conftest import READER

TOOLS = {tool.name: tool for tool in load_builtin("knowledge").tools}


@contextmanager
def recording_gateway(requests: list[str], redirects_to: str | None = None) -> Iterator[str]:
    """A gateway on loopback that answers or redirects every call, and records the requested paths."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            body = b'{"status": "success", "result": {"status": "success"}}'
            self.send_response(307 if redirects_to else 200)
            if redirects_to:
                self.send_header("Location", redirects_to + self.path)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, serving_in_thread(server) as url:
        yield url


##= docs/spec/gateway.md#remote-mode
##% Proxy environment variables MUST NOT change where a call is sent.
def test_proxy_environment_variables_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    real: list[str] = []
    proxied: list[str] = []
    with recording_gateway(real) as url, recording_gateway(proxied) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        gateway = GatewayClient(GatewaySettings(url, READER))
        assert isinstance(gateway.call(TOOLS["km-search"], {"query": "a"}, "request-1"), Reply)
        gateway.close()
    assert (real, proxied) == (["/api/v1/tools/km-search"], [])


##= docs/spec/gateway.md#remote-mode
##% The server MUST warn if tokens would be sent to another machine without TLS.
@pytest.mark.parametrize(("url", "warned"), [("http://team.example", True), ("https://team.example", False)])
def test_sending_tokens_without_tls_logs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, url: str, warned: bool
) -> None:
    environ = {"KM_GATEWAY_URL": url, "KM_READER_TOKEN": READER}
    with caplog.at_level(logging.WARNING):
        assembly = assemble(load_config(ConfigRequest(project=tmp_path, environ=environ)).config)
    assert assembly.gateway is not None
    assert ("without TLS" in caplog.text) is warned
    assert READER not in caplog.text


##= docs/spec/gateway.md#routes
##% The path `/readyz` MUST answer with 503 while the index cannot be opened.
def test_a_server_whose_index_cannot_be_opened_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / ".contextive").write_text("no directory", encoding="utf-8")
    with serving_http(cwd=tmp_path) as running:
        answer = running.web.get("/readyz")
        assert answer.status == 503
        assert answer.json["dependencies"]["index"]["ok"] is False
        assert str(tmp_path) not in answer.text


##= docs/spec/gateway.md#remote-mode
##% A redirect from the gateway MUST NOT be followed.
def test_a_redirect_from_the_gateway_is_not_followed() -> None:
    asked: list[str] = []
    elsewhere: list[str] = []
    with recording_gateway(elsewhere) as other, recording_gateway(asked, redirects_to=other) as url:
        gateway = GatewayClient(GatewaySettings(url, READER))
        with pytest.raises(UpstreamError):
            gateway.call(TOOLS["km-search"], {"query": "a"}, "request-1")
        gateway.close()
    assert (len(asked), elsewhere) == (1, [])
