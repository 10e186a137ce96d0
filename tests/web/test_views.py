"""The views on the example project: what a reader sees, and that the same data is in the JSON form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextive.errors import NotFound
from contextive.ingest.evidence_service import EvidenceService
from contextive.ingest.progress_trend import MAX_POINTS, ProgressTrend
from contextive.ingest.settings import IngestRequest
from contextive.web.overview import Overview
from contextive.web.project import SiteProject
from contextive.web.rendering import to_json
from contextive.web.requirement import RequirementPage
from contextive.web.specification import SpecificationPage

from .site_project import copy_example, html_of, open_host, page_of, site_project

SPEC = {"spec_id": "docs-spec-locker"}


def overview(project: SiteProject) -> Overview:
    content = page_of(project, "overview").content
    assert isinstance(content, Overview)
    return content


def specification(project: SiteProject, **given: str) -> SpecificationPage:
    content = page_of(project, "specification", {**SPEC, **given}).content
    assert isinstance(content, SpecificationPage)
    return content


def requirement(project: SiteProject, words: str) -> RequirementPage:
    found = next(r for r in project.view().catalog.requirements if words in r.text)
    content = page_of(project, "requirement", {"identifier": found.identifier}).content
    assert isinstance(content, RequirementPage)
    return content


def test_the_overview_says_what_to_do_and_links_to_it(project: SiteProject) -> None:
    sentences = {item.text: item for item in overview(project).attention}
    assert sentences["1 citation quotes a sentence that changed or does not exist"].urgency == "fix"
    following = sentences["1 MUST of Parcel locker has no code"]
    assert following.address == "/specs/docs-spec-locker?level=MUST&evidence=no+code"
    assert specification(project, level="MUST", evidence="no code").matching[0].badge.level == "MUST"


def test_an_empty_project_says_how_to_begin(tmp_path: Path) -> None:
    host = open_host(tmp_path)
    try:
        assert "There are no requirements yet." in html_of(page_of(site_project(host), "overview"))
    finally:
        host.close()


##= docs/spec/site.md#overview
##% The site MUST remember how far each specification is, with one point for each day and commit, and keep the newest
##% 400 points.
def test_the_trend_has_one_point_for_each_day_and_commit(tmp_path: Path) -> None:
    host = open_host(copy_example(tmp_path / "parcel-locker"))
    try:
        now = 0.0
        trend = ProgressTrend(host.index().store, host.loaded.project, clock=lambda: now)
        trend.record({"a": (1, 2)})
        trend.record({"a": (2, 2)})
        assert [(point.day, dict(point.specifications)) for point in trend.points()] == [("1970-01-01", {"a": (2, 2)})]
        for day in range(1, MAX_POINTS + 5):
            now = day * 86_400.0
            trend.record({"a": (day % 3, 2)})
        assert len(trend.points()) == MAX_POINTS
        assert trend.points()[0].day == "1970-01-06"
    finally:
        host.close()


def test_a_specification_shows_its_text_with_a_badge_for_each_requirement(project: SiteProject) -> None:
    found = specification(project)
    badges = [b for section in found.sections for block in section.blocks for b in block.badges]
    assert len(badges) == found.progress.total == 13
    marked = {piece.mark for section in found.sections for block in section.blocks for piece in block.pieces}
    assert {"both", "open", "test", ""} <= marked


def test_filters_stay_in_the_address_and_count_what_they_would_show(project: SiteProject) -> None:
    by_name = {choice.text: choice for one in specification(project).filters for choice in one.choices}
    shown = specification(project, status="not started")
    assert len(shown.matching) == by_name["not started"].number == 1
    assert by_name["not started"].address == "/specs/docs-spec-locker?status=not+started"
    chosen = next(c for one in shown.filters for c in one.choices if c.is_chosen)
    assert chosen.address == "/specs/docs-spec-locker"


def test_a_long_specification_comes_in_parts(tmp_path: Path) -> None:
    paragraph = "The panel MUST show {n} and a long sentence that fills the page with words. " * 40
    text = "# Long\n\n" + "\n\n".join(f"## Part {n}\n\n{paragraph.format(n=n)}" for n in range(40))
    (tmp_path / "docs/spec").mkdir(parents=True)
    (tmp_path / "docs/spec/long.md").write_text(text, encoding="utf-8")
    host = open_host(tmp_path)
    try:
        page = page_of(site_project(host), "specification", {"spec_id": "docs-spec-long", "part": "2"})
        assert isinstance(page.content, SpecificationPage)
        assert (page.content.part, page.content.parts) == (2, 4)
        assert len(html_of(page).encode()) < 300_000
        by_section = page_of(site_project(host), "specification", {"spec_id": "docs-spec-long", "section": "part-39"})
        assert isinstance(by_section.content, SpecificationPage)
        assert by_section.content.part == 4
    finally:
        host.close()


def test_a_requirement_shows_its_code_and_tests_with_links_to_the_editor(project: SiteProject) -> None:
    found = requirement(project, "A code MUST open one box, once")
    assert found.status == "done"
    assert [place.kind for place in found.places] == ["implementation", "test"]
    assert found.places[0].editor is not None
    assert found.places[0].editor.startswith("vscode://file/")
    assert any(token.kind == "keyword" for line in found.places[0].lines for token in line.tokens)


def test_an_open_requirement_has_the_citation_to_paste(project: SiteProject) -> None:
    found = requirement(project, "SHOULD be returned to its sender")
    assert found.status == "not started"
    assert [missing.citation.splitlines()[0] for missing in found.missing] == ["//= docs/spec/locker.md#fetching"] * 2


def test_an_unknown_name_is_not_found(project: SiteProject) -> None:
    for view, given in (("specification", {"spec_id": "nowhere"}), ("requirement", {"identifier": "0" * 64})):
        with pytest.raises(NotFound):
            page_of(project, view, given)


##= docs/spec/site.md#pages
##% Every page MUST also be available as JSON, with `?format=json` or with the header `Accept: application/json`.
def test_the_json_of_a_page_has_what_the_page_shows(project: SiteProject) -> None:
    page = page_of(project, "specification", SPEC)
    data = json.loads(to_json(page))
    assert data["progress"]["total"] == 13
    assert data["title"] in html_of(page)


SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"


##= docs/spec/site.md#pages
##% A page MUST show text of the project as text: markup in it has no effect.
def test_markup_in_the_text_of_a_project_has_no_effect(tmp_path: Path) -> None:
    (tmp_path / "docs/spec").mkdir(parents=True)
    title = f'"onmouseover=alert(1) {SCRIPT}'
    (tmp_path / "docs/spec/evil.md").write_text(f"# {title}\n\n## {title}\n\nIt MUST {SCRIPT}\n", encoding="utf-8")
    comment = f"#= docs/spec/evil.md#nowhere\n## {SCRIPT}\ndef f(): '{SCRIPT}'\n"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a<b>.py").write_text(comment, encoding="utf-8")
    (tmp_path / "notes").mkdir()
    front = f"---\nslug: a\ntitle: '{SCRIPT}'\ntags: ['{SCRIPT}']\n---\n"
    (tmp_path / "notes" / "a.md").write_text(f"{front}{SCRIPT}\n\n[[{title}]]\n", encoding="utf-8")
    host = open_host(tmp_path)
    host.index().ingest(IngestRequest())
    try:
        project = site_project(host)
        identifier = project.view().catalog.requirements[0].identifier
        pages = [
            page_of(project, "overview"),
            page_of(project, "specs"),
            page_of(project, "specification", {"spec_id": "docs-spec-evil"}),
            page_of(project, "specification", {"spec_id": "docs-spec-evil", "level": "MUST"}),
            page_of(project, "requirement", {"identifier": identifier}),
            page_of(project, "findings"),
            page_of(project, "matrix"),
            page_of(project, "file", {"path": "src/a<b>.py"}),
            page_of(project, "graph", {"q": "script"}),
            page_of(project, "search", {"q": "script alert"}),
            page_of(project, "notes"),
            page_of(project, "notes", {"q": SCRIPT}),
            page_of(project, "note", {"slug": "a"}),
        ]
        for page in pages:
            html = html_of(page)
            assert "<script>alert" not in html
            assert "<img" not in html
            assert '"onmouseover' not in html
    finally:
        host.close()


def test_invisible_characters_are_spelled_out(tmp_path: Path) -> None:
    (tmp_path / "docs/spec").mkdir(parents=True)
    (tmp_path / "docs/spec/a.md").write_text("# A\n\nIt MUST \u202eesrever\u202c.\n", encoding="utf-8")
    host = open_host(tmp_path)
    try:
        html = html_of(page_of(site_project(host), "specification", {"spec_id": "docs-spec-a"}))
        assert '<span class="invisible">U+202E</span>' in html
        assert "\u202e" not in html
    finally:
        host.close()


def test_a_test_is_shown_with_its_last_result(tmp_path: Path) -> None:
    host = open_host(copy_example(tmp_path / "parcel-locker"))
    try:
        project = site_project(host)
        assert requirement(project, "A code MUST open one box, once").evidence == ""
        junit = tmp_path / "junit.xml"
        case = '<testcase classname="tests.test_codes" name="test_a_code_works_once"/>'
        junit.write_text(f'<testsuites><testsuite name="pytest">{case}</testsuite></testsuites>', encoding="utf-8")
        host.services.get(EvidenceService).add([junit])
        found = requirement(project, "A code MUST open one box, once")
        assert found.evidence == "passed"
        assert [(place.kind, place.outcome) for place in found.places] == [("implementation", ""), ("test", "passed")]
    finally:
        host.close()
