"""Every tool of every profile answers within its budget on a project of real size."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from contextive.server.host import Host
from tests.models.service import KEY, model_service

from .__main__ import main, open_project
from .calls import (
    ARRAYS,
    SEARCH_MEDIAN,
    Sampler,
    Size,
    all_tools,
    measure,
    median_of_searches,
    reading_calls,
    table,
    writing_calls,
)
from .project import write_large_project

LONG_ANSWER = "The berth is reserved before the tide turns [1]. " * 400


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("answers")
    with model_service() as service:
        service.text = LONG_ANSWER
        provider = {"kind": "openai-compatible", "baseUrl": f"{service.url}/v1", "apiKey": KEY, "defaultModel": "small"}
        config = folder / "config.json"
        config.write_text(json.dumps({"providers": {"here": provider}}), encoding="utf-8")
        host = open_project(write_large_project(folder / "harbour"), folder / "state", config)
        yield host
        host.close()


@pytest.fixture(scope="module")
def sizes(host: Host) -> Sequence[Size]:
    sampler = Sampler(host)
    return [measure(host, call) for calls in (reading_calls, writing_calls) for call in calls(sampler)]


def test_the_project_has_real_size(host: Host) -> None:
    totals = host.index().store.files.totals()
    assert sum(of_type.files for of_type in totals.values()) >= 300
    assert sum(of_type.chunks for of_type in totals.values()) >= 6_000
    assert totals["doc"].files >= 40


def test_every_tool_of_every_profile_is_measured(host: Host, sizes: Sequence[Size]) -> None:
    assert {size.call.tool for size in sizes} == set(all_tools(host))
    assert [(size.call.label, size.error) for size in sizes if size.error] == []


##= docs/spec/host.md#tool-calls
##% The default answer of a tool MUST fit into its budget of tokens, which is 2,500 unless the documentation names
##% another.
##= docs/spec/knowledge.md#km-search-answers
##% A concise answer with ten results MUST fit into 2,500 tokens.
def test_every_default_answer_is_within_its_budget(sizes: Sequence[Size]) -> None:
    over = [size for size in sizes if size.tokens > size.call.budget]
    assert over == [], f"\n{table(over)}"


def test_half_of_the_searches_take_less(sizes: Sequence[Size]) -> None:
    assert median_of_searches(sizes) <= SEARCH_MEDIAN


def test_the_text_of_an_answer_is_its_structured_data(sizes: Sequence[Size]) -> None:
    assert {size.call.tool for size in sizes if not size.is_same} <= ARRAYS


##= docs/spec/host.md#tool-calls
##% A result MUST name once the fields that can hold text from project files.
def test_every_field_with_text_of_the_project_is_named(sizes: Sequence[Size]) -> None:
    unnamed = {(size.call.tool, field) for size in sizes for field in size.carrying - set(size.untrusted)}
    assert unnamed == set()


def test_a_tool_names_only_fields_that_its_answers_can_have(host: Host, sizes: Sequence[Size]) -> None:
    seen = {(size.call.tool, field) for size in sizes for field in size.untrusted}
    impossible = {
        (tool.name, field)
        for tool in all_tools(host).values()
        if (tool.output_schema or {}).get("additionalProperties") is False
        for field in tool.untrusted
        if field not in (tool.output_schema or {}).get("properties", ())
    }
    assert impossible == set()
    assert {name for name, _ in seen} == {tool.name for tool in all_tools(host).values() if tool.untrusted}


def test_the_script_prints_the_table_of_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "berth.md").write_text("# Berth\n\nA berth is a place for a ship.\n", encoding="utf-8")
    assert main([str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "km-search " in printed
    assert not (tmp_path / ".contextive").exists()
