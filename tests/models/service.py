"""A real HTTP server on loopback with the APIs of model providers, including their errors."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "key-that-must-not-be-shown-anywhere"


@dataclass(frozen=True)
class Reply:
    """One response of the service: a status and a body after a pause, or a closed connection."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    after_seconds: float = 0.0
    hang_up: bool = False


@dataclass(frozen=True)
class Seen:
    """One received request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Service:
    """The scripted responses, in order, and the received requests. Without a script it answers like a model."""

    port: int
    script: list[Reply] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    text: str = "Because of the tides [1]."
    models: list[dict[str, Any]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def prompts(self) -> list[str]:
        return [request.body["messages"][-1]["content"] for request in self.seen if request.body]

    def answer(self, request: Seen) -> Reply:
        if self.script:
            return self.script.pop(0)
        match request.path.partition("?")[0]:
            case "/v1/chat/completions":
                return completion(self.text)
            case "/v1/messages":
                return message(self.text)
            case "/v1/models":
                return Reply({"data": self.models})
            case _:
                return Reply({"error": {"message": "no such path"}}, 404)


def completion(text: Any, *, finish: str = "stop", tokens: tuple[int, int] = (11, 7)) -> Reply:
    """A chat completion."""
    return Reply(
        {
            "id": "c1",
            "object": "chat.completion",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish},
            ],
            "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]},
        }
    )


def message(text: str, *, stop: str = "end_turn") -> Reply:
    """A response of the Anthropic Messages API."""
    return Reply(
        {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "stop_reason": stop,
            "usage": {"input_tokens": 13, "output_tokens": 5},
        }
    )


def refusal(status: int, text: str = "no", *, param: str | None = None, **headers: str) -> Reply:
    """An error in the format of both APIs."""
    error = {"message": text, "type": "invalid_request_error", "param": param}
    return Reply({"error": error}, status, {name.replace("_", "-"): value for name, value in headers.items()})


@contextlib.contextmanager
def model_service() -> Iterator[Service]:
    service: Service

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve(None)

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            self._serve(json.loads(self.rfile.read(length)))

        def _serve(self, body: Any) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Seen(self.command, self.path, headers, body)
            service.seen.append(request)
            reply = service.answer(request)
            ends = time.monotonic() + reply.after_seconds
            while time.monotonic() < ends and not service.closing.wait(0.02):
                pass
            if reply.hang_up:
                self.close_connection = True
                return
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            with contextlib.suppress(OSError):
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service = Service(server.server_address[1])
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
