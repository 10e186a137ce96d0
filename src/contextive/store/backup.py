"""Creates backups of the state directory while other processes read and write it.

A backup contains a consistent copy of the database, the evidence and log files next to it, and a list of the indexed files with
their digests. It does not contain the lexical and vector indexes (they are rebuilt from the database), tokens or
earlier backups.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from contextive import __version__
from contextive.errors import ContextiveError, Forbidden, InvalidRequest, Unavailable, UnsupportedOperation
from contextive.file_writing import NewFile, make_folders, new_file
from contextive.store.archive import (
    CONTENT,
    DATABASE,
    Manifest,
    Member,
    digest_of,
    kept_files,
    read_manifest,
    write_archive,
)
from contextive.store.values import AuditEntry, BackupEnded
from contextive.workspace.directory_handles import open_folder, open_nested_folder

if TYPE_CHECKING:
    from contextive.store.protocol import Store

LEASE = "backup"
TOOL = "km-backup-trigger"
_FOLDER = ("backups", "archives")
_NAME = re.compile(r"km-backup-(\d{8}T\d{6})(?:-(\d{1,3}))?\.(?:tgz|tar\.gz)")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_STAGING = "staging-"
_MAX_PER_SECOND = 100


@dataclass(frozen=True, slots=True)
class BackupSettings:
    """What is backed up, where to, and how many archives are kept."""

    project: Path
    state_dir: Path
    destination: str | None = None
    """A directory to use instead of `backups/archives` in the state directory; relative to the project, or
    absolute."""
    retention: int = 7
    """How many archives are kept; 0 means all."""
    is_shared: bool = False
    """Whether the index is in a database of its own, which has its own backups."""


@dataclass(frozen=True, slots=True)
class Backup:
    """An archive that was created or found."""

    path: Path
    display_path: str
    """Its path relative to the state directory or the project; only its name if it is outside both."""
    size_bytes: int
    manifest: Manifest
    sha256: str = ""
    pruned: tuple[str, ...] = field(default=())
    """Names of the older archives that were deleted."""


class Backups:
    """The backups of a project's state."""

    def __init__(
        self,
        settings: BackupSettings,
        store: Callable[[], Store],
        clock: Callable[[], float] = time.time,
        observer: Callable[[BackupEnded], None] = lambda _ended: None,
    ) -> None:
        """`observer` is called after every attempt, even a failed one."""
        self.settings = settings
        self._store = store
        self._clock = clock
        self._observer = observer

    def create(self, destination: str | None = None, *, caller: str = "owner", prune: bool = True) -> Backup:
        """Create a backup. Without `destination`, the oldest archives beyond `retention` are deleted."""
        self.require_embedded()
        try:
            backup = self._create(destination, caller, prune=prune)
        except ContextiveError:
            self._observer(BackupEnded(False, self._clock()))
            raise
        self._observer(BackupEnded(True, self._clock(), len(backup.pruned)))
        return backup

    def _create(self, destination: str | None, caller: str, *, prune: bool) -> Backup:
        target = self._resolve_folder(destination)
        lease = self._store().acquire_lease(LEASE, f"backup:{os.getpid()}")
        if lease is None:
            raise Unavailable("Another backup is in progress.", hint="Try again when it has finished.")
        try:
            with self._staging() as staging, self._open_folder(target) as folder:
                backup = self._write(staging, folder, target)
                pruned = tuple(self._prune(target, backup.path.name)) if prune and destination is None else ()
        except OSError as failure:
            raise _translate_os_error(failure) from None
        finally:
            lease.release()
        body = {
            "archive": backup.path.name,
            "bytes": backup.size_bytes,
            "sha256": backup.sha256,
            "pruned": list(pruned),
        }
        with self._store().transaction() as writer:
            writer.put_audit(AuditEntry(self._clock(), caller, TOOL, body))
        return replace(backup, pruned=pruned)

    def require_embedded(self) -> None:
        """Raise UnsupportedOperation for a shared index: its archive would miss the rows in the database."""
        if self.settings.is_shared:
            raise UnsupportedOperation(
                "Archives are made of the index in the state directory, and this project uses a shared index.",
                hint="Back up its database with pg_dump; docs/how-to/serve-a-team.md shows how.",
            )

    def existing(self) -> tuple[Backup, ...]:
        """The archives of this project in the default directory, newest first. Unreadable ones are skipped."""
        return tuple(self._existing(self._resolve_folder(None)))

    def with_state_dir(self, state_dir: Path) -> Backups:
        """The backups of another state directory."""
        return Backups(replace(self.settings, state_dir=state_dir), self._store, self._clock, self._observer)

    # Destination

    ##= docs/spec/gateway.md#creating-a-backup
    ##% A destination MUST be below the backup directory.
    def _resolve_folder(self, given: str | None) -> _BackupFolder:
        own = _BackupFolder(self.settings.state_dir, ("backups",))
        default = _BackupFolder(self.settings.state_dir, _FOLDER)
        configured = self._configured_folder()
        if given is None or not given.strip():
            return configured or default
        steps = tuple(part for part in given.strip("/").split("/") if part != ".")
        if any(not _PART.fullmatch(part) for part in steps) and not given.startswith("/"):
            raise InvalidRequest("The destination is not a valid directory name.", hint="Use letters, digits, - and _.")
        if not given.startswith("/"):
            return _BackupFolder(own.root, (*own.steps, *(steps[1:] if steps[:1] == own.steps else steps)))
        for allowed in (own, configured):
            if allowed is not None and (below := allowed.steps_to(given)) is not None:
                return _BackupFolder(allowed.root, (*allowed.steps, *below))
        raise Forbidden(
            "The destination is outside the backup directory.",
            hint="Set backup.destination (KM_BACKUP_DEST_PATH) to use another directory.",
        )

    def _configured_folder(self) -> _BackupFolder | None:
        """The configured directory. Inside the project it is opened without following links, because the project may
        be a clone of somebody else's repository; a directory outside it was chosen by the user."""
        given = self.settings.destination
        if given is None:
            return None
        parts = tuple(part for part in given.split("/") if part not in ("", "."))
        if given.startswith(("/", "~")) or ".." in parts:
            return _BackupFolder(Path(os.path.normpath(self.settings.project / Path(given).expanduser())), ())
        return _BackupFolder(self.settings.project, parts)

    @contextmanager
    def _open_folder(self, target: _BackupFolder) -> Iterator[int]:
        if not target.root.exists():
            make_folders(target.root, mode=0o700)
        top = open_folder(target.root)
        try:
            folder = open_nested_folder(top, target.steps, make=True, mode=0o700)
        finally:
            os.close(top)
        try:
            yield folder
        finally:
            os.close(folder)

    # Creating an archive

    ##= docs/spec/gateway.md#creating-a-backup
    ##% A failed backup MUST leave nothing behind.
    @contextmanager
    def _staging(self) -> Iterator[Path]:
        """A temporary directory for the copies. Only the holder of the lease has one, so any other is left over from a
        crash."""
        with self._open_folder(_BackupFolder(self.settings.state_dir, ("backups",))):
            folder = self.settings.state_dir / "backups"
        for leftover in folder.glob(f"{_STAGING}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        staging = folder / f"{_STAGING}{secrets.token_hex(8)}"
        staging.mkdir(mode=0o700)
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _write(self, staging: Path, folder: int, target: _BackupFolder) -> Backup:
        now = self._clock()
        manifest = self._stage(staging, now)
        with new_file(folder, mode=0o600) as new:
            write_archive(new.stream, manifest, staging, now)
            name = _publish_archive(new, now)
        path = target.path / name
        size, digest = digest_of(path)
        return Backup(path, self._display_path(path), size, manifest, digest)

    ##= docs/spec/gateway.md#creating-a-backup
    ##% An archive MUST NOT contain tokens or the files of the project.
    def _stage(self, staging: Path, now: float) -> Manifest:
        from contextive.store.sqlite.database_copy import copy_database, indexed_files, read_facts

        database = staging / DATABASE
        copy_database(self.settings.state_dir / DATABASE, database)
        facts = read_facts(database)
        count = 0
        with (staging / CONTENT).open("w", encoding="utf-8") as listing:
            for path, size, digest in indexed_files(database):
                listing.write(json.dumps({"path": path, "size": size, "digest": digest}) + "\n")
                count += 1
        names = [DATABASE, CONTENT, *kept_files(self.settings.state_dir)]
        for name in names[2:]:
            (staging / name).parent.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(self.settings.state_dir / name, staging / name, follow_symlinks=False)
        return Manifest(
            created_at=datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
            version=__version__,
            origin=self._origin(),
            schema_version=facts.schema_version,
            generation=facts.generation,
            counts=facts.counts,
            content_files=count,
            files=tuple(Member(name, *digest_of(staging / name)) for name in names),
        )

    # Retention

    ##= docs/spec/gateway.md#creating-a-backup
    ##% The newest `backup.retention` archives of the project MUST be kept, and archives of other projects left
    ##% untouched.
    def _prune(self, target: _BackupFolder, newest: str) -> Iterator[str]:
        if self.settings.retention:
            for old in list(self._existing(target))[self.settings.retention :]:
                if old.path.name != newest:
                    with suppress(OSError):
                        old.path.unlink()
                        yield old.path.name

    def _existing(self, target: _BackupFolder) -> Iterator[Backup]:
        """Archives of this state directory: a backup directory may contain those of several projects."""
        try:
            found = [entry for entry in target.path.iterdir() if _NAME.fullmatch(entry.name) and not entry.is_symlink()]
        except OSError:
            return
        for path in sorted(found, key=_sort_key, reverse=True):
            with suppress(ContextiveError, OSError):
                manifest = read_manifest(path)
                if manifest.origin == self._origin():
                    yield Backup(path, self._display_path(path), path.stat().st_size, manifest)

    def _origin(self) -> str:
        return hashlib.sha256(os.fsencode(os.path.realpath(self.settings.state_dir))).hexdigest()[:16]

    def _display_path(self, path: Path) -> str:
        for base in (self.settings.state_dir, self.settings.project):
            if path.is_relative_to(base):
                return path.relative_to(base).as_posix()
        return path.name


@dataclass(frozen=True, slots=True)
class _BackupFolder:
    """A directory: a configured root and the folder names below it, which are opened without following links."""

    root: Path
    steps: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.steps)

    def steps_to(self, absolute: str) -> tuple[str, ...] | None:
        """The folder names from here down to a directory; None if it is not below this one or a name is not allowed."""
        for base in (self.path, Path(os.path.realpath(self.path))):
            wanted = Path(absolute)
            if wanted.is_relative_to(base):
                below = wanted.relative_to(base).parts
                return below if all(_PART.fullmatch(part) for part in below) else None
        return None


def _publish_archive(new: NewFile, now: float) -> str:
    """Publish the archive under a name with the UTC time. Further archives in the same second get a number."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S")
    for number in range(1, _MAX_PER_SECOND):
        name = f"km-backup-{stamp}.tgz" if number == 1 else f"km-backup-{stamp}-{number}.tgz"
        with suppress(FileExistsError):
            new.publish(name, overwrite=False)
            return name
    raise Unavailable("Too many backups were created in this second.", hint="Try again.")


def _sort_key(path: Path) -> tuple[str, int]:
    found = _NAME.fullmatch(path.name)
    assert found is not None
    return found[1], int(found[2] or 1)


def _translate_os_error(failure: OSError) -> ContextiveError:
    return Unavailable(
        f"The backup cannot be written: {failure.strerror or 'the operating system refused it'}.",
        hint="Check that the backup directory is not a link, is writable, and has free space.",
    )
