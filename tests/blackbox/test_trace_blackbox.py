"""Real specifications and a real project, with the results of duvet. Skipped without the black-box cases."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from contextive.ingest.traced_project import TracedProject
from contextive.trace.duvet_config import parse_duvet_config
from contextive.trace.extraction import extract_requirements
from contextive.trace.snapshot import write_snapshot
from contextive.trace.specification import Format, parse_specification
from contextive.workspace.files import ProjectFiles
from tests.blackbox import FOLDER, skip_without_cases

EXPECTED = sorted((FOLDER / "duvet_extract").glob("*.expected.json"))
PROJECT = FOLDER / "h3_annotations"

pytestmark = skip_without_cases


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda path: path.name.split(".")[0])
def test_the_requirements_of_a_real_specification_are_those_that_duvet_extracts(expected: Path) -> None:
    name = expected.name.split(".")[0]
    (specification,) = (FOLDER / "duvet_extract" / "specs").glob(f"{name}.*")
    text = specification.read_bytes().decode("utf-8")
    found = [
        {"section": section.id, "level": requirement.level.name, "quote": list(requirement.quote)}
        for section, requirements in extract_requirements(parse_specification(text, Format.AUTO, specification.name))
        for requirement in requirements
    ]
    recorded: list[dict[str, Any]] = json.loads(expected.read_text(encoding="utf-8"))
    assert found == recorded


def test_the_snapshot_of_a_real_project_is_the_committed_one(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "h3"
    shutil.copytree(PROJECT, root)
    config = (root / ".duvet" / "config.toml").read_text(encoding="utf-8")
    settings = parse_duvet_config(config, ".duvet/config.toml", {})
    state = TracedProject(ProjectFiles(root), settings).read()
    assert state.problems == ()
    committed = (root / ".duvet" / "snapshot.txt").read_bytes().decode("utf-8")
    assert write_snapshot(state.analysis.reports.values()) == committed
