"""The lifecycle report: isolated nodes, documents that are behind their code, and code without tests."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from contextive.knowledge.artifact import Artifact
from contextive.knowledge.classification import is_test_module
from contextive.knowledge.coverage import RemovedArtifact, ReportRun, iso_time
from contextive.knowledge.exercised_symbols import is_test_symbol
from contextive.knowledge.graph import EDGE_TYPES, EdgeType, Label
from contextive.knowledge.languages import language_of
from contextive.knowledge.node_ids import ARTIFACT_LABELS, node_id
from contextive.knowledge.stale_documents import StaleDocument, is_design_document, is_entry_point
from contextive.knowledge.support_code import is_product_code
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.untested_subsystems import untested_subsystems

ISOLATED_LABELS: Final[tuple[Label, ...]] = ("DesignDoc", "SourceFile", "TestCase", "IntegrationMessage")
OWN_EDGES: Final = frozenset[EdgeType]({"HAS_CHUNK", "DECLARES_SYMBOL"})
"""Edges from a file to its own parts, which connect it with nothing."""
CONNECTING_EDGES: Final = tuple(kind for kind in EDGE_TYPES if kind not in OWN_EDGES)
MAX_REPORTED_SYMBOLS: Final = 2_000
MAX_REPORTED_CODE: Final = 5
"""The limit of changed places of code that are named for one document."""


@dataclass(frozen=True, slots=True)
class ProjectState:
    """The contents of the index when the report is built."""

    artifacts: Sequence[Artifact]
    unconnected: Collection[str] = ()
    """Ids of the files and messages without an edge to anything but their own parts."""
    messages: Collection[str] = ()
    """Names of the integration messages that are nodes."""
    symbols: Mapping[str, Sequence[Symbol]] = field(default_factory=dict)
    """The symbols of each file by its path."""
    tests_of: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Paths of the tests that exercise a symbol, by the symbol's id."""
    imported_by_tests: Collection[str] = ()
    """Paths of the files that tests import."""
    callers: Mapping[str, int] = field(default_factory=dict)
    """The number of symbols and files that call a symbol, by the symbol's id."""
    unlisted: Collection[str] = ()
    """Ids of the symbols that are private, or whose name some test mentions."""
    stale: Sequence[StaleDocument] = ()


def build_lifecycle(
    run: ReportRun,
    generated_at: float,
    stale_days: int,
    state: ProjectState,
    removed: Iterable[RemovedArtifact] = (),
) -> dict[str, Any]:
    """The report as it is stored and returned.

    Lists of symbols are cut at MAX_REPORTED_SYMBOLS, and only the gaps that matter most are listed; the summary counts
    all of them.
    """
    isolated = _isolated(state)
    stale = [_stale_row(document) for document in state.stale]
    covered, gaps = _symbol_tests(state)
    reached = {row["source_path"] for row in covered} | set(state.imported_by_tests)
    missing = [
        {"subsystem": found.name, "source_files": found.source_files, "test_cases": 0}
        for found in untested_subsystems(state.artifacts, state.symbols, reached)
    ]
    listed = prioritised_gaps(gaps, state)
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
        "symbol_test_gaps": listed[:MAX_REPORTED_SYMBOLS],
        "summary": {
            "stale_docs": len(stale),
            "isolated_nodes": sum(len(nodes) for nodes in isolated.values()),
            "subsystems_missing_tests": len(missing),
            "removed_artifacts": len(removed_rows),
            "symbol_tests": len(covered),
            "symbol_test_gaps": len(gaps),
        },
    }


##= docs/spec/gateway.md#km-lifecycle-report
##% A node MUST be reported as isolated only if it has no edges except to its own parts.
def _isolated(state: ProjectState) -> dict[str, list[dict[str, Any]]]:
    """The unconnected nodes whose connections the index would see."""
    found: dict[str, list[dict[str, Any]]] = {label: [] for label in ISOLATED_LABELS}
    with_conftest = {
        posixpath.dirname(artifact.path)
        for artifact in state.artifacts
        if posixpath.basename(artifact.path) == "conftest.py"
    }
    for artifact in sorted(state.artifacts, key=lambda artifact: artifact.path):
        label = ARTIFACT_LABELS[artifact.artifact_type]
        identifier = node_id(label, artifact.path)
        if label in found and identifier in state.unconnected and _needs_connection(artifact, with_conftest):
            found[label].append({"id": identifier, "path": artifact.path, "name": artifact.title})
    for name in sorted(state.messages):
        identifier = node_id("IntegrationMessage", name)
        if identifier in state.unconnected:
            found["IntegrationMessage"].append({"id": identifier, "path": None, "name": name})
    return found


def _needs_connection(artifact: Artifact, with_conftest: Collection[str]) -> bool:
    """Whether a file would be connected if it was in use: a document, product code, or a test that imports something.

    Of files in unknown languages nothing is known. Python tests may get what they test from fixtures of a conftest.py.
    """
    path = artifact.path
    match artifact.artifact_type:
        case "doc":
            return is_design_document(artifact) and not is_entry_point(path)
        case "code" | "proto":
            return language_of(path) is not None and is_product_code(path)
        case _:
            has_fixtures = path.endswith(".py") and any(
                not folder or path.startswith(f"{folder}/") for folder in with_conftest
            )
            return is_test_module(path) and language_of(path) is not None and not has_fixtures


def _stale_row(document: StaleDocument) -> dict[str, Any]:
    artifact = document.artifact
    return {
        "path": artifact.path,
        "subsystem": artifact.subsystem,
        "git_timestamp": artifact.git.timestamp if artifact.git else None,
        "changed_code": [place.name for place in document.changed[:MAX_REPORTED_CODE]],
    }


def _symbol_tests(state: ProjectState) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The symbols of product code that tests exercise, and those without tests, by path and line."""
    covered: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    for artifact in sorted(state.artifacts, key=lambda artifact: artifact.path):
        path = artifact.path
        is_product = artifact.artifact_type == "code" and is_product_code(path)
        if ARTIFACT_LABELS[artifact.artifact_type] != "SourceFile":
            continue
        for symbol in sorted(state.symbols.get(path, ()), key=lambda symbol: (symbol.line_start, symbol.id)):
            tests = sorted(state.tests_of.get(symbol.id, ()))
            row = {
                "symbol_id": symbol.id,
                "qualified_name": symbol.qualified_name,
                "name": symbol.name,
                "source_path": path,
                "tests": tests,
                "status": "Covered" if tests else "Missing",
            }
            if tests:
                covered.append(row)
            elif is_product and not is_test_symbol(symbol.id):
                gaps.append(row)
    return covered, gaps


##= docs/spec/gateway.md#km-lifecycle-report
##% The symbols without tests that are listed MUST be public functions and methods that other code calls, the most
##% called first.
def prioritised_gaps(gaps: Iterable[Mapping[str, Any]], state: ProjectState) -> list[dict[str, Any]]:
    """The gaps that matter, with the number of callers."""
    functions = {s.id for those in state.symbols.values() for s in those if s.kind in ("function", "method")}
    listed = [
        {**row, "callers": state.callers[row["symbol_id"]]}
        for row in gaps
        if row["symbol_id"] in functions
        and row["symbol_id"] in state.callers
        and row["symbol_id"] not in state.unlisted
    ]
    return sorted(listed, key=lambda row: -row["callers"])
