"""A project with a store that contains rows of every kind, and its backups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contextive.store import open_store
from contextive.store.backup import Backups, BackupSettings
from contextive.store.protocol import Store
from contextive.store.values import AuditEntry, Report, Run, SearchEvent, Vote

from .samples import embed, parsed, put

START = 1_760_000_000.0


class Clock:
    """A clock that advances by one second on every call."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        self.now += 1
        return self.now


class BackupProject:
    """A project with a store and its backups."""

    def __init__(self, project: Path, **settings: Any) -> None:
        self.project = project
        self.state = project / "state"
        self.opened: Store | None = None
        self.backups = Backups(BackupSettings(project, self.state, **settings), self.store, Clock())

    def store(self) -> Store:
        if self.opened is None:
            self.opened = open_store(self.state)
        return self.opened

    def close(self) -> None:
        if self.opened is not None:
            self.opened.close()
            self.opened = None


def fill(store: Store) -> None:
    put(store, parsed("docs/a.md", ["the tide comes in", "the tide goes out"]))
    put(store, parsed("docs/b.md", ["a boat"]))
    embed(store)
    with store.transaction() as writer:
        writer.put_run(Run("run1", "manual", START, 1.0, True, {"doc": 2}, 2, 3))
        writer.put_report(Report("coverage", START, "run1", {"x": 1}), 5)
        writer.put_events([SearchEvent("q1", START, 1, "tide", "docs/a.md::0", {})], 100)
        writer.put_vote(Vote("q1", "docs/a.md::0", "owner", 1.0, None, {}, START))
        writer.put_audit(AuditEntry(START, "owner", "km-storetext", {"relative_path": "docs/a.md"}))
