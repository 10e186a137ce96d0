from __future__ import annotations

import json
from dataclasses import replace

import pytest

from contextive.knowledge.artifact import Artifact, ArtifactType, LastCommit, Totals
from contextive.knowledge.coverage import CoveredArtifact, RemovedArtifact, ReportRun, build_coverage
from contextive.knowledge.lifecycle import MAX_REPORTED_SYMBOLS, ProjectState, build_lifecycle
from contextive.knowledge.node_ids import artifact_node_id
from contextive.knowledge.stale_documents import CodePlace, StaleDocument
from contextive.knowledge.subsystems import parse_catalog
from contextive.knowledge.symbol import Symbol, SymbolKind

RUN = ReportRun("r1", "manual", "head")
DAY = 86_400.0
REMOVED = RemovedArtifact("old.md", "doc", None, "dd")


def artifact(path: str, kind: ArtifactType, subsystem: str | None = None, age: float | None = None) -> Artifact:
    git = None if age is None else LastCommit("c", 1000 * DAY - age * DAY)
    return Artifact(path, kind, "d" * 64, 1, path, "n", subsystem, git=git)


def symbol(path: str, name: str, kind: SymbolKind = "function") -> Symbol:
    return Symbol(f"{path}::{name}", name, name, kind, "python", 1, 2)


def test_the_coverage_report_has_all_its_fields() -> None:
    catalog = parse_catalog('{"S": {"criticality": "high"}}', "c")
    empty = CoveredArtifact(artifact("a.md", "doc"), 0)
    report = build_coverage(
        RUN,
        1000 * DAY,
        {"test": Totals(1, 1), "doc": Totals(1, 0), "code": Totals(1, 3)},
        [
            CoveredArtifact(artifact("b.py", "code", "S", 1), 3, symbols=["b.py::f"], skipped=True),
            empty,
            CoveredArtifact(artifact("t.py", "test"), 1, exercises_symbols=["b.py::f"]),
        ],
        [empty],
        [REMOVED],
        ["docs/"],
        catalog,
    )
    assert list(report) == [
        "generated_at", "generated_at_iso", "run", "include_patterns", "summary", "artifacts", "missing_artifacts",
        "removed_artifacts",
    ]  # fmt: skip
    assert report["generated_at_iso"] == "1972-09-27T00:00:00+00:00"
    assert report["run"] == {"run_id": "r1", "profile": "manual", "repo_head": "head"}
    assert report["summary"] == {
        "artifact_total": 3, "artifact_breakdown": {"code": 1, "doc": 1, "test": 1}, "chunk_count": 4,
    }  # fmt: skip
    assert report["artifacts"][1] == {
        "path": "b.py", "artifact_type": "code", "subsystem": "S", "chunk_count": 3, "git_commit": "c",
        "git_timestamp": 999 * DAY, "subsystem_criticality": "high", "coverage_ratio": 1.0, "content_digest": "d" * 64,
        "skipped": True, "symbols": ["b.py::f"], "exercises_symbols": [],
    }  # fmt: skip
    assert [row["path"] for row in report["missing_artifacts"]] == ["a.md"]
    assert report["missing_artifacts"][0]["coverage_ratio"] == 0.0
    assert report["removed_artifacts"] == [
        {"path": "old.md", "artifact_type": "doc", "subsystem": None, "digest": "dd", "status": "deleted"}
    ]
    json.dumps(report)


def test_the_lifecycle_report_has_all_its_fields() -> None:
    old = artifact("docs/old.md", "doc", "A", 31)
    state = ProjectState(
        artifacts=[
            old,
            artifact("docs/lost.md", "doc"),
            artifact("a.py", "code", "A"),
            artifact("b.py", "code", "B"),
            artifact("c.py", "code", "C"),
            artifact("t.py", "test", "B"),
            artifact("c.toml", "config"),
        ],
        unconnected={"DesignDoc:docs/lost.md", "IntegrationMessage:LostMessage", "ConfigFile:c.toml"},
        messages=["UsedMessage", "LostMessage"],
        symbols={
            "a.py": [symbol("a.py", "f")],
            "b.py": [symbol("b.py", "g")],
            "c.py": [symbol("c.py", "h"), symbol("c.py", "unused")],
            "t.py": [symbol("t.py", "test_f")],
        },
        tests_of={"a.py::f": {"t.py"}},
        callers={"a.py::f": 1, "b.py::g": 2, "c.py::h": 1},
        stale=[StaleDocument(old, tuple(CodePlace("a.py", f"a.py::f{number}") for number in range(9)))],
    )
    report = build_lifecycle(RUN, 1000 * DAY, 30, state, [REMOVED])
    assert list(report) == [
        "generated_at", "generated_at_iso", "run", "thresholds", "isolated", "stale_docs", "missing_tests",
        "removed_artifacts", "symbol_tests", "symbol_test_gaps", "summary",
    ]  # fmt: skip
    assert report["isolated"] == {
        "DesignDoc": [{"id": "DesignDoc:docs/lost.md", "path": "docs/lost.md", "name": "docs/lost.md"}],
        "SourceFile": [],
        "TestCase": [],
        "IntegrationMessage": [{"id": "IntegrationMessage:LostMessage", "path": None, "name": "LostMessage"}],
    }
    assert report["stale_docs"] == [
        {
            "path": "docs/old.md",
            "subsystem": "A",
            "git_timestamp": 969 * DAY,
            "changed_code": [f"a.py::f{number}" for number in range(5)],
        }
    ]
    # B has a test, and that test exercises A
    assert report["missing_tests"] == [{"subsystem": "C", "source_files": 1, "test_cases": 0}]
    assert report["symbol_tests"] == [
        {
            "symbol_id": "a.py::f",
            "qualified_name": "f",
            "name": "f",
            "source_path": "a.py",
            "tests": ["t.py"],
            "status": "Covered",
        }
    ]
    assert [(row["symbol_id"], row["status"], row["callers"]) for row in report["symbol_test_gaps"]] == [
        ("b.py::g", "Missing", 2),
        ("c.py::h", "Missing", 1),
    ]
    assert report["thresholds"] == {"stale_days": 30}
    assert report["summary"] == {
        "stale_docs": 1, "isolated_nodes": 2, "subsystems_missing_tests": 1, "removed_artifacts": 1, "symbol_tests": 1,
        "symbol_test_gaps": 3,
    }  # fmt: skip
    json.dumps(report)


