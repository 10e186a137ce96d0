from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.web import TEXT, Site, response, serving


@pytest.fixture
def site() -> Iterator[Site]:
    with serving({"/spec.md": response(TEXT)}) as running:
        yield running


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "specifications" / "host" / "spec.txt"
