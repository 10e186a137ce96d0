"""Findings, matrix, code, search and status on the example project."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from contextive.errors import NotFound
from contextive.web.code import Directory, SourcePage
from contextive.web.findings import Findings
from contextive.web.highlighting import highlight
from contextive.web.matrix import Matrix, matrix
from contextive.web.page import Download
from contextive.web.project import SiteProject
from contextive.web.search import Search
from contextive.web.status import Status
from contextive.web.word_changes import word_changes
from contextive.web.words import short_number, short_path

from .site_project import copy_example, html_of, open_host, page_of, site_project


def test_a_wrong_citation_shows_the_difference_by_words_and_the_correction(project: SiteProject) -> None:
    content = page_of(project, "findings").content
    assert isinstance(content, Findings)
    (finding,) = content.findings
    assert {words.change for words in finding.changes} >= {"same", "old"}
    assert finding.suggestion.startswith("##= docs/spec/locker.md#")


def test_the_difference_of_two_sentences_keeps_their_order() -> None:
    assert [(w.change, w.text) for w in word_changes("it MUST open fast", "it MUST close fast")] == [
        ("same", "it MUST"),
        ("old", "open"),
        ("new", "close"),
        ("same", "fast"),
    ]


def test_the_matrix_begins_with_what_has_neither_code_nor_test(project: SiteProject) -> None:
    content = page_of(project, "matrix").content
    assert isinstance(content, Matrix)
    assert (content.rows[0].status, content.rows[0].code, content.rows[0].tests) == ("not started", (), ())
    sorted_by_level = page_of(project, "matrix", {"sort": "level", "order": "descending"}).content
    assert isinstance(sorted_by_level, Matrix)
    assert sorted_by_level.rows[0].level == "MAY"
    assert next(c for c in sorted_by_level.columns if c.name == "level").order == "descending"


def test_the_matrix_as_csv_has_every_requirement_and_no_formula(tmp_path: Path) -> None:
    (tmp_path / "docs/spec").mkdir(parents=True)
    (tmp_path / "docs/spec/a.md").write_text("# A\n\n=HYPERLINK(x) MUST not run.\n", encoding="utf-8")
    host = open_host(tmp_path)
    try:
        download = matrix(site_project(host), {"format": "csv"})
        assert isinstance(download, Download)
        rows = list(csv.DictReader(io.StringIO(download.text)))
        assert [row["requirement"] for row in rows] == ["'=HYPERLINK(x) MUST not run."]
    finally:
        host.close()


def test_the_tree_counts_citations_and_a_file_has_them_in_its_margin(project: SiteProject) -> None:
    root = page_of(project, "code").content
    assert isinstance(root, Directory)
    source = next(entry for entry in root.entries if entry.name == "src/")
    assert source.code > 0
    assert source.cited_files <= source.files
    file = page_of(project, "file", {"path": "src/locker/codes.py"}).content
    assert isinstance(file, SourcePage)
    assert file.citations > 0
    assert {item.status for line in file.lines for item in line.margin} >= {"done"}


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", ".env", "ignored.py", ".git/config", "nowhere"])
def test_a_file_outside_of_the_index_is_never_shown(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    project_dir = copy_example(tmp_path / "parcel-locker")
    (project_dir / ".gitignore").write_text("ignored.py\n", encoding="utf-8")
    (project_dir / ".git").mkdir()
    for name in (".env", "ignored.py", ".git/config"):
        (project_dir / name).write_text("TOKEN = 'abc'\n", encoding="utf-8")
    host = open_host(project_dir)
    try:
        with pytest.raises(NotFound):
            page_of(site_project(host), "file", {"path": path})
    finally:
        host.close()


def test_code_is_coloured_by_what_each_word_is() -> None:
    assert [(t.text, t.kind) for t in highlight('if x: return "a"  # why', "a.py") if t.kind] == [
        ("if", "keyword"),
        ("return", "keyword"),
        ('"a"', "string"),
        ("# why", "comment"),
    ]
    assert [(t.text, t.kind) for t in highlight("let n = 0x1f; // why", "a.rs") if t.kind] == [
        ("let", "keyword"),
        ("0x1f", "number"),
        ("// why", "comment"),
    ]
    assert "".join(token.text for token in highlight("#[test] fn a<'b>() {}", "a.rs")) == "#[test] fn a<'b>() {}"


def test_a_search_finds_requirements_and_code_and_says_why(project: SiteProject) -> None:
    content = page_of(project, "search", {"q": "open a box with a code"}).content
    assert isinstance(content, Search)
    assert {"requirement", "code"} <= {result.kind for result in content.results}
    first = content.results[0]
    assert first.reasons
    assert any(part.is_hit for part in (*first.title, *first.text))


@pytest.mark.parametrize("kind", ["requirement", "note", "code"])
def test_a_search_can_be_limited_to_one_kind(project: SiteProject, kind: str) -> None:
    content = page_of(project, "search", {"q": "open the lock of a box", "type": kind}).content
    assert isinstance(content, Search)
    assert {result.kind for result in content.results} == {kind}
    assert [value.text for value in content.types if value.is_chosen] == [kind]


def test_a_search_without_a_relevant_result_says_so(project: SiteProject) -> None:
    content = page_of(project, "search", {"q": "quantum chromodynamics lattice"}).content
    assert isinstance(content, Search)
    assert content.results == ()
    assert content.message.startswith("Nothing relevant was found")


def test_the_status_names_every_check_and_contains_no_token(project: SiteProject) -> None:
    page = page_of(project, "status")
    assert isinstance(page.content, Status)
    assert {check.name for check in page.content.checks} >= {"config", "index", "watcher"}
    assert any(snippet.text.endswith("http://127.0.0.1:8765/mcp") for snippet in page.content.snippets)
    assert "Bearer" not in html_of(page)


def test_long_names_are_shortened_in_the_middle() -> None:
    assert short_path("src/a/b.py") == "src/a/b.py"
    shortened = short_path(f"{'deep/' * 30}file_name.py", 40)
    assert len(shortened) <= 40
    assert shortened.endswith("…/file_name.py")
    assert short_number(12_345) == "12k"
