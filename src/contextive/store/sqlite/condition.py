"""The condition of the index in a state directory, for health checks. Creates, changes and repairs nothing."""

from __future__ import annotations

import contextlib
import errno
import json
import sqlite3
import time
from dataclasses import asdict
from pathlib import Path

from contextive.store.disk_probe import write_error
from contextive.store.sqlite.directory import StateDirectory
from contextive.store.sqlite.faults import EXCEPTIONS, Fault, error_for, fault_of
from contextive.store.sqlite.inspection import Inspection, Kind, connect, inspect, is_system_error
from contextive.store.values import ConditionCode, Repair, StoreCondition

STATE_REPAIR = "repair"
"""Key of the last repair in the `state` table. A rebuild removes it with all other facts."""
_REPORTED_SECONDS = 7 * 86_400.0
_CODES: dict[Kind, ConditionCode] = {
    "empty": "empty",
    "not_a_file": "not_a_file",
    "unknown": "unknown_schema",
    "newer": "newer_schema",
    "damaged": "damaged",
}
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


##= docs/spec/knowledge.md#store
##% An unusable index MUST be reported with what to do: an empty file, something that is not a file, and a schema that
##% is newer or unknown.
def condition_of(state_dir: Path) -> StoreCondition:
    """Whether the index can be used, and what to do if not. Takes one or two milliseconds, and changes nothing."""
    directory = StateDirectory(state_dir, read_only=True)
    try:
        found, repair = _inspect_directory(directory)
    except EXCEPTIONS as error:
        # If the disk is full, the log of the database cannot be read either; the full disk is the better message.
        return _unwritable(state_dir) or _refused_condition(error)
    if found.kind in _CODES:
        return StoreCondition(False, _CODES[found.kind], found.message, found.hint)
    unwritable = _unwritable(state_dir)
    if unwritable is not None:
        return unwritable
    if found.kind == "absent":
        return StoreCondition(True, "absent", found.message, found.hint)
    if repair is not None and repair.lost != 0:
        hint = "Restore a backup with contextive-mcp restore. To dismiss this message, run contextive-mcp rebuild."
        return StoreCondition(False, "repaired", repair.message, hint)
    return StoreCondition(True, "ok", repair.message if repair is not None else "")


def recent_repair(connection: sqlite3.Connection) -> Repair | None:
    """The last repair of the index, if it was in the last week and no rebuild has removed it."""
    row = connection.execute("SELECT value FROM state WHERE key = ?", (STATE_REPAIR,)).fetchone()
    if row is None:
        return None
    with contextlib.suppress(ValueError, TypeError):
        repair = Repair(**json.loads(row[0]))
        return repair if time.time() - repair.at < _REPORTED_SECONDS else None
    return None


def write_repair(connection: sqlite3.Connection, repair: Repair) -> None:
    """Record a repair in the index: as a fact for health checks, and in the audit log."""
    body = json.dumps(asdict(repair), ensure_ascii=False)
    connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (STATE_REPAIR, body))
    connection.execute(
        "INSERT INTO audit (timestamp, caller, tool, body) VALUES (?, ?, ?, ?)",
        (repair.at, "contextive", "repair", body),
    )


def _inspect_directory(directory: StateDirectory) -> tuple[Inspection, Repair | None]:
    if directory.is_marked_damaged():
        return Inspection("damaged"), None
    found = inspect(directory.database)
    if found.kind != "ready":
        return found, None
    has_log = directory.database.with_name(f"{directory.database.name}-wal").exists()
    with contextlib.closing(connect(directory.database, immutable=not has_log)) as connection:
        return found, recent_repair(connection)


def _refused_condition(error: Exception) -> StoreCondition:
    fault = fault_of(error)
    if fault is None or not is_system_error(error):
        found = Inspection("damaged")
        return StoreCondition(False, "damaged", found.message, found.hint)
    codes: dict[Fault, ConditionCode] = {Fault.BUSY: "busy", Fault.FULL: "full"}
    reported = error_for(fault)
    return StoreCondition(False, codes.get(fault, "unreachable"), reported.message, reported.hint or "")


def _unwritable(state_dir: Path) -> StoreCondition | None:
    """Why the state directory cannot be written; None if it can, or if it does not exist yet."""
    error = write_error(state_dir) if state_dir.exists() else None
    if error is None:
        return None
    hint = "Free some space, or set store.statePath to a directory that can be written."
    if error.errno in _FULL:
        return StoreCondition(False, "full", "The disk of the state directory is full.", hint)
    if error.errno in _READ_ONLY:
        return StoreCondition(False, "read_only", "The state directory is read-only.", hint)
    return _refused_condition(error)
