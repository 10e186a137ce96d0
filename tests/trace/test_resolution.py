"""Which files on disk the target of a citation can be, as in duvet."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.ingest.traced_project import TracedProject
from contextive.trace.duvet_config import SourcePattern, TraceSettings
from contextive.trace.snapshot import write_snapshot
from contextive.workspace.files import ProjectFiles

SPEC = "# T\n\nSome words.\n"
TOML = "[[exception]]\ntarget = '{target}#t'\nquote = 'Some words.'\nreason = 'r'\n"


@pytest.fixture
def project(tmp_path: Path) -> TracedProject:
    root = tmp_path.resolve() / "outer" / "project"
    (root / "src").mkdir(parents=True)
    return TracedProject(ProjectFiles(root), TraceSettings(sources=(SourcePattern("src/*.rs"),)))


def write(project: TracedProject, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = project.files.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def targets(project: TracedProject) -> list[str]:
    state = project.read()
    assert state.problems == ()
    return [target.path for target in state.analysis.reports]


def test_a_target_in_a_comment_is_a_file_in_the_project_or_above_it(project: TracedProject) -> None:
    write(project, {"specs/in.md": SPEC, "../up.md": SPEC, "src/a.rs": "//= specs/in.md#t\n\n//= up.md#t\n"})
    assert targets(project) == [f"{project.files.root.parent}/up.md", "specs/in.md"]


def test_a_target_in_a_toml_file_is_a_file_near_it(project: TracedProject) -> None:
    write(project, {".duvet/specs/x.md": SPEC, ".duvet/exceptions/a/b.toml": TOML.format(target="specs/x.md")})
    assert targets(project) == [".duvet/specs/x.md"]


def test_the_same_target_in_a_comment_and_a_toml_file_may_be_different_files(project: TracedProject) -> None:
    write(project, {"../x.md": SPEC, ".duvet/x.md": SPEC, "src/a.rs": "//= x.md#t\n"})
    write(project, {".duvet/exceptions/a.toml": TOML.format(target="x.md")})
    assert targets(project) == [f"{project.files.root.parent}/x.md", ".duvet/x.md"]


def test_an_absolute_path_into_the_project_is_shown_as_relative(project: TracedProject) -> None:
    root = project.files.root
    write(project, {"x.md": SPEC, "src/a.rs": f"//= {root}/./x.md#t\n//# Some words.\n"})
    assert targets(project) == [f"{root}/./x.md"]
    snapshot = write_snapshot(project.read().analysis.reports.values())
    assert snapshot == "SPECIFICATION: [T](x.md)\n  SECTION: [T](#t)\n    TEXT[implementation]: Some words.\n"


def test_a_file_that_does_not_exist_is_a_problem(project: TracedProject) -> None:
    write(project, {"src/a.rs": "//= no where.md#t\n"})
    assert [problem.message for problem in project.read().problems] == ['Could not resolve file "no where.md"']
