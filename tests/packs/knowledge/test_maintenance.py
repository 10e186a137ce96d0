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
def as_maintainer(repository: Path, open_host: OpenHost) -> Call:
    host = open_host(repository, **ADMIN)
    return lambda tool, /, **arguments: call_tool(host, tool, arguments)


##= docs/spec/gateway.md#km-ingest-status
##% Before the first run, the `status` MUST be `not_found`.
def test_without_a_run_the_status_is_not_found(as_maintainer: Call) -> None:
    assert as_maintainer("km-ingest-status") == {"status": "not_found", "now": {}}
    assert as_maintainer("km-ingest-status", profile="nightly")["profile"] == "nightly"


##= docs/spec/gateway.md#km-ingest-trigger
##% The tool `km-ingest-trigger` MUST bring the index up to date with the files, wait until that is done, and return
##% the run.
##= docs/spec/gateway.md#km-ingest-trigger
##% A run MUST be recorded under `profile`, or under `knowledge.defaultProfile` if none is given.
##= docs/spec/gateway.md#km-ingest-status
##% The tool `km-ingest-status` MUST return the newest run, or the newest run of `profile`.
##= docs/spec/gateway.md#km-ingest-status
##% A returned run MUST include its id, profile, start, duration, success, files by type, chunks and git HEAD.
def test_a_run_is_recorded_and_reported(as_maintainer: Call) -> None:
    run = as_maintainer("km-ingest-trigger", profile="nightly")
    assert (run["status"], run["success"], run["profile"]) == ("success", True, "nightly")
    assert run["run"]["artifacts"]
    assert sum(run["artifact_counts"].values()) == run["artifact_count"]
    status = as_maintainer("km-ingest-status")
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
    assert as_maintainer("km-ingest-status", profile="nightly")["run_id"] == run["run_id"]
    assert as_maintainer("km-ingest-status", profile="other")["status"] == "not_found"


##= docs/spec/knowledge.md#index-updates
##% An unchanged file SHOULD NOT be parsed or embedded again.
##= docs/spec/gateway.md#km-ingest-status
##% The files and chunks of a run MUST be those of the whole index, and what the run itself wrote is counted separately.
def test_unchanged_files_create_no_chunks_and_deleted_files_are_reported(as_maintainer: Call, repository: Path) -> None:
    first = as_maintainer("km-ingest-trigger")
    again = as_maintainer("km-ingest-trigger")
    assert (first["changed_counts"], first["changed_chunk_count"]) == (first["artifact_counts"], first["chunk_count"])
    for key in ("artifact_counts", "artifact_count", "chunk_count"):
        assert again[key] == first[key]
    assert (again["changed_counts"], again["changed_chunk_count"]) == ({}, 0)
    assert first["profile"] == "manual"
    (repository / "docs/gauge.md").unlink()
    removed = as_maintainer("km-ingest-trigger")["run"]["removed_artifacts"]
    assert [(row["path"], row["status"]) for row in removed] == [("docs/gauge.md", "deleted")]


##= docs/spec/gateway.md#km-ingest-trigger
##% With `dry_run`, the tool MUST write nothing.
def test_a_dry_run_writes_nothing(as_maintainer: Call) -> None:
    dry = as_maintainer("km-ingest-trigger", dry_run=True)
    assert (dry["status"], dry["changed_chunk_count"] > 0, dry["chunk_count"]) == ("success", True, 0)
    assert as_maintainer("km-ingest-status")["status"] == "not_found"
    assert as_maintainer("km-ingest-list")["runs"] == []


##= docs/spec/gateway.md#km-ingest-trigger
##% With `use_dummy_embeddings`, embeddings MUST be computed without a model, unless the index already has embeddings
##% from a model.
def test_dummy_embeddings_are_computed_on_request(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN, CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL="none")
    assert call_tool(host, "km-ingest-trigger", {})["vectors"] == 0
    assert call_tool(host, "km-ingest-trigger", {"use_dummy_embeddings": True})["vectors"] > 0


