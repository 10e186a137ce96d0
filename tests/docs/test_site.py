"""The documentation site is built without warnings and is complete."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from contextive.config import list_settings

from .pages import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert built.returncode == 0, built.stderr
    return target


def test_the_site_is_built_without_warnings_and_contains_every_page(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    lost = {page for page in pages if page not in built and page.with_name("index") not in built}
    assert lost == set()


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe)\b[^>]*\bsrc="(?:https?:)?//|<link\b[^>]*stylesheet[^>]*href="(?:https?:)?//'
    )
    assert [page.name for page in site.rglob("*.html") if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_files_of_examples_are_shown_with_their_names(site: Path) -> None:
    tutorial = (site / "tutorial.html").read_text(encoding="utf-8")
    assert 'class="filename">docs/spec/valve.md<' in tutorial
    assert "file=docs" not in tutorial


def test_the_tools_page_is_generated_from_the_declarations() -> None:
    generated = runpy.run_path(str(ROOT / "tools" / "tools_page.py"))["page"]()
    assert (ROOT / "docs" / "tools.md").read_text(encoding="utf-8") == generated, "run `make schema`"


def test_the_settings_named_in_tutorial_and_how_tos_exist() -> None:
    known = {setting.key for setting in list_settings()}
    sections = "|".join(sorted({key.split(".")[0] for key in known}))
    pages = [ROOT / "docs" / "tutorial.md", *(ROOT / "docs" / "how-to").glob("*.md")]
    named = {name for page in pages for name in re.findall(rf"`((?:{sections})\.\w[\w.]*)`", page.read_text("utf-8"))}
    assert named
    assert named - known == set()
