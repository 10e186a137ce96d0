"""Fixtures that open a store of each implementation.

A test that uses `store` or `store_factory` runs once for each implementation in `OPENERS`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.store import open_store
from contextive.store.postgres.settings import PostgresSettings
from contextive.store.protocol import Store
from tests.postgres_server import schema_for, shared_dsn

from .backup_project import BackupProject, fill

StoreFactory = Callable[[], Store]
"""Opens the index of the test again, as another process would."""

STORES_VARIABLE = "CONTEXTIVE_TEST_STORES"
"""Names the stores to test, separated by commas: sqlite, postgres15, postgres18. `make test-postgres` names all."""


def _opener(kind: str) -> Callable[[Path], Store]:
    if kind == "sqlite":
        return lambda directory: open_store(directory / "state")

    dsn = shared_dsn(kind)  # before a test starts processes, which inherit it

    def open_shared(directory: Path) -> Store:
        settings = PostgresSettings(dsn, project=schema_for(directory))
        return open_store(directory / "state", postgres=settings)

    return open_shared


OPENERS = {kind: _opener(kind) for kind in os.environ.get(STORES_VARIABLE, "sqlite").split(",")}


@pytest.fixture(params=sorted(OPENERS))
def store_factory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreFactory]:
    with contextlib.ExitStack() as stack:

        def open_another() -> Store:
            store = OPENERS[request.param](tmp_path)
            stack.callback(store.close)
            return store

        yield open_another


@pytest.fixture
def store(store_factory: StoreFactory) -> Store:
    return store_factory()


@pytest.fixture
def make_backup_project(tmp_path: Path) -> Iterator[Callable[..., BackupProject]]:
    projects: list[BackupProject] = []

    def make(name: str = "project", **settings: Any) -> BackupProject:
        (tmp_path / name).mkdir(exist_ok=True)
        projects.append(BackupProject(tmp_path / name, **settings))
        return projects[-1]

    yield make
    for project in projects:
        project.close()


@pytest.fixture
def backup_project(make_backup_project: Callable[..., BackupProject]) -> BackupProject:
    project = make_backup_project()
    fill(project.store())
    return project
