"""Opens a store. The implementation is imported on the first call."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.errors import ContextiveError, Unavailable

if TYPE_CHECKING:
    from contextive.store.postgres.settings import PostgresSettings
    from contextive.store.protocol import Store
    from contextive.store.values import Repair, StoreCondition


def open_store(
    state_dir: Path, *, read_only: bool = False, project: Path | None = None, postgres: PostgresSettings | None = None
) -> Store:
    """The SQLite store of a state directory, or the PostgreSQL store of these settings; created if it does not exist.

    With `project`, it is not created again after the project directory was removed.
    """
    if postgres is not None:
        return _open_shared(postgres, state_dir, read_only=read_only, project=project)
    from contextive.store.sqlite.store import SqliteStore

    return SqliteStore(state_dir, read_only=read_only, project=project)


def _open_shared(postgres: PostgresSettings, state_dir: Path, *, read_only: bool, project: Path | None) -> Store:
    _require_extra()
    from contextive.store.postgres.store import PostgresStore

    return PostgresStore(postgres, state_dir, read_only=read_only, project=project)


def _shared_condition(postgres: PostgresSettings) -> StoreCondition:
    from contextive.store.values import StoreCondition

    try:
        _require_extra()
        from contextive.store.postgres.condition import condition_of

        return condition_of(postgres)
    except ContextiveError as error:
        return StoreCondition(False, "unreachable", error.message, error.hint or "")


def _require_extra() -> None:
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise Unavailable(
            "A shared index needs the extra postgres, which is not installed.",
            hint='Run pip install "contextive-mcp[postgres]", or remove store.dsn.',
        )


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


def store_condition(state_dir: Path, postgres: PostgresSettings | None = None) -> StoreCondition:
    """Whether a store can be used, and what to do if it cannot. Changes nothing."""
    if postgres is not None:
        return _shared_condition(postgres)
    from contextive.store.sqlite.condition import condition_of

    return condition_of(state_dir)
