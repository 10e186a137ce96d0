"""Votes joined with search results: as judgements, and as exported rows without private data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.search.feedback import (
    REDACTED,
    VotedResult,
    export_rows,
    judgements_from_store,
    judgements_from_votes,
    read_votes,
)
from contextive.store import open_store
from contextive.store.values import SearchEvent, Vote

SECRET = "ghp_" + "a1" * 18
TOKEN = "a-configured-token-0123456789"


def event(request: str, chunk: str, query: str = "when is high tide", **context: object) -> SearchEvent:
    return SearchEvent(request, 100.0, 1, query, chunk, {"artifact_path": chunk.partition("::")[0], "context": context})


def vote(request: str, chunk: str, value: float | None, caller: str = "token:mia", note: str | None = None) -> Vote:
    return Vote(request, chunk, caller, value, note, {"task": "a private one"}, 200.0)


def voted(request: str, chunk: str, value: float | None, query: str, caller: str = "token:mia") -> VotedResult:
    return VotedResult(vote(request, chunk, value, caller), event(request, chunk, query))


def test_votes_are_joined_with_their_result_by_request_and_chunk(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as writer:
        writer.put_events([event("r1", "a.md::0"), event("r1", "a.md::1"), event("r2", "a.md::0", "another")], 100)
        for each in (vote("r1", "a.md::1", 1), vote("r2", "a.md::0", -1), vote("r3", "a.md::0", 1)):
            writer.put_vote(each)
    found = {(each.vote.request_id, each.vote.chunk_id): each.event for each in read_votes(store)}
    store.close()
    assert found[("r1", "a.md::1")] == event("r1", "a.md::1")
    assert found[("r2", "a.md::0")] == event("r2", "a.md::0", "another")
    assert found[("r3", "a.md::0")] is None


##= docs/spec/commands.md#feedback-export
##% Searches that have votes MUST stay in the log when older searches are dropped.
def test_a_search_with_a_vote_stays_in_the_log_when_others_are_dropped(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as writer:
        writer.put_events([event("old", "a.md::0"), event("older", "b.md::0")], 100)
        writer.put_vote(vote("old", "a.md::0", 1))
        assert writer.put_events([event(f"new-{n}", "c.md::0") for n in range(5)], 3) == 3
    kept = [each.request_id for each in store.records.events()]
    derived = judgements_from_store(store)
    store.close()
    assert kept == ["old", "new-2", "new-3", "new-4"]
    assert [(one.query, dict(one.grades)) for one in derived.judgements] == [("when is high tide", {"a.md": 1.0})]


def test_a_grade_is_the_mean_of_the_votes_and_results_voted_down_have_none() -> None:
    known = {"a.md::0", "a.md::1", "b.md::0"}
    derived = judgements_from_votes(
        [
            voted("r1", "a.md::0", 1.0, "High  tide"),
            voted("r2", "a.md::0", 0.5, "high tide", "token:leo"),
            voted("r1", "a.md::1", -1.0, "High  tide"),
            voted("r1", "gone.md::4", 1.0, "High  tide"),
            voted("r3", "b.md::0", -1.0, "low tide"),
            voted("r4", "b.md::0", None, "no opinion"),
            VotedResult(vote("r9", "b.md::0", 1.0), None),
        ],
        known,
    )
    assert [(one.query, dict(one.grades)) for one in derived.judgements] == [
        ("High  tide", {"a.md::0": 0.75, "gone.md": 1.0})
    ]
    assert (derived.votes, derived.without_search, derived.without_answer) == (6, 1, 1)


@pytest.mark.parametrize("with_queries", [True, False])
def test_exported_rows_have_votes_but_no_names_or_notes(with_queries: bool) -> None:
    votes = [
        VotedResult(vote("r1", "a.md::0", 1, note="because Mia said so"), event("r1", "a.md::0")),
        VotedResult(vote("r2", "a.md::0", 0.5), event("r2", "a.md::0", "another")),
        VotedResult(vote("r1", "a.md::1", -1, "token:leo"), event("r1", "a.md::1")),
    ]
    rows = list(export_rows(votes, with_queries=with_queries))
    text = json.dumps(rows)
    assert not [word for word in ("mia", "Mia", "leo", "private") if word in text]
    assert [(row["voter"], row["query_id"], row["vote"], row["has_note"]) for row in rows] == [
        ("voter-1", "query-1", 1, True),
        ("voter-1", "query-2", 0.5, False),
        ("voter-2", "query-1", -1, False),
    ]
    assert {row["query"] for row in rows} == ({"when is high tide", "another"} if with_queries else {REDACTED})


def test_a_vote_sent_with_a_search_is_a_row_for_each_of_its_results() -> None:
    events = [event("r1", "a.md::0", feedback={"vote": 1, "note": "mine"}), event("r2", "a.md::0")]
    [row] = export_rows([], events)
    assert (row["source"], row["request_id"], row["vote"], row["has_note"]) == ("search", "r1", 1, True)
    assert "mine" not in json.dumps(row)


##= docs/spec/commands.md#feedback-export
##% The command `feedback export` MUST write one row for each vote, without notes, voter names or secrets.
@given(
    before=st.text(max_size=20).filter(lambda text: not text or not (text[-1].isalnum() or text[-1] == "_")),
    after=st.text(max_size=20),
    secret=st.sampled_from([SECRET, TOKEN, "-----BEGIN PRIVATE KEY-----\nMIIabc"]),
)
def test_no_exported_row_contains_a_secret(before: str, after: str, secret: str) -> None:
    query = before + secret + after
    rows = [VotedResult(vote(query, query, 1, note=query), event(query, query, query, feedback={"vote": 1}))]
    found = json.dumps(list(export_rows(rows, [rows[0].event] if rows[0].event else [], secrets=[TOKEN])))
    assert secret.split("\n")[-1] not in found
    assert REDACTED in found
