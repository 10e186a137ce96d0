from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.plugins.packages import install_odd_pack, python_path

from .arena import TRANSPORTS, Arena, Transport, open_arena

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
Standing = Callable[[Transport], Arena]


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    """One server of each transport for all modules that need nothing special, started when it is first asked for."""
    opened: dict[Transport, Arena] = {}
    config = {
        "toolPacks": {"odd": {"mode": "read-write"}},
        "limits": {"rateRequests": 0, "authFailures": 100_000, "pageSize": 5},
        "workflows": WORKFLOWS,
    }
    with contextlib.ExitStack() as stack:

        def get(transport: Transport) -> Arena:
            if transport not in opened:
                folder = tmp_path_factory.mktemp("arena")
                install_odd_pack(folder / "site")
                env, files = python_path(folder / "site"), {"recipes/sneaky.yaml": RECIPE}
                running = open_arena(transport, folder, config=config, files=files, env=env)
                opened[transport] = stack.enter_context(running)
            opened[transport].settle()
            return opened[transport]

        yield get


@pytest.fixture(scope="module", params=TRANSPORTS)
def arena(request: pytest.FixtureRequest, standing: Standing) -> Arena:
    """The standing server of each transport."""
    return standing(request.param)
