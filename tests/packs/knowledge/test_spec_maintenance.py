"""Requirements of the maintainer tools that no other test covers."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from contextive.cli.call import call_tool
from contextive.errors import all_error_types
from contextive.packs.knowledge import pack
from contextive.search.index import Index
from contextive.server.host import Host

from .conftest import OpenHost

ADMIN = {"KM_ADMIN_TOKEN": "keeper-9d20e6c1f7a4"}


@pytest.fixture
def host(repository: Path, open_host: OpenHost) -> Host:
    return open_host(repository, **ADMIN)


##= docs/spec/gateway.md#tool-results
##% Every result of a tool in the knowledge pack MUST have a `status`.
def test_every_output_schema_has_a_status() -> None:
    schemas = {tool.name: tool.output_schema or {} for tool in pack.tools}
    assert [name for name, schema in schemas.items() if "status" not in schema["properties"]] == []


##= docs/spec/gateway.md#tool-results
##% The error codes `invalid_request`, `not_found`, `unauthorized`, `forbidden`, `upstream_error` and
##% `unsupported_operation` MUST have these names.
def test_the_error_codes_have_the_specified_names() -> None:
    assert {
        *("invalid_request", "not_found", "unauthorized", "forbidden", "upstream_error", "unsupported_operation"),
        *("recipe_not_found", "tool_failed", "assert_failed", "timeout", "invalid_identifier"),
    } <= {kind.code for kind in all_error_types()}


##= docs/spec/gateway.md#km-ingest-trigger
##% Runs MUST change the index one at a time, across all processes.
##= docs/spec/gateway.md#km-ingest-trigger
##% A failed run MUST be returned as an error with the `status` `failure`.
def test_a_run_reports_that_another_run_is_active(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    index = host.services.get(Index)
    monkeypatch.setattr(index, "ingest", partial(index.ingest, wait_seconds=0.0))
    lease = index.store.acquire_lease("ingest", "somebody")
    assert lease is not None
    refused = call_tool(host, "km-ingest-trigger", {"profile": "second"})
    assert (refused["status"], refused["success"], refused["profile"]) == ("failure", False, "second")
    assert refused["error"]["message"]
    assert index.store.records.runs(10) == ()
    lease.release()
    assert call_tool(host, "km-ingest-trigger", {"profile": "second"})["status"] == "success"


##= docs/spec/gateway.md#km-feedback-submit
##% A vote MUST be acknowledged with the time at which it was recorded.
def test_a_vote_is_acknowledged_with_its_time(host: Host) -> None:
    before = time.time()
    found = call_tool(host, "km-search", {"query": "siren"})
    given = {
        "request_id": found["metadata"]["request_id"],
        "chunk_id": found["results"][0]["chunk"]["chunk_id"],
        "vote": 1,
        "note": "useful",
        "context": {"task": "demo"},
    }
    answer = call_tool(host, "km-feedback-submit", given)
    assert answer["status"] == "success"
    assert before <= answer["timestamp"] <= time.time()
    assert {key: answer[key] for key in given} == given
