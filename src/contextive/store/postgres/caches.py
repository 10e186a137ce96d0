"""The folders of the search indexes that a process keeps of a shared store."""

from __future__ import annotations

from pathlib import Path

from contextive.store.disk_probe import can_write
from contextive.store.sqlite.directory import StateDirectory


class CacheFolders:
    """A folder of the state directory, apart from the files of an embedded store.

    Every process can rebuild what is here from the database, and drops it when it belongs to another one.
    """

    def __init__(self, state_dir: Path, *, read_only: bool, project: Path | None) -> None:
        self._state = StateDirectory(state_dir, read_only=read_only, project=project)
        self.path = state_dir / "shared"
        self.lexical = self.path / "lexical"
        self.vectors = self.path / "vectors"
        self.is_writable = self._state.is_writable and can_write(state_dir)

    def make_sidecar_folder(self, directory: Path) -> None:
        self._state.prepare()
        self.path.mkdir(mode=0o700, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
