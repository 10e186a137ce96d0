"""Links, file names and test names in the documentation are valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .pages import ROOT, anchors, name_of, pages, prose


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose(page))


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_relative_links_and_their_anchors_resolve(page: Path) -> None:
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        found = target.is_relative_to(ROOT) and target.exists()
        if not found or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:src|tests|docs|tools|benchmarks|examples)/[\w./-]+\.\w+)(?:::\w+)?`", page.read_text("utf-8")
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_the_tests_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`(tests/[\w./-]+\.py)::(\w+)`", page.read_text(encoding="utf-8"))
    missing = [
        f"{file}::{test}" for file, test in named if f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = [link.partition("#")[0] for link in links(page) if not re.match(r"[a-z]+:", link)]
        waiting += [(page.parent / target).resolve() for target in targets if target]
    assert [name_of(page) for page in pages() if page not in reached] == []
