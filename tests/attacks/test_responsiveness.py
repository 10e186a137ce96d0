"""While a hostile text is parsed, health requests are answered and a signal ends the process, over HTTP and stdio."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.raw_clients import HttpClient, StdioClient, handshake, serving_http, wait_until

from .target import FULL

HEALTH_SECONDS = 0.5
END_SECONDS = 5.0
ENVIRONMENT = {
    "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none",
    "CONTEXTIVE_LIMITS__RATE_REQUESTS": "0",
    "KM_ADMIN_TOKEN": "an-admin-token-for-hostile-texts",
}
SPECIFICATION = "# Tea\n\n## Milk\n\nThe pot MUST be warm.\n"


@dataclass(frozen=True)
class Attack:
    """A file of the project, and the call that reads it."""

    tool: str
    arguments: dict[str, Any]
    path: str = ""
    text: str = ""


ATTACKS = {
    "spaces in a citation": Attack("validate_citation", {"citation": "x" + " " * 19_900 + "x"}),
    "comment markers in a citation": Attack("validate_citation", {"citation": "/*" + "#" * 19_900}),
    "spaces in the trace configuration": Attack(
        "search_requirements", {"query": "tea"}, ".duvet/config.toml", " " * 60_000 + "x"
    ),
    "an unclosed string in the trace configuration": Attack(
        "search_requirements", {"query": "tea"}, ".duvet/config.toml", 'a = "' + '\\"' * 60_000
    ),
    "spaces in a heading": Attack("km-ingest-trigger", {}, "docs/evil.md", "# a" + " " * 300_000 + "b"),
    "spaces in a role of a heading": Attack(
        "km-ingest-trigger", {}, "docs/evil.rst", "`" + " " * 200_000 + "\n" + "=" * 200_002 + "\n"
    ),
    "colons in a heading": Attack(
        "km-ingest-trigger", {}, "docs/evil.rst", ":a" * 100_000 + "\n" + "=" * 200_002 + "\n"
    ),
    "spaces in an AsciiDoc heading": Attack("km-ingest-trigger", {}, "docs/evil.adoc", "= a" + " " * 300_000 + "b"),
    "unclosed links in a note": Attack("list_pages", {}, "notes/evil.md", "`a` " + "[[" * 80_000),
    "unclosed links around images": Attack("km-ingest-trigger", {}, "docs/evil.md", "[" + "![a]" * 60 + " ](\n" * 400),
    "a long import": Attack("km-ingest-trigger", {}, "src/evil.py", "from " + "." * 200_000 + "x\n"),
    "spaces before a name in Rust": Attack("km-ingest-trigger", {}, "src/evil.rs", "use a" + " " * 200_000 + "b;\n"),
    "nested block quotes in a specification": Attack(
        "search_requirements", {"query": "tea"}, "specs/tea.md", "> " * 30_000 + "x\n"
    ),
}


def write_project(folder: Path, attack: Attack) -> Path:
    for name, text in (
        ("specs/tea.md", SPECIFICATION),
        (".duvet/config.toml", '[[source]]\npattern = "src/**/*"\n[[specification]]\nsource = "specs/tea.md"\n'),
        ("notes/tea.md", "# Tea\n\nWarm the pot.\n"),
        (attack.path, attack.text),
    ):
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def slowest_health(web: HttpClient, is_over: Callable[[], bool]) -> float:
    """Return the longest response time of health requests while the attack runs."""
    slowest, until = 0.0, time.monotonic() + 1.0
    while time.monotonic() < until or not is_over():
        started = time.monotonic()
        assert web.get("/healthz").status == 200
        slowest = max(slowest, time.monotonic() - started)
        if time.monotonic() > until + 30.0:
            break
    return slowest


def fire_at_http(folder: Path, attack: Attack) -> tuple[float, float]:
    """Return the longest response time of health requests and the time that the process took to end."""
    with serving_http(cwd=write_project(folder, attack), env=ENVIRONMENT) as server:
        wait_until(lambda: server.web.get("/readyz").status == 200, "the server to be ready", 20.0)
        admin = server.web.as_bearer(ENVIRONMENT["KM_ADMIN_TOKEN"])
        body = json.dumps(attack.arguments).encode()
        call = threading.Thread(target=lambda: admin.post(f"/api/v1/tools/{attack.tool}", body), daemon=True)
        call.start()
        slowest = slowest_health(server.web, lambda: not call.is_alive())
        if call.is_alive():  # it waits for a parser process with a time limit
            assert attack.tool == "km-ingest-trigger"
        started = time.monotonic()
        server.process.signal(signal.SIGTERM)
        server.process.process.wait(20)
        return slowest, time.monotonic() - started


@pytest.mark.parametrize("name", tuple(ATTACKS)[:: 1 if FULL else 3])
def test_health_is_answered_and_a_signal_ends_the_http_server(name: str, tmp_path: Path) -> None:
    slowest, ending = fire_at_http(tmp_path / "first", ATTACKS[name])
    if (
        slowest >= HEALTH_SECONDS or ending >= END_SECONDS
    ):  # retry: the machine may have been busy, and a text that blocks would block again
        slowest, ending = fire_at_http(tmp_path / "second", ATTACKS[name])
    assert slowest < HEALTH_SECONDS
    assert ending < END_SECONDS


@pytest.mark.parametrize("name", tuple(ATTACKS) if FULL else tuple(ATTACKS)[1::4])
def test_a_signal_ends_the_stdio_server(name: str, tmp_path: Path) -> None:
    attack = ATTACKS[name]
    with StdioClient("serve", cwd=write_project(tmp_path, attack), env=ENVIRONMENT) as pipe:
        pipe.result("initialize", handshake())
        pipe.send(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": attack.tool, "arguments": attack.arguments},
            }
        )
        assert pipe.result("ping") == {}
        started = time.monotonic()
        pipe.signal(signal.SIGTERM)
        assert pipe.process.wait(20) == 0
        assert time.monotonic() - started < END_SECONDS
