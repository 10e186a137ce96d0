"""No bytes over stdio or HTTP can stop the server, keep it from answering, or make it show internal details."""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import time
from collections.abc import Iterator

import pytest

from tests.attacks.target import AttackTarget, open_target

from .corpus import seeds_of
from .mutation import mutated

FUZZING_SECONDS = 3.0
_STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3}) ")
_LINES = 20


@pytest.fixture(scope="module")
def stdio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackTarget]:
    with open_target("stdio", tmp_path_factory.mktemp("stdio")) as target:
        yield target


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackTarget]:
    with open_target("http", tmp_path_factory.mktemp("http"), with_tokens=False) as target:
        yield target


def test_mutated_lines_are_answered_or_ignored(stdio: AttackTarget) -> None:
    source, seeds = random.Random("stdio"), seeds_of("json-rpc-line")
    ends, number = time.monotonic() + FUZZING_SECONDS, 0
    while time.monotonic() < ends:
        lines = [mutated(source, seeds).replace(b"\n", b" ") for _ in range(_LINES)]
        number += 1
        mark = f"mark-{number}"
        stdio.process.send_bytes(b"\n".join(lines) + b"\n")
        stdio.process.send({"jsonrpc": "2.0", "id": mark, "method": "ping"})
        _await(stdio, mark, lines)
    with contextlib.suppress(AssertionError):
        while True:  # read the remaining answers, such as those of tool calls
            stdio.process.receive(0.5)
    stdio.assert_unharmed(entries=0)


def _await(stdio: AttackTarget, mark: str, lines: list[bytes]) -> None:
    """Read answers up to the one with this id; all of them must be well-formed and harmless."""
    while True:
        answer = stdio.process.receive()
        for message in answer if isinstance(answer, list) else [answer]:
            assert message["jsonrpc"] == "2.0"
            assert message.get("error", {}).get("code") != -32603, (message, lines)
            stdio.assert_no_leak(json.dumps(message), "a mutated line")
            if message.get("id") == mark:
                return


def test_mutated_requests_never_cause_an_internal_error(http: AttackTarget) -> None:
    source, seeds = random.Random("http"), seeds_of("http-request")
    ends = time.monotonic() + FUZZING_SECONDS
    while time.monotonic() < ends:
        data = mutated(source, seeds)
        answer = _send(http, data)
        for status in _STATUS.findall(answer):
            assert int(status) < 500 or int(status) == 503, (data, answer[:2000])
        http.assert_no_leak(answer.decode("utf-8", "replace"), repr(data))
    http.assert_unharmed(entries=0)


def _send(http: AttackTarget, data: bytes, seconds: float = 0.2) -> bytes:
    """Return the response, read until the server closes or is silent; it may be waiting for the rest of a request."""
    found = b""
    assert http.web is not None
    with (
        contextlib.suppress(ConnectionError, TimeoutError),
        socket.create_connection(("127.0.0.1", http.web.port), timeout=seconds) as connection,
    ):
        connection.sendall(data)
        while block := connection.recv(65536):
            found += block
    return found


def test_every_request_of_the_corpus_is_answered(http: AttackTarget) -> None:
    for seed in seeds_of("http-request"):
        assert _STATUS.match(_send(http, seed, 5.0)), seed
