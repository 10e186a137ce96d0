"""The counts of calls: kept in one small file, from several servers, and shown by `status`."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextive.registry import CallRecord
from contextive.server.call_counts import CallCounter, read_call_counts
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, StdioClient


def counter_of(*tools: str, known: bool = True) -> CallCounter:
    counter = CallCounter()
    for tool in tools:
        counter(CallRecord(tool, known, "owner", "mcp-stdio", "1", 0.1, {}, None))
    return counter


##= docs/spec/commands.md#status
##% The command `status` MUST show how often each tool was called.
def test_status_shows_the_calls_of_earlier_servers(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Tea\n\nHow to brew it.\n", "utf-8")
    run = [*PROGRAM, "ingest"]
    subprocess.run(run, cwd=tmp_path, env=clean_environment(), check=True, capture_output=True)
    for _ in range(2):
        with StdioClient("serve", "--stdio", cwd=tmp_path) as pipe:
            pipe.initialize()
            pipe.call("km-search", {"query": "tea"})
    printed = subprocess.run(
        [*PROGRAM, "status", "--json"], cwd=tmp_path, env=clean_environment(), check=True, capture_output=True
    )
    assert json.loads(printed.stdout)["calls"]["by_tool"] == {"km-search": 2}


##= docs/spec/commands.md#status
##% A server MUST add its calls to the counts when it ends, without losing those of other servers.
def test_servers_that_end_together_lose_no_counts(tmp_path: Path) -> None:
    counters = [counter_of("orient", "orient", f"tool-{number}") for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda counter: counter.save(tmp_path), counters))
    counts = read_call_counts(tmp_path).by_tool
    assert next(iter(counts.items())) == ("orient", 40)
    assert len(counts) == 21


def test_calls_are_saved_once_and_unknown_names_never(tmp_path: Path) -> None:
    counter = counter_of("orient")
    counter.save(tmp_path)
    counter.save(tmp_path)
    counter_of("../../secret", known=False).save(tmp_path)
    assert read_call_counts(tmp_path).by_tool == {"orient": 1}


def test_a_project_without_a_state_directory_gets_none(tmp_path: Path) -> None:
    counter_of("orient").save(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"since": 1, "calls": []}', "[" * 100_000, '{"since": "", "calls": {"a": -1, "b": true}}'],
)
def test_a_damaged_file_counts_as_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "calls.json").write_text(text, "utf-8")
    assert read_call_counts(tmp_path).by_tool == {}
    counter_of("orient").save(tmp_path)
    assert read_call_counts(tmp_path).by_tool == {"orient": 1}


def test_the_file_stays_small(tmp_path: Path) -> None:
    for number in range(4):
        counter_of(*(f"{'t' * 120}{number}{tool:04}" for tool in range(200))).save(tmp_path)
    assert len(read_call_counts(tmp_path).by_tool) == 300
    assert (tmp_path / "calls.json").stat().st_size < 65_536
