"""Makes a database ready for use: creates it, migrates it, or rebuilds a damaged one with the rows that can be read.

A new database appears under its name in one step, complete. Many processes may call `make_ready` and
`replace_unusable` at the same time: a lock lets one of them work at a time, and a database that another process has
created meanwhile is never overwritten.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from contextive.errors import Unavailable
from contextive.file_writing import NO_HARD_LINKS, sync_folder
from contextive.store.sql.locks import FileLock
from contextive.store.sqlite import faults, salvage, schema
from contextive.store.sqlite.condition import write_repair
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.sqlite.inspection import Inspection, connect, find_damage, inspect, is_system_error
from contextive.store.values import Repair
from contextive.workspace.directory_handles import identity_of

_NEW_PREFIX = ".index.db.new-"
_log = logging.getLogger("contextive.store")


class Unusable(Unavailable):
    """There is something at the path of the database that a server does not touch."""

    def __init__(self, found: Inspection) -> None:
        super().__init__(found.message, hint=found.hint)


##= docs/spec/knowledge.md#store
##% A database with a newer schema MUST be refused and left unchanged.
def refuse_unusable(found: Inspection) -> None:
    """Raise `Unusable` for a database that only `contextive-mcp rebuild` may replace."""
    if found.kind in ("newer", "unknown", "empty", "not_a_file"):
        raise Unusable(found)


def make_ready(directory: StateDirectory, wait_seconds: float) -> None:
    """Create, migrate or rebuild the database if it is not ready, and create the state directory if it is missing."""
    directory.prepare()
    found = _inspect(directory)
    refuse_unusable(found)
    if found.kind == "ready":
        return
    with _opening_lock(directory, wait_seconds) as lock:
        found = _inspect(directory)
        refuse_unusable(found)
        if found.kind == "absent":
            # A log without a database belongs to a database that was removed.
            salvage.remove_journals(directory.database)
            _create(directory, None, lock)
        elif found.kind == "damaged" or (found.kind == "older" and not _migrate(directory.database)):
            repair = _rebuild(directory, faults.Damaged().message, lock)
            _log.warning(
                "%s", repair.message, extra={"contextive_fields": {"saved": repair.saved, "lost": repair.lost}}
            )


##= docs/spec/knowledge.md#store
##% The command `rebuild` MUST replace whatever is at the path of the database, after renaming it.
def replace_unusable(directory: StateDirectory, wait_seconds: float) -> Repair | None:
    """Rebuild a database that cannot be used, after reading all of it; None for an intact one."""
    directory.prepare()
    with _opening_lock(directory, wait_seconds) as lock:
        found = _inspect(directory)
        if found.kind == "absent":
            return None
        if found.kind == "ready":
            if not is_damaged(directory.database):
                return None
            found = Inspection("damaged", found.version)
        if found.kind == "older":
            return None
        return _rebuild(directory, found.message, lock)


def is_damaged(path: Path, *, immutable: bool = False, with_keys: bool = False) -> bool:
    """Whether the pages or values of a database are damaged, or with `with_keys` its foreign keys. Reads all of
    it."""
    try:
        with contextlib.closing(connect(path, immutable=immutable)) as connection:
            damage = find_damage(connection, with_keys=with_keys)
        if damage is None and salvage.has_unreadable_rows(path):
            damage = "a kept row cannot be read"
    except faults.EXCEPTIONS as error:
        if is_system_error(error):
            raise
        damage = type(error).__name__
    if damage is not None:
        _log.warning("the index is damaged: %s", damage)
    return damage is not None


def _inspect(directory: StateDirectory) -> Inspection:
    """The state of the database. One that was renamed and not rebuilt yet counts as damaged."""
    if directory.is_marked_damaged():
        return Inspection("damaged")
    return inspect(directory.database)


def _migrate(path: Path) -> bool:
    """Migrate a database to the latest schema; False if it is damaged."""
    try:
        with contextlib.closing(connect(path, "rw")) as connection:
            schema.migrate(connection)
    except faults.EXCEPTIONS as error:
        if is_system_error(error):
            raise
        return False
    return True


@contextlib.contextmanager
def _opening_lock(directory: StateDirectory, wait_seconds: float) -> Iterator[FileLock]:
    lock = FileLock(directory.opening_lock)
    if not lock.acquire(wait_seconds):
        raise Unavailable("Another process is opening the index.", hint="Try again in a moment.")
    try:
        yield lock
    finally:
        lock.release()


def _rebuild(directory: StateDirectory, reason: str, lock: FileLock) -> Repair:
    """Rename the database, and build a new one with the kept rows that can be read from the old one.

    The damage marker stays until that is done. A process that finds the marker but no database continues with the
    renamed one.
    """
    if not directory.is_marked_damaged():
        directory.mark_damaged(identity_of(directory.database))
    renamed = salvage.set_aside(directory) or salvage.renamed_from(directory)
    repair = _create(directory, (renamed, reason), lock)
    assert repair is not None
    directory.damage_marker.unlink(missing_ok=True)
    salvage.remove_old(directory)
    return repair


def _create(directory: StateDirectory, source: tuple[Path | None, str] | None, lock: FileLock) -> Repair | None:
    """Build a database under a temporary name, and rename it when it is complete."""
    for leftover in directory.path.glob(f"{_NEW_PREFIX}*"):
        leftover.unlink(missing_ok=True)  # from a process that died: we hold the lock
    name = _NEW_PREFIX + secrets.token_hex(8)
    path = directory.path / name
    try:
        repair = _build(directory, path, source)
        if not lock.is_held:
            raise Unavailable("The state directory was removed while the index was being created.", hint="Try again.")
        _publish(path, directory.database)
        sync_folder(directory.path)
        return repair
    finally:
        salvage.remove_journals(path)
        path.unlink(missing_ok=True)


def _publish(path: Path, database: Path) -> None:
    """Give a finished database its name, unless it is taken: if the lock file was removed, two processes may each
    hold a lock."""
    try:
        os.link(path, database)
    except OSError as error:
        if database.exists() or error.errno not in NO_HARD_LINKS:
            raise
        path.rename(database)


def _build(directory: StateDirectory, path: Path, source: tuple[Path | None, str] | None) -> Repair | None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    repair = None
    with contextlib.closing(connect(path, "rw")) as connection:
        schema.migrate(connection)
        if source is not None:
            renamed, reason = source
            copied = salvage.SalvageResult(0, None)
            if renamed is not None:
                copied = salvage.copy_kept_rows(renamed, connection, path.with_name(f"{path.name}-old"))
            repair = Repair(
                time.time(), reason, copied.saved, copied.lost, renamed.name if renamed is not None else None
            )
            write_repair(connection, repair)
        _set_journal(connection, "DELETE" if directory.network_file_system() else "WAL")
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return repair


def _set_journal(connection: sqlite3.Connection, mode: str) -> None:
    connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()
