"""What only the store holds."""

from __future__ import annotations

from contextive.store.protocol import Store
from contextive.store.values import AuditEntry, Report, Run, SearchEvent, Vote

from .conftest import StoreFactory


def test_runs_come_newest_first_and_a_run_that_is_put_again_is_renewed(
    store: Store, store_factory: StoreFactory
) -> None:
    first = Run("r1", "local", 1.0, 2.0, True, {"doc": 3}, 3, 9, "head", ({"path": "x"},), {"binary": 2}, None, 5.0)
    second = Run("r2", "ci", 2.0, 0.5, False, error="broken", created_at=6.0)
    with store.transaction() as writer:
        writer.put_run(first)
        writer.put_run(second)
        writer.put_run(Run("r1", "local", 1.0, 9.0, True, created_at=5.0))
    other = store_factory()
    assert [run.run_id for run in other.runs(10)] == ["r2", "r1"]
    assert other.runs(1) == (second,)
    assert other.runs(10, "local")[0].duration_seconds == 9.0
    with store.transaction() as writer:
        writer.put_run(first)
    assert store.runs(10, "local") == (first,)


def test_reports_keep_the_newest_of_each_kind(store: Store) -> None:
    with store.transaction() as writer:
        for number in range(5):
            writer.put_report(Report("coverage", float(number), f"r{number}", {"n": number}), keep=3)
        writer.put_report(Report("lifecycle", 9.0, "r9", {}), keep=1)
    assert [report.body["n"] for report in store.reports("coverage", 10)] == [4, 3, 2]
    assert len(store.reports("coverage", 1)) == 1
    assert store.reports("lifecycle", 10) == (Report("lifecycle", 9.0, "r9", {}),)


def test_events_are_kept_up_to_a_number_and_found_by_request(store: Store) -> None:
    events = [
        SearchEvent(f"q{number // 2}", float(number), number % 2, "words", "a::0", {"s": 0.5}) for number in range(8)
    ]
    with store.transaction() as writer:
        writer.put_events(events[:6], keep=4)
        writer.put_events(events[6:], keep=4)
    assert store.events() == tuple(events[4:])
    assert store.events("q3") == tuple(events[6:])
    assert store.events(limit=1) == (events[-1],)
    assert store.events("q0") == ()


##= docs/spec/gateway.md#km-feedback-submit
##% A later vote of the same caller on the same result MUST replace the first.
def test_a_later_vote_of_the_same_caller_replaces_the_earlier(store: Store) -> None:
    first = Vote("q", "a::0", "me", 1.0, "good", {"task": "x"}, 1.0)
    other = Vote("q", "a::0", "you", None, None, {}, 2.0)
    changed = Vote("q", "a::0", "me", -1.0, None, {}, 3.0)
    with store.transaction() as writer:
        for vote in (first, other, changed):
            writer.put_vote(vote)
    assert store.votes() == (other, changed)
    assert store.votes(1) == (changed,)


def test_the_audit_trail_comes_newest_first(store: Store) -> None:
    entries = [AuditEntry(float(number), "me", "storetext", {"path": f"n{number}", "ü": None}) for number in range(3)]
    with store.transaction() as writer:
        for entry in entries:
            writer.put_audit(entry)
    assert store.audit(2) == (entries[2], entries[1])


def test_kept_rows_alone_make_no_generation(store: Store) -> None:
    before = store.generation()
    with store.transaction() as writer:
        writer.put_audit(AuditEntry(1.0, "me", "tool", {}))
        writer.put_vote(Vote("q", "a::0", "me", 1.0, None, {}, 1.0))
    assert store.generation() == before
