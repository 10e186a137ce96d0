from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from contextive.errors import UpstreamError
from contextive.search.embedding.openai import BATCH_TEXTS, OpenAiEmbedder

KEY = "sk-very-secret"
Answer = Callable[[dict[str, Any]], tuple[int, Any]]


class Endpoint:
    """A server on loopback with OpenAI's embeddings API. Its answers can be changed while it runs."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.answers: list[Answer] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.requests.append(body)
                endpoint.keys.append(self.headers.get("authorization"))
                status, answer = (endpoint.answers.pop(0) if endpoint.answers else vectors)(body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/"


def vectors(body: dict[str, Any]) -> tuple[int, Any]:
    rows = [{"index": at, "embedding": [float(len(text)), 1.0, 0.0]} for at, text in enumerate(body["input"])]
    return 200, {"data": rows[::-1]}


def status(code: int) -> Answer:
    return lambda _: (code, {"error": f"no, and your key is {KEY}"})


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()
    thread = threading.Thread(target=served.server.serve_forever, daemon=True)
    thread.start()
    yield served
    served.server.shutdown()
    served.server.server_close()
    thread.join(timeout=10)


@pytest.fixture
def embedder(endpoint: Endpoint) -> Iterator[OpenAiEmbedder]:
    opened = OpenAiEmbedder("small", url=endpoint.url, key=KEY, first_pause_seconds=0.001)
    yield opened
    opened.close()


def test_vectors_are_in_the_order_of_the_texts(endpoint: Endpoint, embedder: OpenAiEmbedder) -> None:
    texts = ["a" * (number + 1) for number in range(BATCH_TEXTS + 5)]
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), 3)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(rows[:, 0] / rows[:, 1], [len(text) for text in texts])
    assert [len(request["input"]) for request in endpoint.requests] == [1, BATCH_TEXTS, 5]
    assert set(endpoint.keys) == {f"Bearer {KEY}"}
    assert (embedder.model.name, embedder.model.dimensions) == ("openai:small", 3)


def test_no_texts_send_no_request(endpoint: Endpoint, embedder: OpenAiEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 3)
    assert len(endpoint.requests) == 1


def test_an_overloaded_endpoint_is_retried(endpoint: Endpoint, embedder: OpenAiEmbedder) -> None:
    endpoint.answers = [status(429), status(503)]
    assert embedder.embed_query("a").shape == (3,)
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize(("code", "attempts"), [(500, 4), (401, 1), (404, 1)])
def test_a_failing_endpoint_is_an_upstream_error_without_secrets(
    endpoint: Endpoint, embedder: OpenAiEmbedder, code: int, attempts: int
) -> None:
    endpoint.answers = [status(code)] * 10
    with pytest.raises(UpstreamError, match=f"status {code}") as caught:
        embedder.embed_query("a")
    assert KEY not in caught.value.full_message()
    assert len(endpoint.requests) == 1 + attempts


@pytest.mark.parametrize(
    "answer",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": "text"}]},
        {"rows": []},
        [],
    ],
)
def test_an_invalid_answer_is_refused(endpoint: Endpoint, embedder: OpenAiEmbedder, answer: object) -> None:
    endpoint.answers = [lambda _: (200, answer)]
    with pytest.raises(UpstreamError):
        embedder.embed_query("a")


def test_an_unreachable_endpoint_is_an_upstream_error() -> None:
    with pytest.raises(UpstreamError, match="could not be reached"):
        OpenAiEmbedder("small", url="http://127.0.0.1:9", key=KEY, first_pause_seconds=0.001)
