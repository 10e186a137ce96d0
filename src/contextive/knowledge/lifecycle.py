"""The lifecycle report: isolated nodes, stale documents, and code without tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contextive.knowledge.artifact import Artifact
from contextive.knowledge.coverage import RemovedArtifact, ReportRun, iso_time
from contextive.knowledge.graph import Edge, Label
from contextive.knowledge.node_ids import ARTIFACT_LABELS, node_id
from contextive.knowledge.symbol import Symbol

ISOLATED_LABELS: Final[tuple[Label, ...]] = ("DesignDoc", "SourceFile", "TestCase", "IntegrationMessage")
SUBSYSTEM_EDGES: Final = frozenset({"BELONGS_TO", "DESCRIBES", "VALIDATES", "IMPLEMENTS"})
"""Edges that make a node part of a subsystem. A message is part of the subsystem that implements it."""
MAX_REPORTED_SYMBOLS: Final = 2_000
_SECONDS_PER_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class ProjectState:
    """The contents of the index when the report is built."""

    artifacts: Sequence[Artifact]
    edges: Iterable[Edge] = ()
    """At least all edges between subsystems and other nodes; other edges are ignored."""
    messages: Collection[str] = ()
    """Names of the integration messages that are nodes."""
    symbols: Iterable[tuple[str, Symbol]] = ()
    """The symbols of code, each with the path of the file that declares it."""
    tests_of: Mapping[str, Sequence[str]] | None = None
    """Paths of the tests that exercise a symbol, by the symbol's id."""


def build_lifecycle(
    run: ReportRun,
    generated_at: float,
    stale_days: int,
    state: ProjectState,
    removed: Iterable[RemovedArtifact] = (),
) -> dict[str, Any]:
    """The report as it is stored and returned.

    Lists of symbols are cut at MAX_REPORTED_SYMBOLS; the summary counts all of them.
    """
    isolated = _isolated(state)
    stale = _stale_docs(state.artifacts, generated_at - stale_days * _SECONDS_PER_DAY)
    covered, gaps = _symbol_tests(state)
    missing = _missing_tests(state.artifacts, {row["source_path"] for row in covered})
    removed_rows = [item.as_dict() for item in sorted(removed, key=lambda item: item.path)]
    return {
        "generated_at": generated_at,
        "generated_at_iso": iso_time(generated_at),
        "run": run.as_dict(),
        "thresholds": {"stale_days": stale_days},
        "isolated": isolated,
        "stale_docs": stale,
        "missing_tests": missing,
        "removed_artifacts": removed_rows,
        "symbol_tests": covered[:MAX_REPORTED_SYMBOLS],
        "symbol_test_gaps": gaps[:MAX_REPORTED_SYMBOLS],
        "summary": {
            "stale_docs": len(stale),
            "isolated_nodes": sum(len(nodes) for nodes in isolated.values()),
            "subsystems_missing_tests": len(missing),
            "removed_artifacts": len(removed_rows),
            "symbol_tests": len(covered),
            "symbol_test_gaps": len(gaps),
        },
    }


def _isolated(state: ProjectState) -> dict[str, list[dict[str, Any]]]:
    """The nodes that are not connected to a subsystem."""
    connected: set[str] = set()
    for edge in state.edges:
        if edge.type in SUBSYSTEM_EDGES:
            if edge.target.startswith("Subsystem:"):
                connected.add(edge.source)
            elif edge.source.startswith("Subsystem:"):
                connected.add(edge.target)
    found: dict[str, list[dict[str, Any]]] = {label: [] for label in ISOLATED_LABELS}
    for artifact in sorted(state.artifacts, key=lambda artifact: artifact.path):
        label = ARTIFACT_LABELS[artifact.artifact_type]
        identifier = node_id(label, artifact.path)
        if label in found and identifier not in connected:
            found[label].append({"id": identifier, "path": artifact.path, "name": artifact.title})
    for name in sorted(state.messages):
        identifier = node_id("IntegrationMessage", name)
        if identifier not in connected:
            found["IntegrationMessage"].append({"id": identifier, "path": None, "name": name})
    return found


##= docs/spec/gateway.md#km-lifecycle-report
##% A document MUST be reported as stale when its last commit is older than `knowledge.staleDays`.
def _stale_docs(artifacts: Iterable[Artifact], before: float) -> list[dict[str, Any]]:
    """Documents whose last commit is before a time, oldest first. Files unknown to git are never stale."""
    old = [
        (artifact.git.timestamp, artifact.path, artifact.subsystem)
        for artifact in artifacts
        if artifact.artifact_type == "doc" and artifact.git is not None and artifact.git.timestamp < before
    ]
    return [
        {"path": path, "subsystem": subsystem, "git_timestamp": timestamp}
        for timestamp, path, subsystem in sorted(old, key=lambda row: row[:2])
    ]


##= docs/spec/gateway.md#km-lifecycle-report
##% A subsystem MUST NOT be reported as untested if a test exercises its code, regardless of the subsystem of that
##% test.
def _missing_tests(artifacts: Iterable[Artifact], exercised: Collection[str]) -> list[dict[str, Any]]:
    """Subsystems with code but no tests: no test belongs to them, and none exercises one of their files."""
    counts: dict[str, list[int]] = {}
    for artifact in artifacts:
        if artifact.subsystem:
            label = ARTIFACT_LABELS[artifact.artifact_type]
            count = counts.setdefault(artifact.subsystem, [0, 0])
            count[0] += label == "SourceFile"
            count[1] += label == "TestCase" or artifact.path in exercised
    return [
        {"subsystem": name, "source_files": sources, "test_cases": tests}
        for name, (sources, tests) in sorted(counts.items())
        if sources and not tests
    ]


def _symbol_tests(state: ProjectState) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The symbols that tests exercise, and the symbols without tests."""
    sources = {a.path for a in state.artifacts if ARTIFACT_LABELS[a.artifact_type] == "SourceFile"}
    tests_of = state.tests_of or {}
    covered: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    for path, symbol in sorted(state.symbols, key=lambda item: (item[0], item[1].line_start, item[1].id)):
        if path not in sources:
            continue
        tests = sorted(set(tests_of.get(symbol.id, ())))
        row = {
            "symbol_id": symbol.id,
            "qualified_name": symbol.qualified_name,
            "name": symbol.name,
            "source_path": path,
            "tests": tests,
            "status": "Covered" if tests else "Missing",
        }
        (covered if tests else gaps).append(row)
    return covered, gaps
