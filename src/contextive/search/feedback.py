"""Votes joined with the results they are about: as judgements for the evaluation, and as rows for export."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contextive.search.evaluation import Judgement
from contextive.store.protocol import Store
from contextive.store.values import SearchEvent, Vote
from contextive.workspace.secrets import contains_secret

REDACTED: Final = "[redacted]"
SOURCE_MANUAL: Final = "mcp.manual"
SOURCE_SEARCH: Final = "search"
_MAX_VOTES: Final = 100_000
_EXPORTED_FIELDS: Final = (
    "result_count", "artifact_path", "artifact_type", "subsystem", "vector_score", "lexical_score", "adjusted_score",
    "signals", "graph_context_present",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class VotedResult:
    """A vote and the logged result that it is about."""

    vote: Vote
    event: SearchEvent | None
    """None if the search is no longer in the log."""


@dataclass(frozen=True, slots=True)
class VoteJudgements:
    """Judgements derived from votes, and how many votes and queries were left out."""

    judgements: tuple[Judgement, ...]
    votes: int
    without_search: int
    """Votes whose search is no longer in the log, so their query is unknown."""
    without_answer: int
    """Queries without any result that was voted up."""


def read_votes(store: Store) -> list[VotedResult]:
    """Every vote, joined with its logged result by request and chunk."""
    events: dict[str, dict[str, SearchEvent]] = {}
    voted = []
    for vote in store.records.votes(_MAX_VOTES):
        if vote.request_id not in events:
            events[vote.request_id] = {event.chunk_id: event for event in store.records.events(vote.request_id)}
        voted.append(VotedResult(vote, events[vote.request_id].get(vote.chunk_id)))
    return voted


def judgements_from_votes(voted: Sequence[VotedResult], known_chunks: Collection[str]) -> VoteJudgements:
    """One judgement per query. The grade of a result is the mean of its votes, and must be above 0.

    A chunk that no longer exists (not in `known_chunks`) is replaced by its file.
    """
    votes_by_query: dict[str, dict[str, list[float]]] = {}
    queries: dict[str, str] = {}
    counted = lost = 0
    for each in voted:
        if each.vote.vote is None:
            continue
        counted += 1
        if each.event is None:
            lost += 1
            continue
        key = " ".join(each.event.query.casefold().split())
        queries.setdefault(key, each.event.query)
        chunk_id = each.vote.chunk_id
        name = chunk_id if chunk_id in known_chunks else chunk_id.rpartition("::")[0] or chunk_id
        votes_by_query.setdefault(key, {}).setdefault(name, []).append(each.vote.vote)
    judgements = []
    for key, votes_by_name in votes_by_query.items():
        means = {name: sum(votes) / len(votes) for name, votes in votes_by_name.items()}
        grades = {name: mean for name, mean in means.items() if mean > 0}
        if grades:
            judgements.append(Judgement(queries[key], grades))
    return VoteJudgements(tuple(judgements), counted, lost, len(votes_by_query) - len(judgements))


def judgements_from_store(store: Store) -> VoteJudgements:
    """The judgements from all votes in a store."""
    voted = read_votes(store)
    known = store.files.chunks_by_id(sorted({each.vote.chunk_id for each in voted}))
    return judgements_from_votes(voted, known.keys())


##= docs/spec/commands.md#feedback-export
##% The command `feedback export` MUST write one row for each vote, without notes, voter names or secrets.
##= docs/spec/commands.md#feedback-export
##% With `--redact-queries`, an export MUST contain no queries.
def export_rows(
    voted: Iterable[VotedResult],
    events: Iterable[SearchEvent] = (),
    *,
    secrets: Collection[str] = (),
    with_queries: bool = True,
) -> Iterator[dict[str, Any]]:
    """Rows for export: without notes, context and names, and without any text that contains a secret.

    `events` are searched for votes that came with a search request and apply to its whole answer.
    """
    names = _Pseudonyms("voter")
    queries = _Pseudonyms("query")

    def row(source: str, event: SearchEvent | None, voter: str | None, facts: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {"source": source, **facts, "voter": names.of(voter) if voter is not None else None}
        if event is not None:
            fields |= {
                "query_id": queries.of(event.query),
                "query": event.query if with_queries else REDACTED,
                "rank": event.rank,
                **{key: event.body.get(key) for key in _EXPORTED_FIELDS},
            }
        return {key: _redacted(value, secrets) for key, value in fields.items()}

    for each in voted:
        vote = each.vote
        facts = {
            "request_id": vote.request_id,
            "chunk_id": vote.chunk_id,
            "timestamp": vote.timestamp,
            "vote": vote.vote,
            "has_note": bool(vote.note),
        }
        yield row(SOURCE_MANUAL, each.event, vote.caller, facts)
    for event in events:
        feedback = event.body.get("context", {}).get("feedback")
        if isinstance(feedback, dict) and feedback.get("vote") is not None:
            facts = {
                "request_id": event.request_id,
                "chunk_id": event.chunk_id,
                "timestamp": event.timestamp,
                "vote": feedback["vote"],
                "has_note": bool(feedback.get("note")),
            }
            yield row(SOURCE_SEARCH, event, None, facts)


class _Pseudonyms:
    """Replaces each name by a number."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        return self._known.setdefault(name, f"{self._kind}-{len(self._known) + 1}")


def _redacted(value: Any, secrets: Collection[str]) -> Any:
    match value:
        case str():
            return REDACTED if contains_secret(value) or any(secret in value for secret in secrets) else value
        case dict():
            return {key: _redacted(item, secrets) for key, item in value.items()}
        case _:
            return value