def test_long_lists_of_symbols_are_cut_but_counted_in_full() -> None:
    symbols = [symbol("a.py", f"f{number}") for number in range(MAX_REPORTED_SYMBOLS + 5)]
    state = ProjectState(
        [artifact("a.py", "code")], symbols={"a.py": symbols}, callers={symbol.id: 1 for symbol in symbols}
    )
    report = build_lifecycle(RUN, 0.0, 30, state)
    assert len(report["symbol_test_gaps"]) == MAX_REPORTED_SYMBOLS
    assert report["summary"]["symbol_test_gaps"] == MAX_REPORTED_SYMBOLS + 5


##= docs/spec/gateway.md#km-lifecycle-report
##% The symbols without tests that are listed MUST be public functions and methods that other code calls, the most
##% called first.
def test_only_the_gaps_that_matter_are_listed() -> None:
    names = ["idle", "busy", "busier", "private", "Shape"]
    symbols = [symbol("a.py", name, "class" if name == "Shape" else "function") for name in names]
    example = symbol("examples/e.py", "shown")
    state = ProjectState(
        [artifact("a.py", "code"), artifact("examples/e.py", "code")],
        symbols={"a.py": symbols, "examples/e.py": [example]},
        callers={"a.py::busy": 1, "a.py::busier": 5, "a.py::private": 9, "a.py::Shape": 9, example.id: 9},
        unlisted={"a.py::private"},
    )
    report = build_lifecycle(RUN, 0.0, 30, state)
    assert [row["name"] for row in report["symbol_test_gaps"]] == ["busier", "busy"]
    assert report["summary"]["symbol_test_gaps"] == len(names)


##= docs/spec/gateway.md#km-lifecycle-report
##% A node MUST be reported as isolated only if it has no edges except to its own parts.
@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("docs/plan.md", "doc", True), ("NOTES.rst", "doc", True), ("docs/data.txt", "doc", False), ("LICENSE", "doc", False),
        ("README.md", "doc", False), ("docs/Makefile", "doc", False), ("docs/style.css", "doc", False),
        ("docs/a.html", "doc", False),
        ("CODE_OF_CONDUCT.md", "doc", False), ("docs/subsystems.json", "doc", False), ("docs/.gitignore", "doc", False),
        ("CHANGELOG.md", "doc", False), ("src/a.py", "code", True), ("setup.py", "code", False), ("docs/conf.py", "code", False),
        ("examples/a.py", "code", False), ("a.css", "code", False), ("tests/test_a.py", "test", True),
        ("tests/data.json", "test", False),
        ("tests/helpers.py", "test", False), ("web/tests/test_b.py", "test", False), ("tests/a.rs", "test", True),
    ],
)  # fmt: skip
def test_files_that_are_found_without_an_edge_are_not_isolated(path: str, kind: ArtifactType, expected: bool) -> None:
    file = artifact(path, kind)
    file = replace(file, title=path.rpartition("/")[2])
    conftest = artifact("web/conftest.py", "test")
    state = ProjectState([file, conftest], unconnected={artifact_node_id(path, kind), "TestCase:web/conftest.py"})
    isolated = build_lifecycle(RUN, 0.0, 30, state)["isolated"]
    assert [row["path"] for rows in isolated.values() for row in rows] == ([path] if expected else [])


def test_reports_of_an_empty_project_are_empty() -> None:
    assert build_coverage(RUN, 0.0, {}, [], [])["summary"]["artifact_total"] == 0
    assert build_lifecycle(RUN, 0.0, 30, ProjectState([]))["summary"]["isolated_nodes"] == 0
