"""No bytes on a pipe or a socket end a server, leave it without an answer, or show its insides."""

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
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackTarget]:
    with open_target("stdio", tmp_path_factory.mktemp("pipe")) as target:
        yield target


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackTarget]:
    with open_target("http", tmp_path_factory.mktemp("door"), with_tokens=False) as target:
        yield target


def test_mutated_lines_are_answered_or_ignored(pipe: AttackTarget) -> None:
    source, seeds = random.Random("pipe"), seeds_of("json-rpc-line")
    ends, number = time.monotonic() + FUZZING_SECONDS, 0
    while time.monotonic() < ends:
        lines = [mutated(source, seeds).replace(b"\n", b" ") for _ in range(_LINES)]
        number += 1
        mark = f"mark-{number}"
        pipe.process.send_bytes(b"\n".join(lines) + b"\n")
        pipe.process.send({"jsonrpc": "2.0", "id": mark, "method": "ping"})
        _await(pipe, mark, lines)
    with contextlib.suppress(AssertionError):
        while True:  # what is still to be answered, such as calls of tools
            pipe.process.receive(0.5)
    pipe.assert_unharmed(entries=0)


def _await(pipe: AttackTarget, mark: str, lines: list[bytes]) -> None:
    """Read up to the answer to the last question; all before it must be whole and harmless."""
    while True:
        answer = pipe.process.receive()
        for one in answer if isinstance(answer, list) else [answer]:
            assert one["jsonrpc"] == "2.0"
            assert one.get("error", {}).get("code") != -32603, (one, lines)
            pipe.assert_no_leak(json.dumps(one), "a mutated line")
            if one.get("id") == mark:
                return


def test_mutated_requests_get_an_answer_that_is_no_fault_of_ours(door: AttackTarget) -> None:
    source, seeds = random.Random("door"), seeds_of("http-door")
    ends = time.monotonic() + FUZZING_SECONDS
    while time.monotonic() < ends:
        data = mutated(source, seeds)
        answer = _send(door, data)
        for status in _STATUS.findall(answer):
            assert int(status) < 500 or int(status) == 503, (data, answer[:2000])
        door.assert_no_leak(answer.decode("utf-8", "replace"), repr(data))
    door.assert_unharmed(entries=0)


def _send(door: AttackTarget, data: bytes, seconds: float = 0.2) -> bytes:
    """All that comes back, until the server closes or is silent: it may well wait for the rest of a request."""
    found = b""
    assert door.web is not None
    with (
        contextlib.suppress(ConnectionError, TimeoutError),
        socket.create_connection(("127.0.0.1", door.web.port), timeout=seconds) as connection,
    ):
        connection.sendall(data)
        while block := connection.recv(65536):
            found += block
    return found


def test_every_kept_request_is_answered_as_it_is(door: AttackTarget) -> None:
    for seed in seeds_of("http-door"):
        assert _STATUS.match(_send(door, seed, 5.0)), seed
