"""Bringing a backup back: into an empty place, or over an index that nobody keeps, after a copy of what is there now."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from contextive.errors import Conflict, Unavailable
from contextive.file_writing import write_file_in
from contextive.store.archive import CONTENT, DATABASE, Manifest, digest_of, unpack_archive
from contextive.store.backup import Backup, Backups
from contextive.store.values import AuditEntry
from contextive.workspace.directory_handles import open_folder, open_nested_folder

TOOL = "restore"
_STAGING = "restoring-"
_LEASES = ("keeper", "ingest")
"""Held by a server that looks after the index, and by a run."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What came back, and where what stood there before can be found."""

    manifest: Manifest
    state_dir: Path
    safety_copy: Backup | None = None
    set_aside: bool = False
    """Whether the database that was there could not be copied, and was renamed to `index.db.damaged-<time>`."""


##= docs/spec/gateway.md#restoring-a-backup
##% An existing index MUST be replaced only with `--force`, and only after a backup of it was made.
##= docs/spec/gateway.md#restoring-a-backup
##% A restore MUST bring back everything that was backed up.
def restore_backup(archive: Path, backups: Backups, *, force: bool = False, caller: str = "owner") -> RestoreResult:
    """Bring a backup back into the state directory. An index that is there is replaced with `force` only, and copied first."""
    from contextive.store.sqlite.database_copy import prepare_database, replace_database
    from contextive.store.sqlite.directory import StateDirectory

    state_dir = backups.settings.state_dir
    is_taken = _has_index(state_dir)
    if is_taken and not force:
        raise Conflict(
            "There is an index in the state directory already.",
            hint="--force makes a backup of it and replaces it; --to names an empty directory.",
        )
    directory = StateDirectory(state_dir, read_only=False)
    try:
        with ExitStack() as held:
            for name in _LEASES:
                held.enter_context(_lease(state_dir, name))
            staging = held.enter_context(_staging(state_dir))
            manifest = unpack_archive(archive, staging)
            prepare_database(staging / DATABASE, directory)
            copy = _safety_copy(backups, caller) if is_taken else None
            aside = replace_database(staging / DATABASE, directory)
            _put_kept_files(manifest, staging, state_dir)
    except OSError as failure:
        raise Unavailable(f"The backup cannot be restored: {failure.strerror or 'the system refuses'}.") from None
    _write_audit(state_dir, archive, manifest, caller)
    return RestoreResult(manifest, state_dir, copy, aside is not None)


def restore_elsewhere(archive: Path, target: Path, backups: Backups, *, caller: str = "owner") -> RestoreResult:
    """Bring a backup back into a directory that is empty or not there yet."""
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise Conflict("The directory to restore to is not empty.", hint="Name one that is empty or not there yet.")
    return restore_backup(archive, backups.with_state_dir(target.absolute()), caller=caller)


def _has_index(state_dir: Path) -> bool:
    database = state_dir / DATABASE
    return database.exists() and database.stat().st_size > 0


@contextmanager
def _staging(state_dir: Path) -> Iterator[Path]:
    """A directory to unpack into, gone afterwards. Whoever holds the leases is alone, so any other was left behind."""
    top = open_folder(state_dir)
    try:
        os.close(open_nested_folder(top, ("backups",), make=True, mode=0o700))
    finally:
        os.close(top)
    for left in (state_dir / "backups").glob(f"{_STAGING}*"):
        shutil.rmtree(left, ignore_errors=True)
    staging = state_dir / "backups" / f"{_STAGING}{secrets.token_hex(8)}"
    staging.mkdir(mode=0o700)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


##= docs/spec/gateway.md#restoring-a-backup
##% An index that a server is using MUST NOT be replaced.
@contextmanager
def _lease(state_dir: Path, name: str) -> Iterator[None]:
    from contextive.store.sqlite.lease import acquire_lease, lease_holder

    lease = acquire_lease(state_dir, name, f"restore:{os.getpid()}")
    if lease is None:
        holder = lease_holder(state_dir, name) or "another process"
        raise Unavailable(f"The index is in use by {holder}.", hint="End the servers of this project, then restore.")
    try:
        yield
    finally:
        lease.release()


def _safety_copy(backups: Backups, caller: str) -> Backup | None:
    """A backup of what is there now. A database that cannot be used is renamed instead."""
    from contextive.store.sqlite.faults import Damaged
    from contextive.store.sqlite.preparation import Unusable

    try:
        return backups.create(caller=caller, prune=False)
    except (Damaged, Unusable):
        return None


def _put_kept_files(manifest: Manifest, staging: Path, state_dir: Path) -> None:
    top = open_folder(state_dir)
    try:
        for member in manifest.files:
            if member.name not in (DATABASE, CONTENT):
                folder, _, name = member.name.rpartition("/")
                handle = open_nested_folder(top, (folder,), make=True, mode=0o700)
                try:
                    write_file_in(handle, name, (staging / member.name).read_bytes(), overwrite=True, mode=0o600)
                finally:
                    os.close(handle)
    finally:
        os.close(top)


def _write_audit(state_dir: Path, archive: Path, manifest: Manifest, caller: str) -> None:
    from contextive.store import open_store

    store = open_store(state_dir)
    try:
        _, digest = digest_of(archive)
        body = {"archive": archive.name, "sha256": digest, "generation": manifest.generation}
        with store.transaction() as writer:
            writer.put_audit(AuditEntry(time.time(), caller, TOOL, body))
    finally:
        store.close()
