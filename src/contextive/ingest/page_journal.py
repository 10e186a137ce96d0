"""Keeps what a change of pages replaces, and records who changed them.

Earlier texts are files in the state directory: `pages/<time>/<path of the page>`. They are removed after 30 days.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contextive.errors import Unavailable
from contextive.file_writing import write_file
from contextive.workspace.audit_log import AuditLog, make_state_folder

KEPT = timedelta(days=30)
_FOLDER = "pages"
_TIME = "%Y%m%dT%H%M%S%fZ"
_TIME_LENGTH = len("20260102T030405000000Z")


@dataclass(frozen=True, slots=True)
class PageVersion:
    """The text that a page had until `replaced_at`."""

    path: str
    replaced_at: datetime
    file: Path

    def text(self) -> str:
        return self.file.read_bytes().decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class PageJournal:
    """The earlier texts of pages and the log of changes, both in the state directory."""

    state: Path
    author: Mapping[str, str] = field(default_factory=dict)
    """Who makes the changes, for the log: caller, client and request."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    ##= docs/spec/notes.md#page-changes
    ##% The text that a page had before a change MUST be kept for 30 days.
    def keep(self, texts: Mapping[str, str]) -> None:
        """Keep the current texts of the pages that will be replaced or deleted. Raises if they cannot be kept."""
        if not texts:
            return
        try:
            folder = make_state_folder(self.state, _FOLDER)
            _remove_before(folder, self.clock() - KEPT)
            entry = folder / f"{self.clock().strftime(_TIME)}-{secrets.token_hex(2)}"
            for path, text in texts.items():
                file = entry / path
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_file(file, text.encode("utf-8", "surrogateescape"), mode=0o600)
        except OSError as failure:
            reason = failure.strerror or "system error"
            raise Unavailable(f"The previous version cannot be kept: {reason}.", hint="Nothing was changed.") from None

    ##= docs/spec/notes.md#page-changes
    ##% Each change of pages MUST add one line with the caller and its client to the audit log of pages.
    def record(self, action: str, path: str, changed: Iterable[str] = ()) -> None:
        """Add a line to the audit log."""
        others = sorted(set(changed) - {path})
        line = {"time": self.clock().isoformat(timespec="milliseconds"), "action": action, "path": path, **self.author}
        AuditLog(self.state, "pages").append({**line, "also_changed": others} if others else line)

    def versions(self) -> list[PageVersion]:
        """The earlier texts that are kept, newest first."""
        folder = self.state / _FOLDER
        found = []
        for entry in sorted(folder.iterdir(), reverse=True) if folder.is_dir() else ():
            if (at := _time_of(entry)) is not None and at >= self.clock() - KEPT:
                files = sorted(file for file in entry.rglob("*") if file.is_file() and not file.is_symlink())
                found += [PageVersion(file.relative_to(entry).as_posix(), at, file) for file in files]
        return found


def _remove_before(folder: Path, limit: datetime) -> None:
    for entry in folder.iterdir():
        at = _time_of(entry)
        if at is not None and at < limit:
            shutil.rmtree(entry, ignore_errors=True)


def _time_of(entry: Path) -> datetime | None:
    try:
        return datetime.strptime(entry.name[:_TIME_LENGTH], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
