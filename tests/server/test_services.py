"""Services are named by their types, and each name resolves to that type."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN
from contextive.server.host import Host
from contextive.server.services import SERVICE_FACTORIES


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    opened = Host(
        load_config(ConfigRequest(project=tmp_path, builtin_packs=frozenset(BUILTIN), environ={})), mode="in-process"
    )
    yield opened
    opened.close()


@pytest.mark.parametrize("name", SERVICE_FACTORIES)
def test_a_service_has_the_type_of_its_name_and_is_built_once(host: Host, name: str) -> None:
    module, _, kind = name.partition(":")
    found = getattr(import_module(module), kind)
    assert isinstance(host.services.get(found), found)
    assert host.services.get(found) is host.services.get(found)
