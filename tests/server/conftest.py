from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.packages import install_odd_pack, python_path, write_config
from tests.raw_clients import StdioClient, WebServer, serving_http

_numbers = itertools.count()

READER = "reader-token-0123456789abcdef"
ADMIN = "admin-token-fedcba9876543210"


@dataclass(frozen=True)
class ServerFactory:
    """A folder with the plugin `odd` installed, in which tests start servers with their own configuration."""

    folder: Path
    site: Path

    def config(self, values: Mapping[str, Any] | None = None) -> Path:
        """A new file for --config. The pack `odd` is enabled and may write unless the values say otherwise."""
        merged = {"toolPacks": {"odd": {"mode": "read-write"}}, **(values or {})}
        return write_config(self.folder / f"config-{next(_numbers)}.json", merged)

    def pipe(
        self, values: Mapping[str, Any] | None = None, *arguments: str, env: Mapping[str, str] | None = None
    ) -> StdioClient:
        return self.pipe_with(self.config(values), *arguments, env=env)

    def pipe_with(self, config: Path, *arguments: str, env: Mapping[str, str] | None = None) -> StdioClient:
        environment = {**python_path(self.site), **(env or {})}
        return StdioClient("serve", "--stdio", "--config", str(config), *arguments, cwd=self.folder, env=environment)

    def http(
        self, values: Mapping[str, Any] | None = None, *arguments: str, env: Mapping[str, str] | None = None
    ) -> contextlib.AbstractContextManager[WebServer]:
        return self.http_with(self.config(values), *arguments, env=env)

    def http_with(
        self, config: Path, *arguments: str, env: Mapping[str, str] | None = None
    ) -> contextlib.AbstractContextManager[WebServer]:
        environment = {**python_path(self.site), **(env or {})}
        return serving_http("--config", str(config), *arguments, cwd=self.folder, env=environment)


@pytest.fixture(scope="session")
def odd_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    install_odd_pack(site)
    return site


@pytest.fixture(scope="session")
def new_server_factory(odd_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], ServerFactory]:
    return lambda: ServerFactory(tmp_path_factory.mktemp("server_factory"), odd_site)


@pytest.fixture
def server_factory(new_server_factory: Callable[[], ServerFactory]) -> ServerFactory:
    return new_server_factory()


@pytest.fixture(scope="module")
def shared_server_factory(new_server_factory: Callable[[], ServerFactory]) -> ServerFactory:
    return new_server_factory()


@pytest.fixture(scope="module")
def pipe(shared_server_factory: ServerFactory) -> Iterator[StdioClient]:
    """An initialized stdio server with the pack `odd`, shared by all tests of a module."""
    with shared_server_factory.pipe({"limits": {"toolTimeoutSeconds": 1.0, "maxBodyBytes": 200_000}}) as running:
        running.initialize()
        yield running
