"""The measurement of benchmarks/planted_changes.py in short, on a part of this project."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from benchmarks.planted_changes import CLEAN, PLANTS, Measured, Tally

from tests.conventions.source_tree import ROOT
from tests.workspace.repositories import commit, init

_COPIED = (
    ".duvet/config.toml",
    "docs/spec",
    "src/contextive/trace",
    "src/contextive/workspace",
    "tests/trace",
    "tests/workspace",
)


def test_planted_changes_are_found_and_others_are_not_reported(tmp_path: Path) -> None:
    for name in _COPIED:
        source, target = ROOT / name, tmp_path / "project" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    init(tmp_path / "project")
    commit(tmp_path / "project", {}, 1_700_000_000)
    tally = Tally()
    measured = Measured(tmp_path / "project", random.Random(25), tally)
    for _ in range(8):
        for kind in PLANTS:
            measured.plant(kind)
        measured.must()
        for kind in (*CLEAN, "move"):
            measured.clean(kind)
    assert tally.planted.total() >= 30
    assert tally.missed == []
    assert len(tally.clean) >= 15
    assert tally.noise == []
