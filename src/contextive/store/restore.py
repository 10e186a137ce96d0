"""Restores a backup: into an empty directory, or over an existing index after a backup of it."""

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
from contextive.store.archive import CONTENT, DATABASE, Manifest, digest_of, read_manifest, unpack_archive
from contextive.store.backup import Backup, Backups
from contextive.store.values import AuditEntry
from contextive.workspace.directory_handles import open_folder, open_nested_folder

TOOL = "restore"
_STAGING = "restoring-"
_LEASES = ("keeper", "ingest")
"""The leases of a server that keeps the index up to date, and of an ingest run."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What was restored, and where the previous index is now."""

    manifest: Manifest
    state_dir: Path
    safety_copy: Backup | None = None
    set_aside: bool = False
    """Whether the previous database could not be copied, and was renamed to `index.db.damaged-<time>`."""


##= docs/spec/gateway.md#restoring-a-backup
##% An existing index MUST be replaced only with `--force`, and only after a backup of it was made.
##= docs/spec/gateway.md#restoring-a-backup
##% A restore MUST bring back everything that was backed up.
def restore_backup(archive: Path, backups: Backups, *, force: bool = False, caller: str = "owner") -> RestoreResult:
    """Restore a backup into the state directory. An existing index is replaced only with `force`, and backed up
    first."""
    from contextive.store.sqlite.database_copy import prepare_database, replace_database
    from contextive.store.sqlite.directory import StateDirectory

    backups.require_embedded()
    state_dir = backups.settings.state_dir
    has_index = _has_index(state_dir)
    if has_index and not force:
        read_manifest(archive)  # a wrong name is reported first
        raise Conflict(
            "The state directory already contains an index.",
            hint="Use --force to back it up and replace it, or restore into an empty directory with --to.",
        )
    directory = StateDirectory(state_dir, read_only=False)
    try:
        with ExitStack() as stack:
            for name in _LEASES:
                stack.enter_context(_lease(state_dir, name))
            staging = stack.enter_context(_staging(state_dir))
            manifest = unpack_archive(archive, staging)
            prepare_database(staging / DATABASE, directory)
            copy = _safety_copy(backups, caller) if has_index else None
            aside = replace_database(staging / DATABASE, directory)
            _put_kept_files(manifest, staging, state_dir)
    except OSError as failure:
        reason = failure.strerror or "the operating system refused it"
        raise Unavailable(f"The backup cannot be restored: {reason}.") from None
    _write_audit(state_dir, archive, manifest, caller)
    return RestoreResult(manifest, state_dir, copy, aside is not None)


def restore_elsewhere(archive: Path, target: Path, backups: Backups, *, caller: str = "owner") -> RestoreResult:
    """Restore a backup into a directory that is empty or does not exist yet."""
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise Conflict(
            "The directory to restore to is not empty.", hint="Use a directory that is empty or does not exist yet."
        )
    return restore_backup(archive, backups.with_state_dir(target.absolute()), caller=caller)


def _has_index(state_dir: Path) -> bool:
    database = state_dir / DATABASE
    return database.exists() and database.stat().st_size > 0


@contextmanager
def _staging(state_dir: Path) -> Iterator[Path]:
    """A temporary directory to unpack into. Only the holder of the leases has one, so others are left over from a
    crash."""
    top = open_folder(state_dir)
    try:
        os.close(open_nested_folder(top, ("backups",), make=True, mode=0o700))
    finally:
        os.close(top)
    for leftover in (state_dir / "backups").glob(f"{_STAGING}*"):
        shutil.rmtree(leftover, ignore_errors=True)
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
        raise Unavailable(f"The index is in use by {holder}.", hint="Stop the servers of this project, then restore.")
    try:
        yield
    finally:
        lease.release()


def _safety_copy(backups: Backups, caller: str) -> Backup | None:
    """A backup of the current index; None if its database cannot be used (it is renamed instead)."""
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
                handle = open_nested_folder(top, (folder,) if folder else (), make=True, mode=0o700)
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
