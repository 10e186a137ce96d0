"""Finds the constants of contextive.search.relevance from questions about real projects.

    python -m benchmarks.relevance_fit CHECKOUTS [NAME …]

The projects, their questions and their indexes are those of benchmarks.relevance; projects whose index has no embeddings
only count for search by words. Prints the present constants and those of the logistic regression, and for some limits how
many questions would be answered wrongly. (A known identifier is always answered, whatever its relevance is.) Leave some
projects out, and measure them with the new constants.
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
from contextive.search.relevance import (
    HYBRID,
    LARGEST_INDEX,
    LEXICAL,
    SMALLEST_INDEX,
    USUAL_INDEX,
    Calibration,
    Evidence,
)
from contextive.search.service import SearchService
from contextive.store import open_store

ROUNDS, STEPS, PENALTY, SMALLEST_STEP = 4, 30, 0.1, 1e-6
LIMITS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.42, 0.45, 0.5)
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
    """Ask all questions."""
    asked = []
    for questions, is_real in ((project.real, True), (project.off_topic, False)):
        for question in questions:
            request = SearchRequest(question.query, include_graph=False, only_relevant=False)
            found = tuple(facts(result.evidence) for result in service.search(request).results)
            asked.append(Asked(is_real, found))
    return asked


def fit(all_asked: Sequence[Asked], used: int) -> Vector:
    """The constants for the first `used` facts. Which passage is the best one depends on them, so they are found in rounds."""
    asked = [one for one in all_asked if one.found]
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
            step = np.linalg.solve(curvature, gradient)
            loss = _loss(rows, labels, weights, constants)
            while _loss(rows, labels, weights, constants + step) > loss and np.abs(step).max() > SMALLEST_STEP:
                step = step / 2
            constants = constants + step
    return constants


def _loss(rows: Vector, labels: Vector, weights: Vector, constants: Vector) -> float:
    expected = np.clip(_probability(rows @ constants), 1e-12, 1 - 1e-12)
    likelihood = weights @ (labels * np.log(expected) + (1 - labels) * np.log(1 - expected))
    return float(PENALTY * constants @ constants / 2 - likelihood)


def report(title: str, asked: Sequence[Asked], now: Calibration, used: int) -> None:
    """Print what limits do with the present constants and with those that fit best."""
    present = np.array([getattr(now, name) for name in NAMES[:used]])
    for which, constants in (("now", present), ("best", fit(asked, used))):
        print(
            f"\n{title} {which}: "
            + ", ".join(f"{name}={value:.1f}" for name, value in zip(NAMES, constants, strict=False))
        )
        best = [max((float(_probability(row[:used] @ constants)) for row in one.found), default=0.0) for one in asked]
        real = [value for value, one in zip(best, asked, strict=True) if one.is_real]
        others = [value for value, one in zip(best, asked, strict=True) if not one.is_real]
        for limit in LIMITS:
            missed = sum(value < limit for value in real) / len(real)
            refused = sum(value < limit for value in others) / len(others)
            print(f"  limit {limit}: {100 * missed:.1f} % of the real questions missed, {100 * refused:.1f} % refused")


def _probability(logit: Vector) -> Vector:
    return 1.0 / (1.0 + np.exp(-np.clip(logit, -500, 500)))


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
    report("LEXICAL", asked["words"], LEXICAL, len(NAMES) - 1)
    if asked["hybrid"]:
        report("HYBRID", asked["hybrid"], HYBRID, len(NAMES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
