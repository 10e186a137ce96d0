from __future__ import annotations

import json

from contextive.knowledge.artifact import Artifact, ArtifactType, LastCommit, Totals
from contextive.knowledge.coverage import CoveredArtifact, RemovedArtifact, ReportRun, build_coverage
from contextive.knowledge.graph import Edge
from contextive.knowledge.lifecycle import MAX_REPORTED_SYMBOLS, ProjectState, build_lifecycle
from contextive.knowledge.subsystems import parse_catalog
from contextive.knowledge.symbol import Symbol

RUN = ReportRun("r1", "manual", "head")
DAY = 86_400.0
REMOVED = RemovedArtifact("old.md", "doc", None, "dd")


def artifact(path: str, kind: ArtifactType, subsystem: str | None = None, age: float | None = None) -> Artifact:
    git = None if age is None else LastCommit("c", 1000 * DAY - age * DAY)
    return Artifact(path, kind, "d" * 64, 1, path, "n", subsystem, git=git)


def symbol(path: str, name: str) -> tuple[str, Symbol]:
    return path, Symbol(f"{path}::{name}", name, name, "function", "python", 1, 2)


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


##= docs/spec/gateway.md#km-lifecycle-report
##% A document MUST be reported as stale when its last commit is older than `knowledge.staleDays`.
##= docs/spec/gateway.md#km-lifecycle-report
##% A subsystem MUST NOT be reported as untested if a test exercises its code, regardless of the subsystem of that
##% test.
def test_the_lifecycle_report_has_all_its_fields() -> None:
    state = ProjectState(
        artifacts=[
            artifact("old.md", "doc", "A", 31),
            artifact("new.md", "doc", None, 29),
            artifact("unknown.md", "doc"),
            artifact("a.py", "code", "A"),
            artifact("b.py", "code", "B"),
            artifact("c.py", "code", "C"),
            artifact("t.py", "test", "B"),
            artifact("c.toml", "config"),
        ],
        edges=[
            Edge("DesignDoc:old.md", "DESCRIBES", "Subsystem:A"),
            Edge("SourceFile:a.py", "BELONGS_TO", "Subsystem:A"),
            Edge("SourceFile:b.py", "BELONGS_TO", "Subsystem:B"),
            Edge("SourceFile:c.py", "BELONGS_TO", "Subsystem:C"),
            Edge("Subsystem:A", "IMPLEMENTS", "IntegrationMessage:UsedMessage"),
            Edge("TestCase:t.py", "EXERCISES", "Symbol:a.py::f"),
        ],
        messages=["UsedMessage", "LostMessage"],
        symbols=[symbol("a.py", "f"), symbol("b.py", "g"), symbol("t.py", "test_f")],
        tests_of={"a.py::f": ["t.py", "t.py"]},
    )
    report = build_lifecycle(RUN, 1000 * DAY, 30, state, [REMOVED])
    assert list(report) == [
        "generated_at", "generated_at_iso", "run", "thresholds", "isolated", "stale_docs", "missing_tests",
        "removed_artifacts", "symbol_tests", "symbol_test_gaps", "summary",
    ]  # fmt: skip
    assert report["isolated"] == {
        "DesignDoc": [
            {"id": "DesignDoc:new.md", "path": "new.md", "name": "new.md"},
            {"id": "DesignDoc:unknown.md", "path": "unknown.md", "name": "unknown.md"},
        ],
        "SourceFile": [],
        "TestCase": [{"id": "TestCase:t.py", "path": "t.py", "name": "t.py"}],
        "IntegrationMessage": [{"id": "IntegrationMessage:LostMessage", "path": None, "name": "LostMessage"}],
    }
    assert report["stale_docs"] == [{"path": "old.md", "subsystem": "A", "git_timestamp": 969 * DAY}]
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
    assert [(row["symbol_id"], row["status"]) for row in report["symbol_test_gaps"]] == [("b.py::g", "Missing")]
    assert report["thresholds"] == {"stale_days": 30}
    assert report["summary"] == {
        "stale_docs": 1, "isolated_nodes": 4, "subsystems_missing_tests": 1, "removed_artifacts": 1, "symbol_tests": 1,
        "symbol_test_gaps": 1,
    }  # fmt: skip
    json.dumps(report)


def test_long_lists_of_symbols_are_cut_but_counted_in_full() -> None:
    symbols = [symbol("a.py", f"f{number}") for number in range(MAX_REPORTED_SYMBOLS + 5)]
    report = build_lifecycle(RUN, 0.0, 30, ProjectState([artifact("a.py", "code")], symbols=symbols))
    assert len(report["symbol_test_gaps"]) == MAX_REPORTED_SYMBOLS
    assert report["summary"]["symbol_test_gaps"] == MAX_REPORTED_SYMBOLS + 5


def test_reports_of_an_empty_project_are_empty() -> None:
    assert build_coverage(RUN, 0.0, {}, [], [])["summary"]["artifact_total"] == 0
    assert build_lifecycle(RUN, 0.0, 30, ProjectState([]))["summary"]["isolated_nodes"] == 0
