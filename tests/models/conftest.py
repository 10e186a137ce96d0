from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.models.service import Service, model_service


@pytest.fixture
def service() -> Iterator[Service]:
    with model_service() as running:
        yield running
