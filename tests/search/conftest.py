from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextive.store.protocol import Store

from .project import open_shop


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A filled store. Tests must only read it."""
    store = open_shop(tmp_path_factory.mktemp("shop"))
    yield store
    store.close()


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / "state"
