"""Finds the constants of contextive.search.relevance from questions about real projects.

    python -m benchmarks.relevance_fit CHECKOUTS [NAME …]

The projects, their questions and their indexes are those of benchmarks.relevance; projects whose index has no embeddings
only count for search by words. Prints the constants of the logistic regression, and for some limits how many questions would
be answered wrongly. Leave some projects out, and measure them with the new constants.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.relevance import Project, find_projects, services
from contextive.search.answer import SearchRequest
from contextive.search.embedding.factory import open_embedder
from contextive.search.relevance import LARGEST_INDEX, SMALLEST_INDEX, USUAL_INDEX, Evidence
from contextive.search.service import SearchService
from contextive.store import open_store

ROUNDS, STEPS, PENALTY = 4, 30, 1e-3
LIMITS = (0.3, 0.35, 0.4, 0.42, 0.45, 0.5, 0.55)
NAMES = ("constant", "coverage", "known", "size", "cosine")

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the facts about its best passages."""

    is_real: bool
    found: tuple[Vector, ...]


def facts(evidence: Evidence) -> Vector:
    """The facts about a passage in the order of NAMES."""
    size = math.log(min(LARGEST_INDEX, max(SMALLEST_INDEX, evidence.texts)) / USUAL_INDEX)
    return np.array([1.0, evidence.coverage, evidence.known, size, evidence.cosine or 0.0])


def ask(service: SearchService, project: Project) -> list[Asked]:
    """Ask all questions. The relevance of an index that nothing is found in is not a matter of constants."""
    asked = []
    for questions, is_real in ((project.real, True), (project.off_topic, False)):
        for question in questions:
            request = SearchRequest(question.query, include_graph=False, only_relevant=False)
            found = tuple(facts(result.evidence) for result in service.search(request).results)
            if found:
                asked.append(Asked(is_real, found))
    return asked


def fit(asked: Sequence[Asked], used: int) -> Vector:
    """The constants for the first `used` facts. Which passage is the best one depends on them, so they are found in rounds."""
    constants = np.array([-8.0, 8.0, 5.0, -1.0, 12.0])[:used]
    labels = np.array([one.is_real for one in asked], dtype=float)
    # Real and off-topic questions count alike, however many there are.
    weights = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))
    for _ in range(ROUNDS):
        rows = np.array([max(one.found, key=lambda row: float(row[:used] @ constants))[:used] for one in asked])
        for _ in range(STEPS):
            expected = _probability(rows @ constants)
            gradient = rows.T @ (weights * (labels - expected)) - PENALTY * constants
            curvature = (rows * (weights * expected * (1 - expected))[:, None]).T @ rows + PENALTY * np.eye(used)
            constants = constants + np.linalg.solve(curvature, gradient)
    return constants


def report(title: str, asked: Sequence[Asked], used: int) -> None:
    """Print the constants, and what limits would do."""
    constants = fit(asked, used)
    print(f"\n{title}: " + ", ".join(f"{name}={value:.1f}" for name, value in zip(NAMES, constants, strict=False)))
    best = [max(float(_probability(row[:used] @ constants)) for row in one.found) for one in asked]
    real = [value for value, one in zip(best, asked, strict=True) if one.is_real]
    others = [value for value, one in zip(best, asked, strict=True) if not one.is_real]
    for limit in LIMITS:
        missed = sum(value < limit for value in real) / len(real)
        refused = sum(value < limit for value in others) / len(others)
        print(f"  limit {limit}: {100 * missed:.1f} % of the real questions missed, {100 * refused:.1f} % refused")


def _probability(logit: Vector) -> Vector:
    return 1.0 / (1.0 + np.exp(-logit))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", type=Path, help="folder with the projects")
    parser.add_argument("names", nargs="*", metavar="NAME", help="some of the projects; all by default")
    arguments = parser.parse_args()
    embedder = open_embedder("minilm")
    asked: dict[str, list[Asked]] = {"words": [], "hybrid": []}
    for project in find_projects(arguments.checkouts, arguments.names):
        store = open_store(project.root / ".contextive", project=project.root)
        for name, service in services(store, embedder):
            if name in asked:
                asked[name] += ask(service, project)
        store.close()
    if not asked["words"]:
        parser.error("no project with questions and an index")
    report("LEXICAL", asked["words"], len(NAMES) - 1)
    if asked["hybrid"]:
        report("HYBRID", asked["hybrid"], len(NAMES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
