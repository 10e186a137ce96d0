"""The example repository, and an index of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool
from contextive.config import ConfigRequest, load_config
from contextive.ingest.settings import IngestRequest
from contextive.packs import BUILTIN
from contextive.search.index import Index
from contextive.server.host import Host

from .repository import parse_in_this_process, write_repository

OpenHost = Callable[..., Host]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "station")


@pytest.fixture
def open_host() -> Iterator[OpenHost]:
    """Opens servers in this process, and closes them at the end."""
    hosts: list[Host] = []

    def open_at(root: Path, **environ: str) -> Host:
        request = ConfigRequest(
            project=root,
            builtin_packs=frozenset(BUILTIN),
            environ={"CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy", **environ},
        )
        hosts.append(Host(load_config(request), mode="in-process"))
        parse_in_this_process(hosts[-1])
        return hosts[-1]

    yield open_at
    for host in hosts:
        host.close()


@pytest.fixture
def index(repository: Path, open_host: OpenHost) -> Index:
    return open_host(repository).services.get(Index)


Call = Callable[..., dict[str, Any]]


@pytest.fixture
def call(repository: Path, open_host: OpenHost) -> Call:
    """Calls a tool on the indexed example repository and returns its data."""
    host = open_host(repository)
    index = host.services.get(Index)
    index.ingest(IngestRequest())
    index.embed()
    return lambda tool, /, **arguments: call_tool(host, tool, arguments)
