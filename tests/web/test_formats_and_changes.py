"""Specifications of Kiro, spec-kit and OpenSpec on the site, and the review of a change."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextive.web.changes import Changes
from contextive.web.matrix import Matrix
from contextive.web.overview import Overview
from contextive.web.project import SiteProject
from contextive.web.requirement import RequirementPage
from contextive.web.specification import SpecificationPage
from tests.packs.spec_project import spec_project

from .site_project import copy_example, html_of, open_host, page_of, site_project


@pytest.fixture
def planned(tmp_path: Path) -> Iterator[SiteProject]:
    spec_project(tmp_path)
    host = open_host(tmp_path)
    yield site_project(host)
    host.close()


def test_a_ticked_requirement_without_evidence_needs_attention(planned: SiteProject) -> None:
    content = page_of(planned, "overview").content
    assert isinstance(content, Overview)
    ticked = [item for item in content.attention if "ticked, and nothing in code or tests refers to" in item.text]
    assert len(ticked) == 1
    assert ticked[0].address.startswith("/matrix?spec=kiro%3Auser-auth")


@pytest.mark.parametrize("spec", ["kiro:user-auth", "openspec:audit", "speckit:004-events"])
def test_each_format_has_its_text_with_badges_handles_and_tasks(planned: SiteProject, spec: str) -> None:
    page = page_of(planned, "specification", {"spec_id": spec})
    assert isinstance(page.content, SpecificationPage)
    badges = [b for section in page.content.sections for block in section.blocks for b in block.badges]
    assert badges
    assert all(badge.handle.startswith(f"{spec}/") for badge in badges)
    if spec == "kiro:user-auth":
        assert any(badge.tasks for badge in badges)
    assert html_of(page)


def test_a_handle_is_an_address_and_shows_its_tasks(planned: SiteProject) -> None:
    page = page_of(planned, "requirement", {"identifier": "kiro:user-auth/1.2"})
    assert isinstance(page.content, RequirementPage)
    assert page.content.handle == "kiro:user-auth/1.2"
    assert [task.is_ticked for task in page.content.tasks] == [True]
    assert "kiro:user-auth/1.2" in html_of(page)


def test_the_matrix_has_the_tasks_of_each_requirement(planned: SiteProject) -> None:
    content = page_of(planned, "matrix", {"sort": "tasks", "order": "descending"}).content
    assert isinstance(content, Matrix)
    assert content.rows[0].tasks


def test_a_change_is_reviewed_against_the_requirements(tmp_path: Path) -> None:
    project_dir = copy_example(tmp_path / "parcel-locker")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *command], cwd=project_dir, check=True
        )
    code = project_dir / "src/locker/codes.py"
    text = code.read_text(encoding="utf-8")
    code.write_text(
        text.replace("self._boxes.pop(_hash(code), None)", "self._boxes.get(_hash(code))"), encoding="utf-8"
    )
    host = open_host(project_dir)
    try:
        page = page_of(site_project(host), "changes")
        assert isinstance(page.content, Changes)
        assert page.content.findings
        assert {line.path for line in page.content.findings} == {"src/locker/codes.py"}
        overview = page_of(site_project(host), "overview").content
        assert isinstance(overview, Overview)
        assert any(item.address == "/changes" for item in overview.attention)
    finally:
        host.close()


def test_a_project_without_git_has_no_review_and_says_why(planned: SiteProject) -> None:
    content = page_of(planned, "changes").content
    assert isinstance(content, Changes)
    assert content.problem
