"""The Node toolchain; tests are skipped with a reason if it is not available."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tests.node.toolchain import ROOT, NodeUnavailable, Toolchain, ready_toolchain
from tests.processes import free_port, running_server

Transport = Literal["stdio", "http"]
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.node)


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    try:
        return ready_toolchain()
    except NodeUnavailable as reason:
        pytest.skip(f"needs Node and its packages: {reason}")


@dataclass(frozen=True, slots=True)
class Address:
    """How a client reaches the product: a command to start, or a URL."""

    command: tuple[str, ...] = ()
    url: str = ""


@contextlib.contextmanager
def product(transport: Transport, project: Path, profile: str = "contextive") -> Iterator[Address]:
    """Yield the address of the product. Over stdio the client starts it; over HTTP it runs during the block."""
    serve = [sys.executable, "-m", "contextive", "serve", "--project", str(project)]
    if profile == "contextive":  # every tool is listed, also those that are usually only called by name
        serve = [
            "env",
            *(f"CONTEXTIVE_TOOLPACKS__{name}__TOOLS=all" for name in ("INTROSPECT", "TRACE", "NOTES")),
            *serve,
        ]
    if transport == "stdio":
        yield Address(command=(*serve, "--stdio", "--profile", profile))
        return
    port = free_port()
    with running_server([*serve, "--http", "--port", str(port)], port, cwd=ROOT):
        yield Address(url=f"http://127.0.0.1:{port}/mcp/{profile}")
