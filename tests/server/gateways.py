"""A gateway on the example repository: a real process with tokens of every kind."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.packs.knowledge.repository import write_repository
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, HttpClient, WebServer, serving_http, wait_until
from tests.server.conftest import ADMIN, READER

TOKENS = {"KM_READER_TOKEN": READER, "KM_ADMIN_TOKEN": ADMIN}
MODEL = {"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy"}
UNLIMITED = {"CONTEXTIVE_LIMITS__RATE_REQUESTS": "0", "CONTEXTIVE_LIMITS__AUTH_FAILURES": "100000"}


@dataclass(frozen=True)
class ExampleProject:
    """The example repository of a tide station, and the configuration folder of its user."""

    root: Path
    user: Path

    @classmethod
    def at(cls, folder: Path) -> ExampleProject:
        return cls(write_repository(folder / "station"), folder / "user")

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": str(self.user), **MODEL, **(extra or {})}

    def run(self, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None) -> str:
        """Run a command; return its output, or its error output if `code` is not 0."""
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=self.root,
            env=clean_environment(self.environment(env)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if code == 0 else done.stderr

    def create_token(self, name: str, *arguments: str) -> str:
        created: dict[str, Any] = json.loads(self.run("token", "create", name, "--json", *arguments))
        return str(created["token"])

    def serve(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> contextlib.AbstractContextManager[WebServer]:
        return serving_http(*arguments, cwd=self.root, env=self.environment(env))


@contextlib.contextmanager
def indexed_gateway(folder: Path, env: Mapping[str, str] | None = None) -> Iterator[tuple[ExampleProject, WebServer]]:
    """A gateway that has finished its first run and its embeddings."""
    station = ExampleProject.at(folder)
    station.run("ingest", "--wait", "--name", "first")
    with station.serve(env={**TOKENS, **UNLIMITED, **(env or {})}) as server:
        yield station, server


def wait_for_run(web: HttpClient) -> None:
    wait_until(lambda: web.get("/api/v1/coverage").status == 200, "the first run", 40.0)


def tool_names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    return [tool["name"] for tool in tools]
