"""Contextive traces itself: code implements and a test checks every requirement of docs/spec, and CI enforces it."""

from __future__ import annotations

import re
import shutil
import tomllib
from functools import cache
from pathlib import Path

import pytest

from contextive.cli import run
from contextive.ingest.trace_service import TraceService, TraceView
from contextive.trace.level import CitationType
from contextive.trace.reports.badge import write_badge
from contextive.trace.requirement import Requirement, StatusSummary

from .source_tree import ROOT, Module, source_modules

CONFIG = ROOT / ".duvet" / "config.toml"
SECTION = "docs/spec/notes.md#failures"
REQUIREMENT = "A note MUST sing."


@cache
def traced() -> TraceView:
    return TraceService(ROOT).view()


def describe(requirement: Requirement) -> str:
    return f"{requirement.target.path}#{requirement.section.id}: {requirement.text}"


def cited_below(folder: str, requirement: Requirement, *types: CitationType) -> bool:
    return any(citation.source.startswith(folder) for citation in requirement.citations_of(*types))


def test_every_specification_page_is_traced() -> None:
    named = {entry["source"] for entry in tomllib.loads(CONFIG.read_text(encoding="utf-8"))["specification"]}
    assert named == {f"docs/spec/{page.name}" for page in (ROOT / "docs" / "spec").glob("*.md")}


def test_every_requirement_is_implemented_and_tested() -> None:
    requirements = traced().catalog.requirements
    assert len(requirements) > 500
    # A requirement that the project has a certain test is implemented and checked by that test.
    others = [r for r in requirements if not cited_below("tests/", r, CitationType.IMPLICATION)]
    assert [describe(r) for r in others if not cited_below("src/", r, CitationType.CITATION)] == []
    assert [describe(r) for r in others if not cited_below("tests/", r, CitationType.TEST)] == []
    assert [describe(r) for r in requirements if not r.status.is_done] == []


def test_only_requirements_about_tests_are_implemented_by_tests_alone() -> None:
    alone = [r for r in traced().catalog.requirements if r.citations_of(CitationType.IMPLICATION)]
    assert {r.section.id for r in alone} == {"tests-of-the-project"}
    assert [describe(r) for r in traced().catalog.requirements if r.citations_of(CitationType.EXCEPTION)] == []


def test_every_citation_of_this_project_is_valid() -> None:
    assert [f"{problem.location}: {problem.message}" for problem in traced().state.problems] == []


def test_the_badge_in_the_readme_is_generated_and_current() -> None:
    kept = (ROOT / "docs" / "badge.svg").read_text(encoding="utf-8")
    assert kept == write_badge(StatusSummary.of(traced().catalog.requirements)), "run `make badge`"
    assert "docs/badge.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_make_test_runs_the_citation_check() -> None:
    recipe = re.search(r"^test:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe
    assert "duvet report --ci\n" in recipe[1]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the traced files."""
    copy = tmp_path_factory.mktemp("traced")
    (copy / ".duvet").mkdir()
    shutil.copy(CONFIG, copy / ".duvet" / "config.toml")
    for folder in ("docs/spec", "src", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.db"))
    return copy


@pytest.mark.parametrize(
    ("requirement", "in_code", "in_test", "message"),
    [
        (None, None, None, None),
        (REQUIREMENT, REQUIREMENT, REQUIREMENT, None),
        (REQUIREMENT, None, None, "requirements missing citation"),
        (REQUIREMENT, None, REQUIREMENT, "requirements missing citation"),
        (REQUIREMENT, REQUIREMENT, None, "Citation missing test"),
        (REQUIREMENT, REQUIREMENT, "A note MUST dance.", "could not find text"),
        (None, REQUIREMENT, None, "could not find text"),
    ],
    ids=["unchanged", "done", "uncited", "no code", "no test", "wrong quote", "no such requirement"],
)
def test_the_citation_check_wants_code_and_test_for_every_requirement(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    requirement: str | None,
    in_code: str | None,
    in_test: str | None,
    message: str | None,
) -> None:
    monkeypatch.chdir(tree)
    page = tree / "docs" / "spec" / "notes.md"
    before = page.read_text(encoding="utf-8")
    extra = {tree / "src/contextive/extra.py": in_code, tree / "tests/test_extra.py": in_test}
    try:
        if requirement:
            page.write_text(f"{before}{requirement}\n", encoding="utf-8")
        for path, quote in extra.items():
            if quote:
                path.write_text(f"##= {SECTION}\n##% {quote}\n", encoding="utf-8")
        code = run(["report", "--ci"], program="duvet")
    finally:
        page.write_text(before, encoding="utf-8")
        for path in extra:
            path.unlink(missing_ok=True)
    output = "".join(capfd.readouterr())
    assert code == (1 if message else 0), output
    assert message is None or message in output


MOST_CITATIONS = 2


def crowded_citations(text: str) -> list[int]:
    """Return the lines below more than two citations in a row, some of which belong closer to the code."""
    crowded, count = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        mark = line.strip()[:3]
        if mark == "##=":
            count += 1
        elif mark != "##%":
            if count > MOST_CITATIONS:
                crowded.append(number)
            count = 0
    return crowded


@pytest.mark.parametrize("module", source_modules(), ids=str)
def test_a_citation_is_directly_above_its_code(module: Module) -> None:
    assert crowded_citations(module.path.read_text(encoding="utf-8")) == []


def test_more_than_two_citations_above_one_definition_are_found() -> None:
    cited = "##= a.md#b\n##% It MUST.\n##% And so on.\n"
    assert crowded_citations(f"{cited * 2}def f() -> None: ...\n") == []
    assert crowded_citations(f"{cited * 3}def f() -> None: ...\n") == [10]
