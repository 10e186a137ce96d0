"""Kept rows: runs, reports, events, votes and the audit log."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from contextive.store.protocol import Store, Writer
from contextive.store.sqlite.store import SqliteStore
from contextive.store.values import AuditEntry, Report, Run, SearchEvent, Vote

from .conftest import StoreFactory


def test_runs_are_listed_newest_first_and_putting_a_run_again_updates_it(
    store: Store, store_factory: StoreFactory
) -> None:
    first = Run("r1", "local", 1.0, 2.0, True, {"doc": 3}, 3, 9, "head", ({"path": "x"},), {"binary": 2}, None, 5.0)
    second = Run("r2", "ci", 2.0, 0.5, False, error="broken", created_at=6.0)
    with store.transaction() as writer:
        writer.put_run(first)
        writer.put_run(second)
        writer.put_run(Run("r1", "local", 1.0, 9.0, True, created_at=5.0))
    other = store_factory()
    assert [run.run_id for run in other.records.runs(10)] == ["r2", "r1"]
    assert other.records.runs(1) == (second,)
    assert other.records.runs(10, "local")[0].duration_seconds == 9.0
    with store.transaction() as writer:
        writer.put_run(first)
    assert store.records.runs(10, "local") == (first,)


def test_reports_keep_the_newest_of_each_kind(store: Store) -> None:
    with store.transaction() as writer:
        for number in range(5):
            writer.put_report(Report("coverage", float(number), f"r{number}", {"n": number}), keep=3)
        writer.put_report(Report("lifecycle", 9.0, "r9", {}), keep=1)
    assert [report.body["n"] for report in store.records.reports("coverage", 10)] == [4, 3, 2]
    assert len(store.records.reports("coverage", 1)) == 1
    assert store.records.reports("lifecycle", 10) == (Report("lifecycle", 9.0, "r9", {}),)


def test_only_the_newest_events_are_kept_and_they_are_found_by_request(store: Store) -> None:
    events = [
        SearchEvent(f"q{number // 2}", float(number), number % 2, "words", "a::0", {"s": 0.5}) for number in range(8)
    ]
    with store.transaction() as writer:
        writer.put_events(events[:6], keep=4)
        writer.put_events(events[6:], keep=4)
    assert store.records.events() == tuple(events[4:])
    assert store.records.events("q3") == tuple(events[6:])
    assert store.records.events(limit=1) == (events[-1],)
    assert store.records.events("q0") == ()


def test_dropping_old_events_does_not_get_slower_with_every_vote(tmp_path: Path) -> None:
    def search(number: int, writer: Writer) -> None:
        writer.put_events([SearchEvent(f"q{number}", float(number), 1, "words", "a::0", {})], keep=5)

    def steps(number: int) -> int:
        steps_taken = 0

        def count() -> int:
            nonlocal steps_taken
            steps_taken += 1
            return 0

        with store.transaction() as writer:
            connection = writer._connection
            assert isinstance(connection, sqlite3.Connection)
            connection.set_progress_handler(count, 1)
            search(number, writer)
            connection.set_progress_handler(None, 1)
        return steps_taken

    store = SqliteStore(tmp_path)
    with store.transaction() as writer:
        for number in range(10):
            search(number, writer)
    few = steps(10)
    for number in range(11, 500):
        with store.transaction() as writer:
            search(number, writer)
            writer.put_vote(Vote(f"q{number}", "a::0", "me", 1.0, None, {}, 1.0))
    many = steps(500)
    store.close()
    assert many < few + 100


def test_a_lower_limit_for_events_applies_with_the_next_search(store: Store, store_factory: StoreFactory) -> None:
    events = [SearchEvent(f"q{number}", float(number), 1, "words", "a::0", {}) for number in range(10)]
    for event in events[:8]:
        with store.transaction() as writer:
            writer.put_events([event], keep=6)
    for opened_store, event in ((store, events[8]), (store_factory(), events[9])):
        with opened_store.transaction() as writer:
            writer.put_events([event], keep=3)
    assert store.records.events() == tuple(events[7:])


def test_old_events_are_dropped_after_a_rolled_back_transaction(store: Store) -> None:
    events = [SearchEvent(f"q{number}", float(number), 1, "words", "a::0", {}) for number in range(6)]
    with store.transaction() as writer:
        writer.put_events(events[:5], keep=5)
    with suppress(ZeroDivisionError), store.transaction() as writer:
        writer.put_events(events[5:], keep=1)
        raise ZeroDivisionError
    with store.transaction() as writer:
        assert writer.put_events(events[5:], keep=2) == 4
    assert store.records.events() == tuple(events[4:])


##= docs/spec/gateway.md#km-feedback-submit
##% A later vote by the same caller on the same result MUST replace the earlier one.
def test_a_later_vote_by_the_same_caller_replaces_the_earlier_one(store: Store) -> None:
    first = Vote("q", "a::0", "me", 1.0, "good", {"task": "x"}, 1.0)
    other = Vote("q", "a::0", "you", None, None, {}, 2.0)
    changed = Vote("q", "a::0", "me", -1.0, None, {}, 3.0)
    with store.transaction() as writer:
        for vote in (first, other, changed):
            writer.put_vote(vote)
    assert store.records.votes() == (other, changed)
    assert store.records.votes(1) == (changed,)


def test_audit_entries_are_listed_newest_first(store: Store) -> None:
    entries = [AuditEntry(float(number), "me", "storetext", {"path": f"n{number}", "ü": None}) for number in range(3)]
    with store.transaction() as writer:
        for entry in entries:
            writer.put_audit(entry)
    assert store.records.audit(2) == (entries[2], entries[1])


def test_writing_only_kept_rows_does_not_create_a_generation(store: Store) -> None:
    before = store.generation()
    with store.transaction() as writer:
        writer.put_audit(AuditEntry(1.0, "me", "tool", {}))
        writer.put_vote(Vote("q", "a::0", "me", 1.0, None, {}, 1.0))
    assert store.generation() == before