##= docs/spec/gateway.md#km-ingest-trigger
##% A call with `paths` MUST be refused with `unsupported_operation`.
def test_a_run_for_given_paths_is_not_supported(as_maintainer: Call) -> None:
    with pytest.raises(UnsupportedOperation) as raised:
        as_maintainer("km-ingest-trigger", paths=["docs/gauge.md"])
    assert raised.value.code == "unsupported_operation"


def test_only_the_newest_reports_are_kept(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN, KM_COVERAGE_HISTORY_LIMIT="2", KM_LIFECYCLE_HISTORY_LIMIT="3")
    runs = [call_tool(host, "km-ingest-trigger", {})["run"]["run_id"] for _ in range(4)]
    store = host.services.get(Index).store
    assert [report.run_id for report in store.records.reports("coverage", 100)] == runs[:1:-1]
    assert [report.run_id for report in store.records.reports("lifecycle", 100)] == runs[:0:-1]


##= docs/spec/gateway.md#km-ingest-status
##% The tool `km-ingest-list` MUST list runs, newest first.
def test_runs_are_listed_newest_first(as_maintainer: Call) -> None:
    ids = [as_maintainer("km-ingest-trigger", profile=name)["run_id"] for name in ("a", "b", "c")]
    assert [run["run_id"] for run in as_maintainer("km-ingest-list")["runs"]] == ids[::-1]
    assert len(as_maintainer("km-ingest-list", limit=2)["runs"]) == 2
    assert [run["profile"] for run in as_maintainer("km-ingest-list", profile="b")["runs"]] == ["b"]


##= docs/spec/gateway.md#km-lifecycle-report
##% The tool `km-lifecycle-report` MUST report isolated nodes, stale documents and subsystems without tests, and needs
##% no arguments.
def test_the_lifecycle_report_lists_stale_documents_isolated_nodes_and_test_gaps(
    as_maintainer: Call, repository: Path
) -> None:
    (repository / "docs/new.md").write_text("# New\n\nJust written.\n", encoding="utf-8")
    reader = repository / "src/tidewatch/gauge/reader.py"
    reader.write_text(f"{reader.read_text(encoding='utf-8')}\n\nMARK = calibrate_sensor(2.0)\n", encoding="utf-8")
    commit_all(repository, "Long ago", when="2024-06-01T12:00:00+00:00")
    report = as_maintainer("km-lifecycle-report", detail="full")
    assert report["status"] == "success"
    assert [row["path"] for row in report["stale_docs"]] == ["docs/gauge.md"]
    assert {row["subsystem"] for row in report["missing_tests"]} >= {"Alerts"}
    assert "Gauge" not in {row["subsystem"] for row in report["missing_tests"]}
    assert {row["path"] for row in report["isolated"]["DesignDoc"]} >= {"docs/new.md"}
    assert {row["symbol_id"] for row in report["symbol_tests"]} >= {"src/tidewatch/gauge/reader.py::calibrate_sensor"}
    gaps = {row["symbol_id"]: row["callers"] for row in report["symbol_test_gaps"]}
    assert gaps == {
        "web/format.ts::formatLevel": 1,
        "cmd/logger/main.go::Logger.Append": 1,
        "src/tidewatch/gauge/reader.py::median_of": 1,
    }
    assert report["summary"]["symbol_test_gaps"] > 1
    assert report["summary"]["stale_docs"] == len(report["stale_docs"])
    assert report["thresholds"] == {"stale_days": 30}
    short = as_maintainer("km-lifecycle-report")
    assert short["summary"] == report["summary"]
    assert [row["path"] for row in short["stale_docs"]] == [row["path"] for row in report["stale_docs"][:10]]
    section = as_maintainer("km-lifecycle-report", section="isolated.DesignDoc")
    assert [row["id"] for row in section["isolated"]["DesignDoc"]] == [
        row["id"] for row in report["isolated"]["DesignDoc"]
    ]


def search_for_siren(as_maintainer: Call) -> tuple[str, list[str]]:
    answer = as_maintainer("km-search", query="siren")
    return answer["metadata"]["request_id"], [result["chunk"]["chunk_id"] for result in answer["results"]]


