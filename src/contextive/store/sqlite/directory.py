"""The state directory of a project."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from contextive.errors import Unavailable
from contextive.file_writing import make_folders, write_file
from contextive.workspace.directory_handles import Identity, identity_of, require_project

_NETWORK_SYSTEMS = frozenset(
    {"9p", "afs", "afpfs", "ceph", "cifs", "davfs", "fuse.s3fs", "fuse.sshfs", "gfs2", "glusterfs", "fuse.glusterfs",
     "fuse.rclone", "lustre", "ncpfs", "nfs", "nfs4", "smb2", "smb3", "smbfs", "sshfs", "virtiofs"}
)  # fmt: skip


class StateDirectory:
    """The directory of the database and its sidecars."""

    def __init__(self, path: Path, *, read_only: bool, project: Path | None = None) -> None:
        """If `project` is given and does not exist, the state directory is not created."""
        self.path = path
        self.database = path / "index.db"
        self.lexical = path / "lexical"
        self.vectors = path / "vectors"
        self.opening_lock = path / "opening.lock"
        self.damage_marker = path / "index.damaged"
        self._project = project
        if not read_only:
            self.prepare()
        self.is_writable = not read_only and os.access(path, os.W_OK)

    ##= docs/spec/knowledge.md#store
    ##% The state directory of a project MUST be readable only by its user.
    def prepare(self) -> None:
        """Create the directory if it is missing: at the start, or after it was removed."""
        if self._project is not None:
            require_project(self._project)
        try:
            if not self.path.exists():
                make_folders(self.path, mode=0o700)
            ignore = self.path / ".gitignore"
            if not ignore.exists() and os.access(self.path, os.W_OK):
                ignore.write_text("*\n", encoding="utf-8")
        except FileNotFoundError as error:
            raise Unavailable("The state directory was removed while it was in use.", hint="Try again.") from error
        except OSError as error:
            raise Unavailable(
                "The state directory cannot be created.", hint="Check that its parent is a writable directory."
            ) from error

    def make_sidecar_folder(self, directory: Path) -> None:
        """Create the directory of a sidecar. If the state directory itself was removed, it is not created again
        here."""
        directory.mkdir(mode=0o700, exist_ok=True)

    # Damage

    def mark_damaged(self, identity: Identity | None) -> None:
        """Tell all processes that the file with this identity is damaged."""
        write_file(self.damage_marker, json.dumps(identity).encode(), mode=0o600)

    def damaged_identity(self) -> Identity | None:
        """The identity of the damaged file; None if there is none, or if an earlier version did not record it."""
        try:
            device, inode = json.loads(self.damage_marker.read_bytes())
            return int(device), int(inode)
        except (OSError, ValueError, TypeError):
            return None

    def is_marked_damaged(self) -> bool:
        """Whether the current database, or one that was renamed and not rebuilt yet, is marked as damaged."""
        if not self.damage_marker.exists():
            return False
        marked, current = self.damaged_identity(), identity_of(self.database)
        return marked is None or current is None or marked == current

    def network_file_system(self) -> str | None:
        """The type of the network file system that the directory is on; None on a local disk or if unknown."""
        if not sys.platform.startswith("linux"):
            return None
        try:
            with Path("/proc/self/mounts").open(encoding="utf-8", errors="replace") as lines:
                kind = file_system_type(lines.read(), self.path.resolve())
        except OSError:
            return None
        return kind if kind in _NETWORK_SYSTEMS else None


def file_system_type(mounts: str, path: Path) -> str | None:
    """The type of the file system at a path, from the text of a mount table."""
    best, kind = "", None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1]
        with contextlib.suppress(UnicodeDecodeError, UnicodeEncodeError):
            point = point.encode("latin-1").decode("unicode_escape")
        # A later mount over the same point hides the earlier one.
        if path.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind
