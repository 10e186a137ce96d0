"""This project traces itself: every promise of docs/spec is kept by code and shown by a test, and the gate says when not."""

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
PLACE = "docs/spec/notes.md#failures"
PROMISE = "A note MUST sing."


@cache
def traced() -> TraceView:
    return TraceService(ROOT).view()


def shown(requirement: Requirement) -> str:
    return f"{requirement.target.path}#{requirement.section.id}: {requirement.text}"


def cited_below(folder: str, requirement: Requirement, *types: CitationType) -> bool:
    return any(citation.source.startswith(folder) for citation in requirement.citations_of(*types))


def test_every_page_of_promises_is_traced() -> None:
    named = {entry["source"] for entry in tomllib.loads(CONFIG.read_text(encoding="utf-8"))["specification"]}
    assert named == {f"docs/spec/{page.name}" for page in (ROOT / "docs" / "spec").glob("*.md")}


def test_every_promise_is_kept_by_code_and_shown_by_a_test() -> None:
    promises = traced().catalog.requirements
    assert len(promises) > 500
    # That the project has a test of something is kept and shown by that very test.
    others = [r for r in promises if not cited_below("tests/", r, CitationType.IMPLICATION)]
    assert [shown(r) for r in others if not cited_below("src/", r, CitationType.CITATION)] == []
    assert [shown(r) for r in others if not cited_below("tests/", r, CitationType.TEST)] == []
    assert [shown(r) for r in promises if not r.status.is_done] == []


def test_only_promises_about_tests_are_kept_by_tests_alone() -> None:
    alone = [r for r in traced().catalog.requirements if r.citations_of(CitationType.IMPLICATION)]
    assert {r.section.id for r in alone} == {"tests-of-the-project"}
    assert [shown(r) for r in traced().catalog.requirements if r.citations_of(CitationType.EXCEPTION)] == []


def test_every_citation_of_this_project_is_valid() -> None:
    assert [f"{problem.location}: {problem.message}" for problem in traced().state.problems] == []


def test_the_badge_of_the_readme_is_the_products_own_and_current() -> None:
    kept = (ROOT / "docs" / "badge.svg").read_text(encoding="utf-8")
    assert kept == write_badge(StatusSummary.of(traced().catalog.requirements)), "run `make badge`"
    assert "docs/badge.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_test_target_runs_the_gate() -> None:
    recipe = re.search(r"^test:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe
    assert "duvet report --ci\n" in recipe[1]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is traced."""
    copy = tmp_path_factory.mktemp("traced")
    (copy / ".duvet").mkdir()
    shutil.copy(CONFIG, copy / ".duvet" / "config.toml")
    for folder in ("docs/spec", "src", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.db"))
    return copy


@pytest.mark.parametrize(
    ("promise", "in_code", "in_test", "said"),
    [
        (None, None, None, None),
        (PROMISE, PROMISE, PROMISE, None),
        (PROMISE, None, None, "requirements missing citation"),
        (PROMISE, None, PROMISE, "requirements missing citation"),
        (PROMISE, PROMISE, None, "Citation missing test"),
        (PROMISE, PROMISE, "A note MUST dance.", "could not find text"),
        (None, PROMISE, None, "could not find text"),
    ],
    ids=["as it is", "kept", "neither", "no code", "no test", "another quote", "no such promise"],
)
def test_the_gate_wants_code_and_test_for_every_promise(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    promise: str | None,
    in_code: str | None,
    in_test: str | None,
    said: str | None,
) -> None:
    monkeypatch.chdir(tree)
    page = tree / "docs" / "spec" / "notes.md"
    before = page.read_text(encoding="utf-8")
    extra = {tree / "src/contextive/extra.py": in_code, tree / "tests/test_extra.py": in_test}
    try:
        if promise:
            page.write_text(f"{before}{promise}\n", encoding="utf-8")
        for path, quote in extra.items():
            if quote:
                path.write_text(f"##= {PLACE}\n##% {quote}\n", encoding="utf-8")
        code = run(["report", "--ci"], program="duvet")
    finally:
        page.write_text(before, encoding="utf-8")
        for path in extra:
            path.unlink(missing_ok=True)
    output = "".join(capfd.readouterr())
    assert code == (1 if said else 0), output
    assert said is None or said in output


MOST_CITATIONS = 2


def crowded_citations(text: str) -> list[int]:
    """The lines above which more than two citations follow each other: some of them are not above the code that does it."""
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
def test_a_citation_is_above_the_code_that_does_it(module: Module) -> None:
    assert crowded_citations(module.path.read_text(encoding="utf-8")) == []


def test_more_than_two_citations_above_one_definition_are_found() -> None:
    cited = "##= a.md#b\n##% It MUST.\n##% And so on.\n"
    assert crowded_citations(f"{cited * 2}def f() -> None: ...\n") == []
    assert crowded_citations(f"{cited * 3}def f() -> None: ...\n") == [10]