##= docs/spec/gateway.md#km-feedback-submit
##% The tool `km-feedback-submit` MUST take `request_id` and `chunk_id`, and optionally `vote`, `note` and `context`.
##= docs/spec/gateway.md#km-feedback-submit
##% A later vote by the same caller on the same result MUST replace the earlier one.
def test_a_later_vote_replaces_the_first(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN)
    as_maintainer: Call = lambda tool, /, **arguments: call_tool(host, tool, arguments)  # noqa: E731
    request_id, chunks = search_for_siren(as_maintainer)
    given = {"request_id": request_id, "chunk_id": chunks[0]}
    first = as_maintainer("km-feedback-submit", **given, vote=1, note="useful", context={"task": "demo"})
    assert (first["status"], first["source"], first["note"]) == ("success", "mcp.manual", "useful")
    as_maintainer("km-feedback-submit", **given, vote=-0.5)
    store = host.services.get(Index).store
    assert [(vote.chunk_id, vote.vote) for vote in store.records.votes()] == [(chunks[0], -0.5)]
    assert {entry.tool for entry in store.records.audit(10)} == {"km-feedback-submit"}


##= docs/spec/gateway.md#km-feedback-submit
##% A later note without a vote MUST preserve the earlier vote.
def test_a_later_note_keeps_the_vote(as_maintainer: Call) -> None:
    request_id, chunks = search_for_siren(as_maintainer)
    given = {"request_id": request_id, "chunk_id": chunks[0]}
    as_maintainer("km-feedback-submit", **given, vote=1)
    later = as_maintainer("km-feedback-submit", **given, note="It was the right file.")
    assert (later["vote"], later["note"]) == (1, "It was the right file.")
    assert as_maintainer("km-feedback-submit", **(given | {"chunk_id": chunks[1]}), note="Odd.").get("vote") is None


##= docs/spec/gateway.md#km-feedback-submit
##% A vote MUST be between -1 and 1.
@pytest.mark.parametrize("vote", [1.5, -2, "good"])
def test_an_invalid_vote_is_refused(as_maintainer: Call, vote: object) -> None:
    request_id, chunks = search_for_siren(as_maintainer)
    with pytest.raises(InvalidRequest):
        as_maintainer("km-feedback-submit", request_id=request_id, chunk_id=chunks[0], vote=vote)


##= docs/spec/gateway.md#km-feedback-submit
##% A vote on a chunk that the search did not return MUST be refused with `not_found`.
def test_a_vote_on_a_result_that_was_not_returned_is_refused(as_maintainer: Call) -> None:
    request_id, chunks = search_for_siren(as_maintainer)
    with pytest.raises(NotFound):
        as_maintainer("km-feedback-submit", request_id="another", chunk_id=chunks[0], vote=1)
    with pytest.raises(NotFound):
        as_maintainer("km-feedback-submit", request_id=request_id, chunk_id="docs/none.md::0", vote=1)


##= docs/spec/gateway.md#km-feedback-submit
##% The tool `km-feedback-batch` MUST record all of its votes or none.
def test_a_batch_stores_all_of_its_votes_or_none(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN)
    as_maintainer: Call = lambda tool, /, **arguments: call_tool(host, tool, arguments)  # noqa: E731
    request_id, chunks = search_for_siren(as_maintainer)
    good = [{"request_id": request_id, "chunk_id": chunk, "vote": 1} for chunk in chunks[:2]]
    store = host.services.get(Index).store
    with pytest.raises(NotFound):
        as_maintainer("km-feedback-batch", votes=[*good, {"request_id": request_id, "chunk_id": "none", "vote": 1}])
    assert store.records.votes() == ()
    assert len(as_maintainer("km-feedback-batch", votes=good)["votes"]) == 2
    assert len(store.records.votes()) == 2


def test_a_reader_cannot_call_maintainer_tools(repository: Path, open_host: OpenHost) -> None:
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
        request = envelope({"name": "km-ingest-trigger", "arguments": {}}, meta={"progressToken": "run"})
        answer = pipe.ask("tools/call", request, 60.0)
    assert answer["result"]["structuredContent"]["status"] == "success"
    progress = [sent["params"] for sent in pipe.notifications if sent["method"] == "notifications/progress"]
    assert progress
    steps = [params["progress"] for params in progress]
    assert steps == sorted(set(steps))
