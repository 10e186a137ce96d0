"""Requirements of the index that no other test covers: commands, limits and scopes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool
from contextive.errors import InvalidRequest
from contextive.packs.knowledge import pack
from contextive.registry import Scope
from contextive.search.index import Index
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM

from .conftest import Call, OpenHost

ADMIN = {"KM_ADMIN_TOKEN": "keeper-9d20e6c1f7a4"}
READER_TOOLS = {
    *("km-help", "km-search", "km-search-batch", "km-coverage-summary", "km-health-summary"),
    *("km-graph-node", "km-graph-subsystem", "km-graph-search", "km-graph-tests-of"),
}
MAINTAINER_TOOLS = {
    *("km-lifecycle-report", "km-ingest-status", "km-ingest-list", "km-ingest-trigger", "km-feedback-submit"),
    *("km-feedback-batch", "km-backup-trigger", "km-recipe-run", "km-upload", "km-storetext", "km-graph-query"),
    "km-scheduler-status",
}
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(repository: Path) -> Command:
    """Runs a command in the example repository and returns the finished process."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = clean_environment({**ADMIN, "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"})
        return subprocess.run(
            [*PROGRAM, *arguments], cwd=repository, env=environment, capture_output=True, text=True, timeout=60
        )

    return run


##= docs/spec/knowledge.md#store
##% The command `verify` MUST compare every file with its rows and exit with 0 only if they agree.
def test_verify_reports_whether_index_and_files_agree(command: Command, repository: Path) -> None:
    assert command("ingest", "--no-vectors").returncode == 0
    assert command("verify").returncode == 0
    (repository / "docs/gauge.md").write_text("# The gauge\n\nSomething else.\n", encoding="utf-8")
    finished = command("verify")
    assert finished.returncode == 1
    assert "docs/gauge.md" in finished.stdout + finished.stderr


##= docs/spec/knowledge.md#store
##% The command `rebuild` MUST start over from the files and preserve the kept rows.
def test_a_rebuild_preserves_the_kept_rows(command: Command, repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN)
    first = call_tool(host, "km-ingest-trigger", {"profile": "before"})
    found = call_tool(host, "km-search", {"query": "siren"})
    vote = {"request_id": found["metadata"]["request_id"], "chunk_id": found["results"][0]["chunk"]["chunk_id"]}
    call_tool(host, "km-feedback-submit", {**vote, "vote": 1})
    host.close()
    assert command("rebuild", "--no-vectors").returncode == 0
    again = open_host(repository, **ADMIN)
    runs = call_tool(again, "km-ingest-list", {})["runs"]
    assert runs[-1]["run_id"] == first["run_id"]
    assert runs[0]["changed_chunk_count"] > 0, "every file was parsed again"
    call_tool(again, "km-feedback-submit", {**vote, "vote": -1})


##= docs/spec/knowledge.md#km-search-requests
##% The command `search` MUST have the flags `--symbol`, `--kind` and `--lang`, each of which may be repeated.
def test_command_line_flags_add_to_the_filters(command: Command) -> None:
    flags = ["--symbol", "Siren.silence", "--symbol", "Siren", "--kind", "method,class", "--lang", "python"]
    done = command("search", "silence the siren", *flags, "--json")
    applied = json.loads(done.stdout)["metadata"]["filters_applied"]
    assert applied["symbols"] == ["Siren.silence", "Siren"]
    assert applied["symbol_kinds"] == ["method", "class"]
    assert applied["symbol_languages"] == ["python"]


##= docs/spec/knowledge.md#km-graph-subsystem
##% The depth MUST default to 1 (at most 5), and the limit to 25 (at most 100).
##= docs/spec/knowledge.md#km-graph-search
##% The limit of nodes found MUST default to 20 and be at most 50.
def test_the_graph_tools_have_the_specified_limits(call: Call) -> None:
    schemas = {tool.name: tool.input_schema["properties"] for tool in pack.tools}
    cases: list[tuple[str, dict[str, Any], str, int, int, int]] = [
        ("km-graph-node", {"node_id": "Subsystem:Gauge"}, "limit", 50, 1, 200),
        ("km-graph-subsystem", {"name": "Gauge"}, "depth", 1, 0, 5),
        ("km-graph-subsystem", {"name": "Gauge"}, "limit", 25, 1, 100),
        ("km-graph-search", {"term": "gauge"}, "limit", 20, 1, 50),
    ]
    for tool, required, name, usual, low, high in cases:
        assert schemas[tool][name]["default"] == usual
        for inside in (low, high):
            assert call(tool, **required, **{name: inside})["status"] == "success"
        for outside in (low - 1, high + 1):
            with pytest.raises(InvalidRequest):
                call(tool, **required, **{name: outside})


##= docs/spec/knowledge.md#reader-scope
##% The tools in this document MUST be available to readers, except `km-graph-query`.
##= docs/spec/gateway.md#tool-scopes
##% Over HTTP, feedback, backups, documents, recipes and ingest control MUST require the maintainer scope, which the
##% token in `KM_ADMIN_TOKEN` has.
def test_readers_have_these_tools_and_maintainers_more(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository)
    offered = {scope: set(host.surface(host.profile, scope).tools) for scope in Scope}
    assert {name for name in offered[Scope.READER] if name.startswith("km-")} == READER_TOOLS
    assert {name for name in offered[Scope.MAINTAINER] if name.startswith("km-")} == READER_TOOLS | MAINTAINER_TOOLS


##= docs/spec/knowledge.md#index-updates
##% A server MUST index automatically after it starts and after each file change, unless `knowledge.autoIngest` is
##% false.
@pytest.mark.parametrize("auto_ingest", ["true", "false"])
def test_a_server_that_may_not_index_watches_no_files(repository: Path, open_host: OpenHost, auto_ingest: str) -> None:
    host = open_host(repository, CONTEXTIVE_KNOWLEDGE__AUTO_INGEST=auto_ingest)
    host.start_watching()
    assert host.services.get(Index).is_watched is (auto_ingest == "true")
