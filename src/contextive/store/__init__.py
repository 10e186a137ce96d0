"""How a store is opened. The implementation is loaded here and not before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextive.store.protocol import Store
    from contextive.store.values import Repair, StoreCondition


def open_store(state_dir: Path, *, read_only: bool = False, project: Path | None = None) -> Store:
    """The embedded store of a state directory, created when it is not there yet.

    With `project`, it is not created again after the directory of the project was removed.
    """
    from contextive.store.sqlite.store import SqliteStore

    return SqliteStore(state_dir, read_only=read_only, project=project)


def replace_unusable_store(state_dir: Path, *, project: Path | None = None) -> Repair | None:
    """Rename a store that cannot be used, and build one with the votes, runs and audit that are readable; what was done.

    None says that the store is sound, or not there yet. Only a command that a person gives may call this: it also replaces a
    store of a newer version.
    """
    from contextive.store.sqlite.connection import WAIT_SECONDS
    from contextive.store.sqlite.directory import StateDirectory
    from contextive.store.sqlite.faults import translate_errors
    from contextive.store.sqlite.preparation import replace_unusable

    with translate_errors():
        return replace_unusable(StateDirectory(state_dir, read_only=False, project=project), WAIT_SECONDS)


def store_condition(state_dir: Path) -> StoreCondition:
    """Whether the store of a state directory is in order, and what to do where it is not. Changes nothing."""
    from contextive.store.sqlite.condition import condition_of

    return condition_of(state_dir)
