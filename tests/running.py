"""Real server processes for tests: started, waited for, stopped, and never left behind."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

START_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what changes our commands: a developer's tokens, or the word that this is CI."""
    kept = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith(("KM_", "CONTEXTIVE_"))}
    return {**kept, **(extra or {})}


@contextlib.contextmanager
def running_server(
    command: list[str], port: int, *, cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A server process that answers on its health path; ended with the block."""
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
