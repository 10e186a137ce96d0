"""Start real server processes for tests, wait for them and stop them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import signal
import socket
import socketserver
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from contextive.cli import run

START_SECONDS = 30.0
WAIT_SECONDS = 60.0


def free_port() -> int:
    """Return a free port below the ephemeral range, so that no outgoing connection takes it before it is used."""
    rng = random.SystemRandom()
    while True:
        port = rng.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of this process without variables that affect Contextive: tokens, settings and `CI`."""
    kept = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith(("KM_", "CONTEXTIVE_"))}
    return {**kept, **(extra or {})}


def run_in_process(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, program: str = "contextive-mcp"
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, with its own directory and environment, and return what a process would.

    It saves the start of an interpreter, which takes longer than most commands.
    """
    printed, reported = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    environment = clean_environment(env)
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(cwd)
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        stack.enter_context(contextlib.redirect_stdout(printed))
        stack.enter_context(contextlib.redirect_stderr(reported))
        try:
            code = run(list(arguments), program)
        except SystemExit as ended:  # `--help` and `--version`
            code = int(ended.code or 0)
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (printed, reported)]
    return subprocess.CompletedProcess([program, *arguments], code, *texts)


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """Simulate a full disk: files of this process cannot grow beyond one block."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@contextlib.contextmanager
def running_server(
    command: list[str], port: int, *, cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server process until the block ends; it is healthy when the block starts."""
    process = subprocess.Popen(
        command, cwd=cwd, env=clean_environment(env), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        _wait_until_healthy(process, port)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        assert process.stderr is not None
        process.stderr.close()


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            assert process.stderr is not None
            raise AssertionError(f"the server ended with {process.returncode}: {process.stderr.read().decode()}")
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1)
            return
        time.sleep(0.05)
    raise AssertionError("the server did not answer in time")


def is_forbidden(result: Mapping[str, Any]) -> bool:
    """Whether a tool call was refused as forbidden."""
    return bool(result.get("isError")) and json.loads(result["content"][0]["text"])["error"]["code"] == "forbidden"


def open_descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def wait_until(condition: Callable[[], bool], what: str, timeout: float = WAIT_SECONDS) -> None:
    """Wait until a condition is true; fail with `what` if it is not true in time."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} seconds: {what}")
        time.sleep(0.02)


@contextlib.contextmanager
def serving_in_thread(server: socketserver.TCPServer) -> Iterator[str]:
    """Run a server in a thread until the block ends and yield its address."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join(10)
