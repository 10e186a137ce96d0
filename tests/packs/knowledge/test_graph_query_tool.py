"""`km-graph-query` and `km-graph-tests-of` on the example repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.cli.call import call_tool
from contextive.errors import Forbidden, InvalidRequest, NotFound

from .conftest import Call, OpenHost

ADMIN = {"KM_ADMIN_TOKEN": "keeper-9d20e6c1f7"}


##= docs/spec/knowledge.md#other-query-tools
##% The tool `km-graph-tests-of` MUST list the test files that exercise a symbol.
def test_the_tests_of_a_symbol_are_found_by_its_id(call: Call) -> None:
    found = call("km-graph-tests-of", symbol_id="src/tidewatch/gauge/reader.py::calibrate_sensor")
    assert [test["id"] for test in found["tests"]] == ["TestCase:tests/gauge/test_reader.py"]
    assert call("km-graph-tests-of", symbol_id="web/format.ts::formatLevel")["tests"] == []
    with pytest.raises(NotFound):
        call("km-graph-tests-of", symbol_id="nowhere.py::x")


##= docs/spec/knowledge.md#other-query-tools
##% The tool `km-graph-query` MUST be read-only and limited in time, nodes, paths and rows.
def test_a_query_follows_typed_edges(repository: Path, open_host: OpenHost) -> None:
    host = open_host(repository, **ADMIN)
    steps = [
        {"types": ["belongs_to"], "direction": "in"},
        {"types": ["DECLARES_SYMBOL"], "where": [{"property": "kind", "value": "class"}]},
    ]
    query = {"start": {"label": "subsystem", "key": "Gauge"}, "steps": steps}
    found = call_tool(host, "km-graph-query", query)
    assert [row["id"] for row in found["rows"]] == ["Symbol:src/tidewatch/gauge/reader.py::LevelReader"]
    paths = call_tool(host, "km-graph-query", {**query, "returns": "paths"})
    assert [edge["type"] for edge in paths["rows"][0]["edges"]] == ["BELONGS_TO", "DECLARES_SYMBOL"]
    assert paths["row_count"] == 1


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"start": {"label": "Spell"}},
        {"start": {"label": "Symbol"}, "steps": [{"types": ["CASTS"]}]},
        {"start": {"label": "Symbol"}, "steps": [{}] * 6},
        {"start": {"label": "Symbol"}, "limit": 201},
        {"start": {"label": "Symbol", "where": [{"property": "name", "op": "like", "value": "x"}]}},
    ],
    ids=str,
)
def test_an_invalid_query_is_refused(repository: Path, open_host: OpenHost, query: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        call_tool(open_host(repository, **ADMIN), "km-graph-query", query)


##= docs/spec/knowledge.md#other-query-tools
##% The tool `km-graph-query` MUST require the maintainer scope.
def test_a_reader_cannot_use_graph_queries(repository: Path, open_host: OpenHost) -> None:
    with pytest.raises(Forbidden):
        call_tool(open_host(repository), "km-graph-query", {"start": {"label": "Symbol"}})
