"""Every store that there is, each opened as often as a test likes.

A test that asks for `store` or `store_factory` runs once for each implementation. A new one joins by a line in `OPENERS`.
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
"""Opens the one index of the test once more, as another process would."""

OPENERS: dict[str, Callable[[Path], Store]] = {"sqlite": lambda place: open_store(place / "state")}


@pytest.fixture(params=sorted(OPENERS))
def store_factory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreFactory]:
    with contextlib.ExitStack() as opened:

        def open_once_more() -> Store:
            store = OPENERS[request.param](tmp_path)
            opened.callback(store.close)
            return store

        yield open_once_more


@pytest.fixture
def store(store_factory: StoreFactory) -> Store:
    return store_factory()


@pytest.fixture
def make_backup_project(tmp_path: Path) -> Iterator[Callable[..., BackupProject]]:
    made: list[BackupProject] = []

    def make(name: str = "project", **settings: Any) -> BackupProject:
        (tmp_path / name).mkdir(exist_ok=True)
        made.append(BackupProject(tmp_path / name, **settings))
        return made[-1]

    yield make
    for project in made:
        project.close()


@pytest.fixture
def backup_project(make_backup_project: Callable[..., BackupProject]) -> BackupProject:
    project = make_backup_project()
    fill(project.store())
    return project
