"""Opens a store. The implementation is imported on the first call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextive.store.protocol import Store
    from contextive.store.values import Repair, StoreCondition


def open_store(state_dir: Path, *, read_only: bool = False, project: Path | None = None) -> Store:
    """The SQLite store of a state directory; created if it does not exist.

    With `project`, it is not created again after the project directory was removed.
    """
    from contextive.store.sqlite.store import SqliteStore

    return SqliteStore(state_dir, read_only=read_only, project=project)


def replace_unusable_store(state_dir: Path, *, project: Path | None = None) -> Repair | None:
    """Rename a store that cannot be used, and build a new one with the kept rows that can be read.

    Returns None when the store is intact or does not exist. Only a command that a person runs may call this, because
    it also replaces a store of a newer version.
    """
    from contextive.store.sqlite.connection import WAIT_SECONDS
    from contextive.store.sqlite.directory import StateDirectory
    from contextive.store.sqlite.faults import translate_errors
    from contextive.store.sqlite.preparation import replace_unusable

    with translate_errors():
        return replace_unusable(StateDirectory(state_dir, read_only=False, project=project), WAIT_SECONDS)


def store_condition(state_dir: Path) -> StoreCondition:
    """Whether the store of a state directory can be used, and what to do if it cannot. Changes nothing."""
    from contextive.store.sqlite.condition import condition_of

    return condition_of(state_dir)
