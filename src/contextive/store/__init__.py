"""What lasts. `protocol` says what services ask of a store; `sqlite` is the embedded one, loaded when a store is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextive.store.protocol import Store


def open_store(state_dir: Path, *, read_only: bool = False) -> Store:
    """The embedded store of a state directory, made when it is not there yet."""
    from contextive.store.sqlite.store import SqliteStore

    return SqliteStore(state_dir, read_only=read_only)
