"""Fixtures that open a store of each implementation.

A test that uses `store` or `store_factory` runs once for each implementation in `OPENERS`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.store import open_store
from contextive.store.protocol import Store

from .backup_project import BackupProject, fill

StoreFactory = Callable[[], Store]
"""Opens the index of the test again, as another process would."""

OPENERS: dict[str, Callable[[Path], Store]] = {"sqlite": lambda directory: open_store(directory / "state")}


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
