from __future__ import annotations

import pytest

from contextive.knowledge.artifact import Artifact, ArtifactType, LastCommit, ParsedArtifact
from contextive.knowledge.artifact_layers import ResolvedReferences, artifact_layer, link_layer, project_layer
from contextive.knowledge.artifact_parser import ParseContext, parse_artifact
from contextive.knowledge.calls import Call
from contextive.knowledge.exercised_symbols import Exercise
from contextive.knowledge.graph import Edge
from contextive.knowledge.packages import Packages
from contextive.knowledge.subsystems import NO_CATALOG, parse_catalog

DECLARED = Edge("SourceFile:a", "DECLARES", "IntegrationMessage:AMessage")


def artifact(path: str, kind: ArtifactType, subsystem: str | None = None, **fields: object) -> Artifact:
    return Artifact(path, kind, "d", 1, path, "n", subsystem, **fields)  # type: ignore[arg-type]


def test_a_file_is_a_node_with_its_chunks_and_symbols() -> None:
    text = "class OrderMessage:\n    pass\n"
    context = ParseContext(packages=Packages({"src/pkg/ingest": "pkg.ingest"}))
    parsed = parse_artifact("src/pkg/ingest/a.py", text.encode(), text, context, LastCommit("c0", 7.0))
    layer = artifact_layer(parsed)
    file_node = "SourceFile:src/pkg/ingest/a.py"
    assert [node.id for node in layer.nodes] == [
        file_node, "Chunk:src/pkg/ingest/a.py::0", "Symbol:src/pkg/ingest/a.py::OrderMessage",
    ]  # fmt: skip
    assert layer.nodes[0].properties == {
        "path": "src/pkg/ingest/a.py", "artifact_type": "code", "title": "a.py", "subsystem": "pkg.ingest",
        "git_commit": "c0", "git_timestamp": 7.0,
    }  # fmt: skip
    assert layer.nodes[1].properties["sequence"] == 0
    assert layer.nodes[2].properties["qualified_name"] == "OrderMessage"
    assert set(layer.edges) == {
        Edge(file_node, "HAS_CHUNK", "Chunk:src/pkg/ingest/a.py::0"),
        Edge(file_node, "DECLARES_SYMBOL", "Symbol:src/pkg/ingest/a.py::OrderMessage"),
        Edge(file_node, "BELONGS_TO", "Subsystem:pkg.ingest"),
        Edge(file_node, "DECLARES", "IntegrationMessage:OrderMessage"),
    }


@pytest.mark.parametrize(
    ("kind", "edges"),
    [
        ("code", [Edge("SourceFile:a", "BELONGS_TO", "Subsystem:S"), DECLARED]),
        ("proto", [Edge("SourceFile:a", "BELONGS_TO", "Subsystem:S"), DECLARED]),
        ("doc", [Edge("DesignDoc:a", "DESCRIBES", "Subsystem:S")]),
        ("test", [Edge("TestCase:a", "VALIDATES", "Subsystem:S")]),
        ("config", []),
        ("other", []),
    ],
)  # fmt: skip
def test_the_type_of_a_file_decides_its_edges(kind: ArtifactType, edges: list[Edge]) -> None:
    layer = artifact_layer(ParsedArtifact(artifact("a", kind, "S", messages=("AMessage",))))
    assert list(layer.edges) == edges


##= docs/spec/knowledge.md#nodes-and-edges
##% A subsystem MUST be part of the subsystem whose package it is nested in.
def test_a_nested_subsystem_is_part_of_the_nearest_one_around_it() -> None:
    names = ["shop", "shop.pay.card", "example.org/a", "example.org/a/b", "wire::net", "shopping"]
    layer = project_layer([artifact(f"{name}.py", "code", name) for name in names], NO_CATALOG)
    assert set(layer.edges) == {
        Edge("Subsystem:shop.pay.card", "PART_OF", "Subsystem:shop"),
        Edge("Subsystem:example.org/a/b", "PART_OF", "Subsystem:example.org/a"),
    }


def test_the_project_layer_has_subsystems_messages_and_telemetry() -> None:
    catalog = parse_catalog('{"A": {"criticality": "high", "depends_on": ["b", "Ghost", "A"]}, "B": {}}', "c")
    layer = project_layer(
        [
            artifact("x.py", "code", "A", messages=("XMessage",), telemetry=("TelemetryX",)),
            artifact("y.py", "code", None, messages=("YMessage",), telemetry=("TelemetryX", "TelemetryY")),
            artifact("z.md", "doc", "Docs", messages=("ZMessage",)),
        ],
        catalog,
    )
    assert [node.id for node in layer.nodes] == [
        "Subsystem:A", "Subsystem:B", "Subsystem:Docs", "Subsystem:Ghost",
        "IntegrationMessage:XMessage", "IntegrationMessage:YMessage",
        "TelemetryChannel:TelemetryX", "TelemetryChannel:TelemetryY",
    ]  # fmt: skip
    assert layer.nodes[0].properties["criticality"] == "high"
    assert layer.nodes[6].properties == {"name": "TelemetryX", "source_subsystem": "A"}
    assert set(layer.edges) == {
        Edge("Subsystem:A", "DEPENDS_ON", "Subsystem:B"),
        Edge("Subsystem:A", "DEPENDS_ON", "Subsystem:Ghost"),
        Edge("Subsystem:A", "IMPLEMENTS", "IntegrationMessage:XMessage"),
        Edge("Subsystem:A", "EMITS", "TelemetryChannel:TelemetryX"),
    }


def test_the_order_of_artifacts_does_not_change_the_project_layer() -> None:
    artifacts = [artifact(f"{n}.py", "code", f"S{n % 2}", messages=(f"M{n}Message",)) for n in range(6)]
    assert project_layer(artifacts, NO_CATALOG) == project_layer(reversed(artifacts), NO_CATALOG)


def test_references_become_edges_of_the_right_type() -> None:
    artifacts = {
        "a.py": "SourceFile:a.py",
        "b.py": "SourceFile:b.py",
        "t.py": "TestCase:t.py",
        "d.md": "DesignDoc:d.md",
    }
    code = link_layer(
        "a.py",
        ResolvedReferences(
            ["b.py", "gone.py"], [Call("a.py::f", "b.py::g", by_name=True, line=7), Call(None, "b.py::g")]
        ),
        artifacts,
    )
    assert set(code.edges) == {
        Edge("SourceFile:a.py", "IMPORTS", "SourceFile:b.py"),
        Edge("Symbol:a.py::f", "CALLS", "Symbol:b.py::g", by_name=True, line=7),
        Edge("SourceFile:a.py", "CALLS", "Symbol:b.py::g"),
    }
    test = link_layer("t.py", ResolvedReferences(exercises=[Exercise("b.py::g", line=3)]), artifacts)
    assert test.edges == (Edge("TestCase:t.py", "EXERCISES", "Symbol:b.py::g", line=3),)
    document = link_layer("d.md", ResolvedReferences(links=["a.py", "b.py::g", "gone.md", "d.md"]), artifacts)
    assert document.edges == (
        Edge("DesignDoc:d.md", "LINKS_TO", "SourceFile:a.py"),
        Edge("DesignDoc:d.md", "LINKS_TO", "Symbol:b.py::g"),
    )
