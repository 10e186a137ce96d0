"""Kept rows: runs, reports, search events, votes and the audit log."""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from contextive.store.sql.database import SqlConnection, SqlDatabase, handles_errors
from contextive.store.sql.rows import encode_json
from contextive.store.values import AuditEntry, Report, ReportKind, Run, SearchEvent, Vote


def put_run(connection: SqlConnection, run: Run) -> None:
    body = encode_json(dataclasses.asdict(run))
    connection.execute(
        "INSERT INTO run (run_id, profile, created_at, body) VALUES (?, ?, ?, ?) ON CONFLICT (run_id) DO UPDATE"
        " SET profile = excluded.profile, created_at = excluded.created_at, body = excluded.body",
        (run.run_id, run.profile, run.created_at, body),
    )


def put_report(connection: SqlConnection, report: Report, keep: int) -> None:
    connection.execute(
        "INSERT INTO report (kind, generated_at, run_id, body) VALUES (?, ?, ?, ?)",
        (report.kind, report.generated_at, report.run_id, encode_json(report.body)),
    )
    connection.execute(
        "DELETE FROM report WHERE kind = ?1 AND number NOT IN"
        " (SELECT number FROM report WHERE kind = ?1 ORDER BY number DESC LIMIT ?2)",
        (report.kind, keep),
    )


##= docs/spec/commands.md#feedback-export
##% Searches that have votes MUST stay in the log when older searches are dropped.
def put_events(
    connection: SqlConnection, events: Sequence[SearchEvent], keep: int, pruned_up_to: int
) -> tuple[int, int]:
    """Add events and drop old ones. Returns how many were dropped, and the number up to which only voted ones are
    left.

    `pruned_up_to` is that number from the previous call. Voted events are never dropped, so checking all of them each
    time would take longer with every vote.
    """
    (newest,) = connection.execute("SELECT coalesce(max(number), 0) FROM event").fetchone()
    connection.executemany(
        "INSERT INTO event (number, request_id, timestamp, rank, query, chunk_id, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (number, e.request_id, e.timestamp, e.rank, e.query, e.chunk_id, encode_json(e.body))
            for number, e in enumerate(events, newest + 1)
        ],
    )
    # Numbers only grow and the oldest are dropped first, so the newest `keep` are those above a number. Voted events
    # are kept, because a vote is useless without its query.
    last = max(newest + len(events) - keep, 0)
    dropped = connection.execute(
        "DELETE FROM event WHERE number > ? AND number <= ?"
        " AND NOT EXISTS (SELECT 1 FROM vote WHERE vote.request_id = event.request_id)",
        (pruned_up_to if pruned_up_to <= last else 0, last),
    )
    return dropped.rowcount, last


##= docs/spec/gateway.md#km-feedback-submit
##% A later vote by the same caller on the same result MUST replace the earlier one.
def put_vote(connection: SqlConnection, vote: Vote) -> None:
    # Deleted and not updated, so that the vote becomes the newest.
    connection.execute(
        "DELETE FROM vote WHERE request_id = ? AND chunk_id = ? AND caller = ?",
        (vote.request_id, vote.chunk_id, vote.caller),
    )
    connection.execute(
        "INSERT INTO vote (request_id, chunk_id, caller, vote, note, context, timestamp)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (vote.request_id, vote.chunk_id, vote.caller, vote.vote, vote.note, encode_json(vote.context), vote.timestamp),
    )


def put_audit(connection: SqlConnection, entry: AuditEntry) -> None:
    connection.execute(
        "INSERT INTO audit (timestamp, caller, tool, body) VALUES (?, ?, ?, ?)",
        (entry.timestamp, entry.caller, entry.tool, encode_json(entry.body)),
    )


class SqlRecords:
    """Reads kept rows."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    @handles_errors
    def runs(self, limit: int, profile: str | None = None) -> tuple[Run, ...]:
        rows = self._database.read(
            "SELECT body FROM run WHERE CAST(?1 AS TEXT) IS NULL OR profile = ?1 ORDER BY number DESC LIMIT ?2",
            (profile, limit),
        )
        return tuple(_decode_run(body) for (body,) in rows)

    @handles_errors
    def reports(self, kind: ReportKind, limit: int) -> tuple[Report, ...]:
        rows = self._database.read(
            "SELECT generated_at, run_id, body FROM report WHERE kind = ? ORDER BY number DESC LIMIT ?", (kind, limit)
        )
        return tuple(Report(kind, generated_at, run_id, json.loads(body)) for generated_at, run_id, body in rows)

    @handles_errors
    def events(self, request_id: str | None = None, limit: int = 10_000) -> tuple[SearchEvent, ...]:
        """The newest events, in chronological order."""
        where, values = ("WHERE request_id = ?", [request_id]) if request_id is not None else ("", [])
        rows = self._database.read(
            "SELECT request_id, timestamp, rank, query, chunk_id, body FROM event "
            f"{where} ORDER BY number DESC LIMIT ?",
            (*values, limit),
        )
        return tuple(
            SearchEvent(request, timestamp, rank, query, chunk_id, json.loads(body))
            for request, timestamp, rank, query, chunk_id, body in reversed(rows)
        )

    @handles_errors
    def event_bytes(self) -> int:
        rows = self._database.read(
            "SELECT coalesce(sum(length(query) + length(chunk_id) + length(body)), 0) FROM event"
        )
        return int(rows[0][0])

    @handles_errors
    def votes(self, limit: int = 10_000) -> tuple[Vote, ...]:
        """The newest votes, in chronological order."""
        rows = self._database.read(
            "SELECT request_id, chunk_id, caller, vote, note, context, timestamp FROM vote ORDER BY number DESC LIMIT ?",
            (limit,),
        )
        return tuple(
            Vote(request_id, chunk_id, caller, vote, note, json.loads(context), timestamp)
            for request_id, chunk_id, caller, vote, note, context, timestamp in reversed(rows)
        )

    @handles_errors
    def audit(self, limit: int) -> tuple[AuditEntry, ...]:
        rows = self._database.read(
            "SELECT timestamp, caller, tool, body FROM audit ORDER BY number DESC LIMIT ?", (limit,)
        )
        return tuple(AuditEntry(timestamp, caller, tool, json.loads(body)) for timestamp, caller, tool, body in rows)


def _decode_run(body: str) -> Run:
    facts = json.loads(body)
    facts["removed"] = tuple(facts["removed"])
    known = {field.name for field in dataclasses.fields(Run)}
    return Run(**{name: value for name, value in facts.items() if name in known})
