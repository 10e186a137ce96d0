"""Votes on search results: `eval` measures search with them, and `feedback export` exports them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from contextive.cli import run
from contextive.store import open_store
from tests.raw_clients import StdioClient
from tests.server.conftest import ADMIN
from tests.server.gateways import ExampleProject

Command = Callable[..., tuple[int, str]]
SECRET = "glpat-" + "x7" * 10
QUERIES = {"calibrate_sensor": 1.0, "when does the siren sound": 1.0, f"when does the siren sound {SECRET}": 0.5}


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> ExampleProject:
    """A project in which an agent searched and voted over MCP, each time for one of the first two chunks."""
    station = ExampleProject.at(tmp_path_factory.mktemp("feedback"))
    station.run("ingest", "--wait", "--name", "first")
    env = station.environment({"KM_ADMIN_TOKEN": ADMIN, "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"})
    with StdioClient("serve", cwd=station.root, env=env) as agent:
        agent.initialize()
        for query, vote in QUERIES.items():
            found = agent.call("km-search", {"query": query, "group": "chunk"})["structuredContent"]
            ballot = {
                "request_id": found["metadata"]["request_id"],
                "note": f"{ADMIN} told me",
                "context": {"who": "me"},
            }
            votes = [vote, -1.0] if vote == 1.0 else [-1.0, vote]
            for result, value in zip(found["results"], votes, strict=False):
                arguments = {**ballot, "chunk_id": result["chunk"]["chunk_id"], "vote": value}
                assert agent.call("km-feedback-submit", arguments)["structuredContent"]["status"] == "success"
    return station


@pytest.fixture
def command(station: ExampleProject, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in this process and returns its exit code and its output."""
    for name, value in station.environment({"KM_ADMIN_TOKEN": ADMIN}).items():
        monkeypatch.setenv(name, value)

    def run_command(*arguments: str, project: Path = station.root) -> tuple[int, str]:
        code = run([*arguments, "--project", str(project)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run_command


def test_a_vote_refers_to_the_recorded_search_result(station: ExampleProject) -> None:
    store = open_store(station.root / ".contextive")
    votes, events = store.records.votes(), store.records.events()
    store.close()
    recorded = {(event.request_id, event.chunk_id): event for event in events}
    assert len(votes) == 6
    for vote in votes:
        event = recorded[(vote.request_id, vote.chunk_id)]
        assert event.query in QUERIES
        assert event.rank in (1, 2)
        assert event.body["adjusted_score"] > 0
        assert event.body["signals"]


##= docs/spec/commands.md#eval
##% The command `eval` MUST measure search quality with the judgements in a file or with the recorded votes.
def test_eval_with_votes_compares_lexical_dense_and_hybrid_search(station: ExampleProject, command: Command) -> None:
    report = json.loads(station.run("eval", "--json"))
    assert (report["votes"], report["votes_without_search"], report["queries"]) == (6, 0, 3)
    assert set(report["modes"]) >= {"lexical", "dense", "hybrid"}
    # The result with a positive vote was first in two searches and second in one; nothing has changed since.
    assert report["modes"]["hybrid"]["mrr"]["mean"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert report["modes"]["hybrid"]["ndcg"]["mean"] == pytest.approx((1 + 1 + 1 / math.log2(3)) / 3)
    code, output = command("eval", "--limit", "1")
    assert (code, "6 votes" in output) == (0, True)
    assert [word for word in ("nDCG@10", "MRR@10", "lexical", "dense", "hybrid") if word not in output] == []


##= docs/spec/commands.md#feedback-export
##% The command `feedback export` MUST write one row for each vote, without notes, voter names or secrets.
def test_an_export_has_votes_and_results_but_no_names_notes_or_secrets(command: Command) -> None:
    code, output = command("feedback", "export")
    assert code == 0
    rows = [json.loads(line) for line in output.splitlines()]
    assert len(rows) == 6
    assert {row["vote"] for row in rows} == {1.0, 0.5, -1.0}
    assert {row["query"] for row in rows} == {"calibrate_sensor", "when does the siren sound", "[redacted]"}
    assert {row["voter"] for row in rows} == {"voter-1"}
    assert all(row["has_note"] and row["artifact_path"] and row["rank"] for row in rows)
    text = json.dumps(rows)
    assert not [word for word in (ADMIN, SECRET, "told me", "who") if word in text.replace("without", "")]


##= docs/spec/commands.md#feedback-export
##% With `--redact-queries`, an export MUST contain no queries.
def test_queries_can_be_redacted_and_a_file_is_replaced_only_with_force(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "votes.jsonl"
    assert "6 votes" in command("feedback", "export", str(target), "--redact-queries")[1]
    rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert {row["query"] for row in rows} == {"[redacted]"}
    assert {row["query_id"] for row in rows} == {"query-1", "query-2", "query-3"}
    code, output = command("feedback", "export", str(target))
    assert (code, "exists already" in output) == (2, True)


def test_without_votes_eval_says_how_to_vote(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nText.\n", encoding="utf-8")
    code, output = command("eval", project=tmp_path)
    assert (code, "km-feedback-submit" in output) == (1, True)
    assert "--judgements" in output


def test_eval_reports_an_unreadable_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe")
    for name, wrong in [
        ("none.jsonl", "none.jsonl does not exist."),
        ("bytes.jsonl", "bytes.jsonl is not UTF-8 text."),
    ]:
        code, output = command("eval", "--judgements", str(tmp_path / name), project=tmp_path)
        assert code == 2
        assert wrong in output
