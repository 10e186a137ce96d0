"""The query language of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextive.errors import NotFound
from contextive.knowledge.graph import Edge, EdgeType, Label, Layer, Node
from contextive.search import graph_query
from contextive.search.graph_query import GraphQuery, Hop, PropertyCondition, run_query
from contextive.store import open_store
from contextive.store.protocol import Store

NODES = (
    Node("Subsystem", "Gauge", {"name": "Gauge", "criticality": "high"}),
    Node("Subsystem", "Alerts", {"name": "Alerts", "criticality": "low", "tags": ["siren", "sea"]}),
    Node("SourceFile", "src/a.py", {"path": "src/a.py", "git_timestamp": 10}),
    Node("SourceFile", "src/b.py", {"path": "src/b.py", "git_timestamp": 20}),
    Node("Symbol", "src/a.py::f", {"name": "f", "kind": "function"}),
    Node("TestCase", "tests/t.py", {"path": "tests/t.py"}),
)
EDGES = (
    Edge("SourceFile:src/a.py", "BELONGS_TO", "Subsystem:Gauge"),
    Edge("SourceFile:src/b.py", "BELONGS_TO", "Subsystem:Gauge"),
    Edge("Subsystem:Gauge", "DEPENDS_ON", "Subsystem:Alerts"),
    Edge("SourceFile:src/a.py", "DECLARES_SYMBOL", "Symbol:src/a.py::f"),
    Edge("TestCase:tests/t.py", "EXERCISES", "Symbol:src/a.py::f"),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(tmp_path)
    with found.transaction() as writer:
        writer.put_layer("@test", Layer(NODES, EDGES))
    yield found
    found.close()


def ends(store: Store, query: GraphQuery) -> list[str]:
    return [path.end.id for path in run_query(store, query).paths]


def where(name: str, operator: graph_query.Operator, value: object = None) -> GraphQuery:
    label: Label = "SourceFile" if name in ("git_timestamp", "path") else "Subsystem"
    return GraphQuery(label, where=(PropertyCondition(name, operator, value),))


def test_nodes_of_a_label_are_sorted_by_key(store: Store) -> None:
    assert ends(store, GraphQuery("Subsystem")) == ["Subsystem:Alerts", "Subsystem:Gauge"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (where("criticality", "eq", "high"), ["Subsystem:Gauge"]),
        (where("criticality", "ne", "high"), ["Subsystem:Alerts"]),
        (where("name", "contains", "LERT"), ["Subsystem:Alerts"]),
        (where("tags", "contains", "sea"), ["Subsystem:Alerts"]),
        (where("tags", "exists"), ["Subsystem:Alerts"]),
        (where("tags", "exists", False), ["Subsystem:Gauge"]),
        (where("key", "starts_with", "ga"), ["Subsystem:Gauge"]),
        (where("id", "eq", "Subsystem:Gauge"), ["Subsystem:Gauge"]),
        (where("git_timestamp", "gt", 15), ["SourceFile:src/b.py"]),
        (where("git_timestamp", "lt", 15), ["SourceFile:src/a.py"]),
        (where("git_timestamp", "gt", "15"), []),
        (where("path", "gt", "src/a.py"), ["SourceFile:src/b.py"]),
        (where("nothing", "gt", 1), []),
    ],
    ids=lambda value: str(value)[:60],
)
def test_conditions(store: Store, query: GraphQuery, expected: list[str]) -> None:
    assert ends(store, query) == expected


def test_edges_are_followed_in_their_direction(store: Store) -> None:
    belongs: tuple[EdgeType, ...] = ("BELONGS_TO",)
    assert ends(store, GraphQuery("Subsystem", "Gauge", hops=(Hop(belongs, "incoming"),))) == [
        "SourceFile:src/a.py",
        "SourceFile:src/b.py",
    ]
    assert ends(store, GraphQuery("Subsystem", "Gauge", hops=(Hop(belongs, "outgoing"),))) == []
    assert len(ends(store, GraphQuery("Subsystem", "Gauge", hops=(Hop((), "both"),)))) == 3


def test_which_tests_exercise_the_code_of_a_subsystem(store: Store) -> None:
    hops = (Hop(("BELONGS_TO",), "incoming"), Hop(("DECLARES_SYMBOL",)), Hop(("EXERCISES",), "incoming", "TestCase"))
    [path] = run_query(store, GraphQuery("Subsystem", "gauge", hops=hops)).paths
    assert [node.id for node in path.nodes][-1] == "TestCase:tests/t.py"
    assert path.edges == (("BELONGS_TO", "IN"), ("DECLARES_SYMBOL", "OUT"), ("EXERCISES", "IN"))


def test_a_path_never_visits_a_node_twice(store: Store) -> None:
    found = run_query(store, GraphQuery("Subsystem", "Gauge", hops=(Hop((), "both"), Hop((), "both")))).paths
    assert found
    assert all(len({node.id for node in path.nodes}) == 3 for path in found)


def test_ends_are_returned_once_with_distinct_ends(store: Store) -> None:
    hops = (Hop(("BELONGS_TO",)),)
    assert len(ends(store, GraphQuery("SourceFile", hops=hops))) == 2
    assert ends(store, GraphQuery("SourceFile", hops=hops, distinct_ends=True)) == ["Subsystem:Gauge"]


##= docs/spec/knowledge.md#other-query-tools
##% The tool `km-graph-query` MUST be read-only and limited in time, nodes, paths and rows.
def test_a_query_reports_the_limit_that_ended_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_query(store, GraphQuery("Subsystem", limit=1)).stopped_by == "limit"
    assert run_query(store, GraphQuery("Subsystem", limit=2)).stopped_by is None
    ticks = iter(range(0, 1000, 10))
    assert run_query(store, GraphQuery("Subsystem"), clock=lambda: float(next(ticks))).stopped_by == "time"
    monkeypatch.setattr(graph_query, "MAX_VISITED_NODES", 1)
    assert run_query(store, GraphQuery("Subsystem")).stopped_by == "nodes"
    monkeypatch.setattr(graph_query, "MAX_VISITED_NODES", 100)
    monkeypatch.setattr(graph_query, "MAX_PATHS", 1)
    assert run_query(store, GraphQuery("Subsystem", "Gauge", hops=(Hop((), "both"),))).stopped_by == "paths"


def test_a_start_that_is_not_there_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        run_query(store, GraphQuery("Subsystem", "Nowhere"))
