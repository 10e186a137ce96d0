"""The tools for ingest runs, the lifecycle report and votes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool
from contextive.errors import Forbidden, InvalidRequest, NotFound, UnsupportedOperation
from contextive.search.index import Index
from tests.raw_clients import StdioClient, envelope

from .conftest import OpenHost
from .repository import commit_all

ADMIN = {"KM_ADMIN_TOKEN": "keeper-9d20e6c1f7a4"}
Call = Callable[..., dict[str, Any]]


@pytest.fixture
def maintain(repository: Path, open_host: OpenHost) -> Call:
    host = open_host(repository, **ADMIN)
    return lambda tool, /, **arguments: call_tool(host, tool, arguments)


##= docs/spec/gateway.md#km-ingest-status
##% Before the first run, the `status` MUST be `not_found`.
def test_without_a_run_the_status_is_not_found(maintain: Call) -> None:
    assert maintain("km-ingest-status") == {"status": "not_found", "now": {}}
    assert maintain("km-ingest-status", profile="nightly")["profile"] == "nightly"


##= docs/spec/gateway.md#km-ingest-trigger
##% The tool `km-ingest-trigger` MUST bring the index up to date with the files, wait until that is done, and return
##% the run.
##= docs/spec/gateway.md#km-ingest-trigger
##% A run MUST be recorded under `profile`, or under `knowledge.defaultProfile` if none is given.
##= docs/spec/gateway.md#km-ingest-status
##% The tool `km-ingest-status` MUST return the newest run, or the newest run of `profile`.
##= docs/spec/gateway.md#km-ingest-status
##% A returned run MUST include its id, profile, start, duration, success, files by type, chunks and git HEAD.
def test_a_run_is_recorded_and_reported(maintain: Call) -> None:
    run = maintain("km-ingest-trigger", profile="nightly")
    assert (run["status"], run["success"], run["profile"]) == ("success", True, "nightly")
    assert run["run"]["artifacts"]
    assert sum(run["artifact_counts"].values()) == run["artifact_count"]
    status = maintain("km-ingest-status")
    assert status["status"] == "ok"
    for key in (
        "run_id",
        "profile",
        "started_at",
        "success",
        "artifact_counts",
        "chunk_count",
        "duration_seconds",
        "repo_head",
    ):
        assert status[key] == run[key] == status["run"][key]
    assert maintain("km-ingest-status", profile="nightly")["run_id"] == run["run_id"]
    assert maintain("km-ingest-status", profile="other")["status"] == "not_found"


##= docs/spec/knowledge.md#index-updates
##% An unchanged file SHOULD NOT be parsed or embedded again.
def test_a_run_without_changes_creates_no_chunks(maintain: Call, repository: Path) -> None:
    first = maintain("km-ingest-trigger")
    again = maintain("km-ingest-trigger")
    assert (first["chunk_count"] > 0, again["chunk_count"]) == (True, 0)
    assert first["profile"] == "manual"
    (repository / "docs/gauge.md").unlink()
    removed = maintain("km-ingest-trigger")["run"]["removed_artifacts"]
    assert [(row["path"], row["status"]) for row in removed] == [("docs/gauge.md", "deleted")]


##= docs/spec/gateway.md#km-ingest-trigger
##% With `dry_run`, the tool MUST write nothing.
def test_a_dry_run_writes_nothing(maintain: Call) -> None:
    dry = maintain("km-ingest-trigger", dry_run=True)
    assert (dry["status"], dry["chunk_count"] > 0) == ("success", True)
    assert maintain("km-ingest-status")["status"] == "not_found"
    assert maintain("km-ingest-list")["runs"] == []


##= docs/spec/gateway.md#km-ingest-trigger
##% With `use_dummy_embeddings`, embeddings MUST be computed without a model, unless the index already has embeddings
##% from a model.
def test_dummy_embeddings_are_computed_on_request(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN, CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL="none")
    assert call_tool(host, "km-ingest-trigger", {})["vectors"] == 0
    assert call_tool(host, "km-ingest-trigger", {"use_dummy_embeddings": True})["vectors"] > 0


##= docs/spec/gateway.md#km-ingest-trigger
##% A call with `paths` MUST be refused with `unsupported_operation`.
def test_single_paths_are_not_supported(maintain: Call) -> None:
    with pytest.raises(UnsupportedOperation) as raised:
        maintain("km-ingest-trigger", paths=["docs/gauge.md"])
    assert raised.value.code == "unsupported_operation"


def test_only_the_newest_reports_are_kept(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN, KM_COVERAGE_HISTORY_LIMIT="2", KM_LIFECYCLE_HISTORY_LIMIT="3")
    runs = [call_tool(host, "km-ingest-trigger", {})["run"]["run_id"] for _ in range(4)]
    store = host.services.get(Index).store
    assert [report.run_id for report in store.records.reports("coverage", 100)] == runs[:1:-1]
    assert [report.run_id for report in store.records.reports("lifecycle", 100)] == runs[:0:-1]


##= docs/spec/gateway.md#km-ingest-status
##% The tool `km-ingest-list` MUST list runs, newest first.
def test_runs_are_listed_newest_first(maintain: Call) -> None:
    ids = [maintain("km-ingest-trigger", profile=name)["run_id"] for name in ("a", "b", "c")]
    assert [run["run_id"] for run in maintain("km-ingest-list")["runs"]] == ids[::-1]
    assert len(maintain("km-ingest-list", limit=2)["runs"]) == 2
    assert [run["profile"] for run in maintain("km-ingest-list", profile="b")["runs"]] == ["b"]


##= docs/spec/gateway.md#km-lifecycle-report
##% The tool `km-lifecycle-report` MUST take no arguments and report isolated nodes, stale documents and subsystems
##% without tests.
##= docs/spec/gateway.md#km-lifecycle-report
##% A document MUST be reported as stale when its last commit is older than `knowledge.staleDays`.
def test_the_lifecycle_report_lists_old_isolated_and_untested_items(maintain: Call, repository: Path) -> None:
    (repository / "docs/new.md").write_text("# New\n\nJust written.\n", encoding="utf-8")
    commit_all(repository, "Long ago", when="2024-06-01T12:00:00+00:00")
    report = maintain("km-lifecycle-report")
    assert report["status"] == "success"
    assert {row["path"] for row in report["stale_docs"]} >= {"docs/new.md", "docs/gauge.md"}
    assert {row["subsystem"] for row in report["missing_tests"]} >= {"Alerts"}
    assert "Gauge" not in {row["subsystem"] for row in report["missing_tests"]}
    assert {row["path"] for row in report["isolated"]["DesignDoc"]} >= {"docs/new.md"}
    assert {row["symbol_id"] for row in report["symbol_tests"]} >= {"src/tidewatch/gauge/reader.py::calibrate_sensor"}
    assert {row["symbol_id"] for row in report["symbol_test_gaps"]} >= {"src/tidewatch/alerts/siren.py::Siren.silence"}
    assert report["summary"]["stale_docs"] == len(report["stale_docs"])
    assert report["thresholds"] == {"stale_days": 30}


def searched(maintain: Call) -> tuple[str, list[str]]:
    answer = maintain("km-search", query="siren")
    return answer["metadata"]["request_id"], [result["chunk"]["chunk_id"] for result in answer["results"]]


##= docs/spec/gateway.md#km-feedback-submit
##% The tool `km-feedback-submit` MUST take `request_id` and `chunk_id`, and optionally `vote`, `note` and `context`.
##= docs/spec/gateway.md#km-feedback-submit
##% A later vote by the same caller on the same result MUST replace the earlier one.
def test_a_later_vote_replaces_the_first(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN)
    maintain: Call = lambda tool, /, **arguments: call_tool(host, tool, arguments)  # noqa: E731
    request_id, chunks = searched(maintain)
    given = {"request_id": request_id, "chunk_id": chunks[0]}
    first = maintain("km-feedback-submit", **given, vote=1, note="useful", context={"task": "demo"})
    assert (first["status"], first["source"], first["note"]) == ("success", "mcp.manual", "useful")
    maintain("km-feedback-submit", **given, vote=-0.5)
    store = host.services.get(Index).store
    assert [(vote.chunk_id, vote.vote) for vote in store.records.votes()] == [(chunks[0], -0.5)]
    assert {entry.tool for entry in store.records.audit(10)} == {"km-feedback-submit"}


##= docs/spec/gateway.md#km-feedback-submit
##% A vote MUST be between -1 and 1.
@pytest.mark.parametrize("vote", [1.5, -2, "good"])
def test_a_vote_out_of_range_is_refused(maintain: Call, vote: object) -> None:
    request_id, chunks = searched(maintain)
    with pytest.raises(InvalidRequest):
        maintain("km-feedback-submit", request_id=request_id, chunk_id=chunks[0], vote=vote)


##= docs/spec/gateway.md#km-feedback-submit
##% A vote on a chunk that the search did not return MUST be refused with `not_found`.
def test_a_vote_on_a_result_that_was_not_returned_is_refused(maintain: Call) -> None:
    request_id, chunks = searched(maintain)
    with pytest.raises(NotFound):
        maintain("km-feedback-submit", request_id="another", chunk_id=chunks[0], vote=1)
    with pytest.raises(NotFound):
        maintain("km-feedback-submit", request_id=request_id, chunk_id="docs/none.md::0", vote=1)


##= docs/spec/gateway.md#km-feedback-submit
##% The tool `km-feedback-batch` MUST record all of its votes or none.
def test_all_votes_of_a_batch_are_stored_or_none(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN)
    maintain: Call = lambda tool, /, **arguments: call_tool(host, tool, arguments)  # noqa: E731
    request_id, chunks = searched(maintain)
    good = [{"request_id": request_id, "chunk_id": chunk, "vote": 1} for chunk in chunks[:2]]
    store = host.services.get(Index).store
    with pytest.raises(NotFound):
        maintain("km-feedback-batch", votes=[*good, {"request_id": request_id, "chunk_id": "none", "vote": 1}])
    assert store.records.votes() == ()
    assert len(maintain("km-feedback-batch", votes=good)["votes"]) == 2
    assert len(store.records.votes()) == 2


def test_a_reader_is_not_offered_write_tools(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository)
    for tool in ("km-ingest-trigger", "km-ingest-status", "km-lifecycle-report", "km-feedback-submit"):
        with pytest.raises(Forbidden):
            call_tool(host, tool, {})


##= docs/spec/gateway.md#km-ingest-trigger
##% A client that requests progress notifications MUST receive them during a run.
def test_a_run_reports_progress_to_the_client(repository: Path) -> None:
    environment = {
        **ADMIN,
        "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none",
        "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false",
    }
    with StdioClient("serve", cwd=repository, env=environment) as pipe:
        asked = envelope({"name": "km-ingest-trigger", "arguments": {}}, meta={"progressToken": "run"})
        answer = pipe.ask("tools/call", asked, 60.0)
    assert answer["result"]["structuredContent"]["status"] == "success"
    progress = [note["params"] for note in pipe.notifications if note["method"] == "notifications/progress"]
    assert progress
    steps = [note["progress"] for note in progress]
    assert steps == sorted(set(steps))
