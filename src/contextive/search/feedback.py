"""Votes together with what they were about: questions with known answers to measure search by, and rows to hand on."""

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
    """A vote, and the result that it is about as the search showed it."""

    vote: Vote
    event: SearchEvent | None
    """None where the search is no longer in the log."""


@dataclass(frozen=True, slots=True)
class VoteJudgements:
    """What votes come to as questions with answers, and what had to be left out."""

    judgements: tuple[Judgement, ...]
    votes: int
    without_search: int
    """Votes whose search is no longer in the log, so that nobody knows the query."""
    without_answer: int
    """Queries of which no result was ever voted up."""


def read_votes(store: Store) -> list[VotedResult]:
    """Every vote, joined with its search by request and chunk."""
    shown: dict[str, dict[str, SearchEvent]] = {}
    found = []
    for vote in store.records.votes(_MAX_VOTES):
        if vote.request_id not in shown:
            shown[vote.request_id] = {event.chunk_id: event for event in store.records.events(vote.request_id)}
        found.append(VotedResult(vote, shown[vote.request_id].get(vote.chunk_id)))
    return found


def judgements_from_votes(voted: Sequence[VotedResult], known_chunks: Collection[str]) -> VoteJudgements:
    """Questions by what people asked. An answer's grade is the mean of its votes; what was voted down is no answer.

    A chunk that has gone since (not in `known_chunks`) stands for its file.
    """
    marks: dict[str, dict[str, list[float]]] = {}
    words: dict[str, str] = {}
    counted = lost = 0
    for each in voted:
        if each.vote.vote is None:
            continue
        counted += 1
        if each.event is None:
            lost += 1
            continue
        key = " ".join(each.event.query.casefold().split())
        words.setdefault(key, each.event.query)
        chunk_id = each.vote.chunk_id
        answer = chunk_id if chunk_id in known_chunks else chunk_id.rpartition("::")[0] or chunk_id
        marks.setdefault(key, {}).setdefault(answer, []).append(each.vote.vote)
    judgements = []
    for key, answers in marks.items():
        means = {answer: sum(votes) / len(votes) for answer, votes in answers.items()}
        grades = {answer: mean for answer, mean in means.items() if mean > 0}
        if grades:
            judgements.append(Judgement(words[key], grades))
    return VoteJudgements(tuple(judgements), counted, lost, len(marks) - len(judgements))


def judgements_from_store(store: Store) -> VoteJudgements:
    """The questions that the votes in a store come to."""
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
    """Rows to hand on: without notes, context and names, and without any text that holds a secret.

    `events` are looked through for votes that came with a search and speak of its whole answer.
    """
    names = _Pseudonyms("voter")
    queries = _Pseudonyms("query")

    def row(source: str, event: SearchEvent | None, voter: str | None, facts: Mapping[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = {"source": source, **facts, "voter": names.of(voter) if voter is not None else None}
        if event is not None:
            shown |= {
                "query_id": queries.of(event.query),
                "query": event.query if with_queries else REDACTED,
                "rank": event.rank,
                **{key: event.body.get(key) for key in _EXPORTED_FIELDS},
            }
        return {key: _redacted(value, secrets) for key, value in shown.items()}

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
        said = event.body.get("context", {}).get("feedback")
        if isinstance(said, dict) and said.get("vote") is not None:
            facts = {
                "request_id": event.request_id,
                "chunk_id": event.chunk_id,
                "timestamp": event.timestamp,
                "vote": said["vote"],
                "has_note": bool(said.get("note")),
            }
            yield row(SOURCE_SEARCH, event, None, facts)


class _Pseudonyms:
    """Names that tell apart and tell nothing else."""

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
