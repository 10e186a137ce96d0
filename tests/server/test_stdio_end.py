"""Shutdown of a stdio server: fast, clean, and with open calls answered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, StdioClient, handshake, rpc, wait_until
from tests.server.conftest import ServerFactory


##= docs/spec/host.md#shutdown
##% Calls in flight SHOULD get a short time to finish before the server exits.
def test_at_the_end_of_input_open_calls_are_answered_and_the_server_exits(server_factory: ServerFactory) -> None:
    with server_factory.pipe() as pipe:
        pipe.initialize()
        pipe.send(rpc("tools/call", {"name": "odd_slow", "arguments": {"seconds": 0.3}}, "last"))
        pipe.close_stdin()
        assert pipe.end_within(5) == 0
        assert pipe.reply_to("last")["result"]["structuredContent"] == {"done": True}


##= docs/spec/host.md#shutdown
##% When the client closes standard input, the server MUST exit within two seconds.
def test_at_the_end_of_input_the_server_does_not_wait_for_endless_calls(
    server_factory: ServerFactory, tmp_path: Path
) -> None:
    with server_factory.pipe() as pipe:
        pipe.initialize()
        for tool in ("odd_slow", "odd_block"):
            pipe.send(rpc("tools/call", {"name": tool, "arguments": {"marker": str(tmp_path / tool)}}, tool))
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2, "the handlers run")
        pipe.close_stdin()
        assert pipe.end_within(5) == 0


##= docs/spec/host.md#shutdown
##% On SIGINT and on SIGTERM, the server MUST exit with code 0.
##= docs/spec/host.md#shutdown
##% Before it exits, the server MUST write all pending log lines.
@pytest.mark.parametrize(
    ("number", "tool"),
    [(signal.SIGINT, None), (signal.SIGTERM, None), (signal.SIGINT, "odd_slow"), (signal.SIGTERM, "odd_block")],
)
def test_a_signal_stops_the_server_within_a_second_with_its_log_flushed(
    server_factory: ServerFactory, tmp_path: Path, number: signal.Signals, tool: str | None
) -> None:
    marker = tmp_path / "marker"
    with server_factory.pipe() as pipe:
        pipe.initialize()
        if tool:
            pipe.send(rpc("tools/call", {"name": tool, "arguments": {"marker": str(marker)}}, "endless"))
            wait_until(marker.exists, "the handler runs")
        else:
            pipe.call("odd_echo", {"text": "a"})
        pipe.signal(number)
        assert pipe.end_within(1) == 0
        assert "Traceback" not in pipe.log_text
        assert [line["tool"] for line in pipe.log_lines() if line["event"] == "call"] == [tool or "odd_echo"]
        if tool == "odd_slow":
            assert marker.read_text(encoding="utf-8") == "cancelled", "the handler could clean up"


def test_a_client_that_stops_reading_does_not_delay_shutdown(server_factory: ServerFactory) -> None:
    with server_factory.pipe() as pipe:
        pipe.initialize()
        assert pipe.process.stdout is not None
        for number in range(50):
            pipe.send(rpc("tools/call", {"name": "odd_big", "arguments": {"size": 100_000}}, number))
        pipe.close_stdin()
        pipe.signal(signal.SIGTERM)
        assert pipe.end()[0] == 0


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


##= docs/spec/host.md#commands
##% The command `contextive-mcp serve --stdio` MUST serve one client over standard input and standard output.
def test_a_session_can_be_read_from_a_file_and_written_to_one(tmp_path: Path) -> None:
    script, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    script.write_bytes(lines(rpc("initialize", handshake(), 1), rpc("tools/list", None, 2), rpc("ping", None, 3)))
    with script.open("rb") as source, output.open("wb") as target:
        done = subprocess.run(
            [*PROGRAM, "serve", "--stdio"],
            stdin=source,
            stdout=target,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=clean_environment(),
            timeout=20,
        )
    assert done.returncode == 0
    answers = {answer["id"]: answer for answer in map(json.loads, output.read_bytes().splitlines())}
    assert set(answers) == {1, 2, 3}
    assert answers[2]["result"]["tools"]


def test_a_last_line_without_its_newline_is_served(tmp_path: Path) -> None:
    with StdioClient("serve", "--stdio", cwd=tmp_path) as pipe:
        pipe.send_bytes(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        pipe.close_stdin()
        assert pipe.rest() == [{"jsonrpc": "2.0", "id": "last", "result": {}}]


def test_a_last_line_over_the_limit_is_refused(server_factory: ServerFactory) -> None:
    with server_factory.pipe({"limits": {"maxBodyBytes": 2048}}) as pipe:
        pipe.send_bytes(b"x" * 5000)
        pipe.close_stdin()
        assert [answer["error"]["code"] for answer in pipe.rest()] == [-32600]


def test_the_server_exits_immediately_without_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "serve", "--stdio"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        env=clean_environment(),
        timeout=20,
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_sharing_one_pipe_with_standard_error_does_not_break_responses(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--stdio"],
        stdin=subprocess.PIPE,
        stdout=write_end,
        stderr=write_end,
        cwd=tmp_path,
        env=clean_environment(),
    )
    os.close(write_end)
    process.communicate(
        lines(rpc("initialize", handshake(), 1), rpc("tools/call", {"name": "contextive_health"}, 2)), 20
    )
    with os.fdopen(read_end, "rb") as both:
        found = [json.loads(line) for line in both]
    assert process.returncode == 0
    assert {message["id"] for message in found if "jsonrpc" in message} == {1, 2}
