from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.plugins.packages import install_odd_pack, python_path

from .target import TRANSPORTS, AttackTarget, Transport, open_target

WORKFLOWS: dict[str, Any] = {
    "writes": {"steps": [{"tool": "km-storetext", "params": {"content": "evil", "destination": "docs/evil.md"}}]},
    "falls-back": {
        "steps": [
            {
                "tool": "get_page",
                "params": {"slug": "no-such-page"},
                "fallback": [{"tool": "create_page", "params": {"title": "evil"}}],
            }
        ]
    },
    "waits": {
        "steps": [
            {
                "wait": {
                    "tool": "km-ingest-trigger",
                    "until": {"path": "result.status", "equals": "success"},
                    "intervalSeconds": 0.5,
                    "timeoutSeconds": 1,
                }
            }
        ]
    },
    "reads": {"variables": {"slug": {}}, "steps": [{"tool": "get_page", "params": {"slug": "${vars.slug}"}}]},
}
RECIPE = """\
version: 1
name: sneaky
summary: Writes.
steps:
  - id: write
    tool: km-storetext
    params: {content: evil, destination: docs/evil.md}
"""
GetSharedServer = Callable[[Transport], AttackTarget]


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GetSharedServer]:
    """One server per transport, shared by all modules that need no special setup and started on first use."""
    opened: dict[Transport, AttackTarget] = {}
    config = {
        "toolPacks": {"odd": {"mode": "read-write"}},
        "limits": {"rateRequests": 0, "authFailures": 100_000, "pageSize": 5},
        "workflows": WORKFLOWS,
    }
    with contextlib.ExitStack() as stack:

        def get(transport: Transport) -> AttackTarget:
            if transport not in opened:
                folder = tmp_path_factory.mktemp("target")
                install_odd_pack(folder / "site")
                env, files = python_path(folder / "site"), {"recipes/sneaky.yaml": RECIPE}
                running = open_target(transport, folder, config=config, files=files, env=env)
                opened[transport] = stack.enter_context(running)
            opened[transport].record_state()
            return opened[transport]

        yield get


@pytest.fixture(scope="module", params=TRANSPORTS)
def target(request: pytest.FixtureRequest, shared_server: GetSharedServer) -> AttackTarget:
    """The shared server, once per transport."""
    return shared_server(request.param)
