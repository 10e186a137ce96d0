"""`km-help` and `km-coverage-summary`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextive.cli.call import call_tool
from contextive.errors import InvalidRequest
from contextive.packs.knowledge import pack
from contextive.packs.knowledge.help import usage_of
from contextive.registry import Tool
from contextive.registry.budget import estimated_tokens
from contextive.registry.dispatch import parse_arguments

from .conftest import Call, OpenHost


##= docs/spec/knowledge.md#km-help
##% The tool `km-help` MUST explain how to use each tool of the pack, or only the one named by the argument `tool`.
##= docs/spec/knowledge.md#km-help
##% Help MUST be generated from the declarations of the tools.
def test_help_describes_every_tool(call: Call) -> None:
    answer = call("km-help")
    assert set(answer["tools"]) == {tool.name for tool in pack.tools}
    assert all(usage["description"] and "Example:" in usage["details"] for usage in answer["tools"].values())


def test_help_on_one_tool_names_its_arguments(call: Call) -> None:
    answer = call("km-help", tool="km-search")
    assert answer["tool"] == "km-search"
    assert "Required: query" in answer["usage"]["details"]
    assert "limit" in answer["usage"]["details"]


##= docs/spec/knowledge.md#km-help
##% With `include_spec`, the tool `km-help` MUST add the full reference.
def test_help_can_include_the_full_reference(call: Call) -> None:
    spec = call("km-help", include_spec=True)["spec"]
    assert all(f"## {tool.name}\n" in spec for tool in pack.tools)


@pytest.mark.parametrize("tool", pack.tools, ids=lambda tool: tool.name)
def test_the_example_of_every_tool_is_valid(tool: Tool) -> None:
    name, _, example = usage_of(tool)["details"].partition("Example: ")[2].partition(" ")
    assert name == tool.name
    assert parse_arguments(tool, json.loads(example)) is not None


def test_the_reference_is_tables_with_the_fields_of_nested_arguments(call: Call) -> None:
    spec = call("km-help", include_spec=True)["spec"]
    assert "| `filters.symbol_kinds` | array | null |" in spec
    assert "| `symbol` | string \\| array | null |" in spec
    rows = [line for line in spec.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {5}


def test_help_on_an_unknown_tool_lists_the_known_ones(call: Call) -> None:
    with pytest.raises(InvalidRequest) as raised:
        call("km-help", tool="km-nothing")
    assert "km-search" in (raised.value.hint or "")


##= docs/spec/knowledge.md#indexed-files
##% Every text file of the project MUST be indexed, unless there is a reason to leave it out.
##= docs/spec/knowledge.md#indexed-files
##% The number of files left out MUST be reported for each reason.
##= docs/spec/knowledge.md#km-coverage-summary
##% The tool `km-coverage-summary` MUST report the files by type, the chunks, and the files without chunks, and needs
##% no arguments.
##= docs/spec/knowledge.md#km-coverage-summary
##% A coverage report MUST say how fresh the index is.
def test_coverage_counts_files_chunks_and_skipped_files(call: Call) -> None:
    answer = call("km-coverage-summary", detail="full")
    assert answer["status"] == "success"
    summary = answer["summary"]
    assert summary["artifact_total"] == sum(summary["artifact_breakdown"].values()) == len(answer["artifacts"])
    assert summary["chunk_count"] == sum(row["chunk_count"] for row in answer["artifacts"])
    assert {row["path"] for row in answer["missing_artifacts"]} >= {"src/tidewatch/empty.py"}
    assert answer["skipped"]["secret"] == 1
    assert answer["skipped"]["ignored"] == 2
    assert answer["run"]["repo_head"] == answer["as_of"]["repo_head"]
    by_path = {row["path"]: row for row in answer["artifacts"]}
    reader = by_path["src/tidewatch/gauge/reader.py"]
    assert (reader["coverage_ratio"], reader["subsystem_criticality"]) == (1.0, "high")
    assert (
        "src/tidewatch/gauge/reader.py::calibrate_sensor" in by_path["tests/gauge/test_reader.py"]["exercises_symbols"]
    )


##= docs/spec/knowledge.md#short-reports
##% A report MUST by default return its counts and the ten worst entries of each list, within 1,500 tokens.
##= docs/spec/knowledge.md#short-reports
##% The argument `section` MUST return one list of a report in pages.
def test_a_short_coverage_report_has_the_worst_files_and_the_rest_in_pages(
    repository: Path, open_host: OpenHost
) -> None:
    for number in range(200):
        (repository / f"docs/chapter-with-a-long-name-{number}.md").write_text("# Title\n\nText.\n", encoding="utf-8")
    host = open_host(repository)
    short, full = (call_tool(host, "km-coverage-summary", {"detail": detail}) for detail in ("concise", "full"))
    assert (short["summary"], short["skipped"]) == (full["summary"], full["skipped"])
    assert [row["path"] for row in short["missing_artifacts"]] == [row["path"] for row in full["missing_artifacts"]]
    assert len(short["artifacts"]) == 10
    paths, cursor = [], None
    while True:
        page = call_tool(host, "km-coverage-summary", {"section": "artifacts", "cursor": cursor})
        assert estimated_tokens(page) <= 1_500
        paths += [row["path"] for row in page["artifacts"]]
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert paths[:10] == [row["path"] for row in short["artifacts"]]
    assert len(paths) == len(set(paths)) == page["total"] == 10 + short["omitted"]["artifacts"]
    assert page["total"] + len(short["missing_artifacts"]) == short["summary"]["artifact_total"]


def test_an_unknown_section_of_a_report_is_refused_with_the_known_ones(call: Call) -> None:
    with pytest.raises(InvalidRequest) as refused:
        call("km-coverage-summary", section="zork")
    assert "missing_artifacts" in (refused.value.hint or "")


def test_coverage_of_an_empty_project_is_empty(tmp_path: Path, open_host: OpenHost) -> None:
    answer = call_tool(open_host(tmp_path), "km-coverage-summary", {})
    assert answer["summary"] == {"artifact_total": 0, "artifact_breakdown": {}, "chunk_count": 0}
