"""The HTML report loads nothing else, shows text of the project only as text, and has text for every colour and bar."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from contextive.trace.citation import Location, Problem
from contextive.trace.reports.assets.script import SCRIPT
from contextive.trace.reports.assets.style import STYLE
from contextive.trace.reports.code_excerpt import CodeExcerpt, code_block
from contextive.trace.reports.html import write_html
from contextive.trace.reports.safe_text import escape_invisible, one_line, uri_of_path, web_link

from .samples import HIDDEN, HOSTILE, Sample, hostile, ordinary

_VOID = frozenset({"meta", "input", "br", "hr", "img", "link"})
_NOISE = frozenset({"svg", "rect"})


class Page(HTMLParser):
    """A parsed page. Fails if a tag is not closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.comments: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag} repeats an attribute"
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        assert tag in _NOISE, f"<{tag}/> is not closed in HTML"

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def all(self, tag: str, css: str = "") -> list[dict[str, str]]:
        found = [attributes for name, attributes in self.elements if name == tag]
        return [attributes for attributes in found if not css or css in attributes.get("class", "").split()]


def render(sample: Sample, **options: object) -> str:
    arguments: dict[str, object] = {
        "project": "Sample",
        "date": "2026-01-15",
        "code": sample.code,
        "problems": sample.problems,
        "blob_link": "https://code.example/blob/main/",
        "issue_link": "https://code.example/issues",
    }
    return write_html(sample.analysis, **{**arguments, **options})  # type: ignore[arg-type]


def test_a_page_is_well_formed() -> None:
    page = Page(render(ordinary()))
    assert [tag for tag, _ in page.elements[:3]] == ["html", "head", "meta"]
    assert page.all("html")[0]["lang"] == "en"
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_every_link_inside_the_page_has_a_target() -> None:
    page = Page(render(ordinary()))
    identifiers = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    inner = {link["href"][1:] for link in page.all("a") if link["href"].startswith("#")}
    assert inner
    assert inner <= identifiers


##= docs/spec/trace.md#reports
##% The HTML report MUST be a single file that loads nothing else and shows text of the project only as text.
@pytest.mark.parametrize("sample", [ordinary(), hostile()], ids=["ordinary", "hostile"])
def test_a_page_loads_nothing_and_runs_only_its_script(sample: Sample) -> None:
    page = Page(render(sample, project=" ".join(HOSTILE), date=HOSTILE[0]))
    assert page.comments == []
    assert {tag for tag, _ in page.elements}.isdisjoint(
        {"link", "img", "iframe", "object", "embed", "base", "form", "video", "audio", "source", "template"}
    )
    assert len(page.all("script")) == len(page.all("style")) == 1
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert attributes.keys().isdisjoint(
            {"src", "srcset", "style", "action", "formaction", "poster", "data", "srcdoc"}
        )
        if "href" in attributes:
            assert tag == "a"
            assert attributes["href"].startswith(("#", "https://")), attributes["href"]
    assert not re.search(r"url\(|@import|https?:", STYLE)
    assert not re.search(r"fetch\(|XMLHttp|import\(|innerHTML|outerHTML|insertAdjacent|eval\(|https?:", SCRIPT)


def test_the_policy_allows_only_the_style_and_the_script_by_their_hashes() -> None:
    page = render(ordinary())
    policy = next(m["content"] for m in Page(page).all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == directives["base-uri"] == directives["form-action"] == "'none'"
    for name, tag in (("style-src", "style"), ("script-src", "script")):
        [content] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert directives[name] == f"'sha256-{digest}'"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text_everywhere(text: str) -> None:
    sample = Sample(
        {"spec.md": "# T\n\n## S\n\nIt MUST work.\n"},
        {"a.rs": f"//= spec.md#s\n//= type=exception\n//= reason=x{text.strip()}\n//# It MUST work.\n"},
    )
    problem = Problem("code", text, Location(text.strip(), 3, 4), help=text)
    page = render(sample, project=text, date=text, problems=[problem], warnings=[problem])
    page.encode("utf-8")
    seen = " ".join(Page(page).text.split())
    plain = " ".join(escape_invisible(text.replace("\r\n", "\n"), lambda name: name).split())
    assert seen.count(plain) >= 6


def test_invisible_characters_are_spelled_out_and_never_written() -> None:
    page = render(hostile(), project=HIDDEN)
    page.encode("utf-8")
    assert not set(page) & set(HIDDEN)
    assert '<span class="hidden-char">U+202E</span>' in page
    assert '<span class="hidden-char">U+E0041</span>' in page


def test_foreign_text_and_emoji_are_not_changed() -> None:
    text = "השרת MUST أن サーバー \u2764\ufe0f naïve\u00a0text\ttab"
    assert escape_invisible(text) == text
    assert escape_invisible("a\ufe0f\ufe0f") == "a\ufe0f[U+FE0F]"
    assert one_line(" a\n\tb ") == "a b"


def test_the_page_header_shows_the_totals() -> None:
    text = Page(render(ordinary())).text
    assert "2 of 6 requirements done" in " ".join(text.split())
    assert "33%" in text
    assert "2026-01-15" in text


def test_a_percentage_is_rounded_down() -> None:
    spec = "# T\n\n## S\n\n" + "\n".join(f"It MUST do {n}." for n in range(200))
    code = "".join(f"//= s.md#s\n//= type=implication\n//# It MUST do {n}.\n\n" for n in range(199))
    text = Page(render(Sample({"s.md": spec}, {"a.rs": code}))).text
    assert "99%" in text
    assert "100%" not in text


def test_bars_have_a_text_for_screen_readers() -> None:
    bars = Page(render(ordinary())).all("svg", "bar")
    assert bars
    assert all(bar["role"] == "img" for bar in bars)
    assert bars[0]["aria-label"] == "1 complete, 1 exception, 2 in progress, 1 todo, 1 not started"


def test_every_requirement_is_in_the_page_with_its_status_and_level() -> None:
    sample = ordinary()
    rows = Page(render(sample)).all("details", "r")
    assert [(row["data-status"], row["data-level"]) for row in rows] == [
        (requirement.status.value, requirement.level.name) for requirement in sample.requirements
    ]
    assert {row["data-status"] for row in rows} == {
        "complete",
        "missing_test",
        "exception",
        "todo",
        "partial",
        "not_started",
    }


def test_the_anchor_of_a_requirement_is_built_from_its_identifier() -> None:
    sample = ordinary()
    rows = Page(render(sample)).all("details", "r")
    assert rows[0]["id"] == f"r-{sample.requirements[0].identifier[:16]}"


def test_the_same_text_in_two_sections_has_two_anchors() -> None:
    sample = Sample({"s.md": "# T\n\n## A\n\nIt MUST work.\n\n## B\n\nIt MUST work.\n"}, {})
    first, second = (row["id"] for row in Page(render(sample)).all("details", "r"))
    assert second == f"{first}-2"


def test_covered_text_has_a_label_and_not_only_a_colour() -> None:
    page = render(ordinary())
    assert (
        '<mark class="both" data-label="implemented + tested">An endpoint MUST check the length of a frame.</mark>'
        in page
    )
    assert '<mark class="exception" data-label="exception">The limit SHOULD be configurable.</mark>' in page
    assert '<mark class="todo" data-label="todo">The limit MAY be infinite.</mark>' in page


def test_a_partly_covered_requirement_shows_which_part_is_not_covered() -> None:
    page = render(ordinary())
    assert (
        '<mark class="impl" data-label="implemented">An error MUST be logged</mark>'
        '<mark class="open" data-label="not covered">, and its cause MUST be named.</mark>'
    ) in page


def test_a_mark_on_several_lines_has_one_label() -> None:
    spec = "# T\n\n## S\n\nIt MUST work\nover lines.\n"
    sample = Sample({"s.md": spec}, {"a.rs": "//= s.md#s\n//# It MUST work over lines.\n"})
    page = render(sample)
    assert '<mark class="impl" data-label="implemented">It MUST work over lines.</mark>' in page
    full = page.split("<pre dir=", 1)[1].split("</pre>")[0]
    assert full.count("data-label") == 1
    assert full.count("<mark") == 2


def test_white_space_between_two_citations_is_not_shown_as_uncovered() -> None:
    sample = Sample(
        {"s.md": "# T\n\n## S\n\nIt MUST work well.\n"},
        {"a.rs": "//= s.md#s\n//# It MUST\n\n//= s.md#s\n//= type=test\n//# work well.\n"},
    )
    assert "not covered" not in render(sample).split("<main", 1)[1].split('class="spec"', 1)[1]


def test_cited_code_is_shown_with_the_cited_lines_marked() -> None:
    page = render(ordinary())
    assert "fn check() {}\n" in page
    assert '<span class="on">//= spec.md#length\n//# An endpoint MUST check the length of a frame.\n</span>' in page


def test_code_that_two_requirements_share_is_written_once() -> None:
    sample = Sample(
        {"s.md": "# T\n\n## S\n\nIt MUST work. It MUST last.\n"},
        {"a.rs": "//= s.md#s\n//# It MUST work. It MUST last.\nfn unique() {}\n"},
    )
    page = render(sample)
    assert page.count("fn unique()") == 1
    [same] = Page(page).all("a", "same")
    assert f'<li id="{same["href"][1:]}">' in page


def test_locations_link_to_the_source() -> None:
    page = Page(render(ordinary()))
    links = {link["href"] for link in page.all("a", "path")}
    assert "https://code.example/blob/main/src/frame.rs#L2" in links
    assert all(link["rel"] == "noopener noreferrer" for link in page.all("a", "path"))


def test_issues_are_linked_by_number_or_url_and_never_to_a_script() -> None:
    code = "".join(
        f"//= spec.md#length\n//= type=todo\n//= tracking-issue={issue}\n//# The limit MAY be infinite.\n\n"
        for issue in ("42", "#43", "https://other.example/7", "javascript:alert(1)", "data:text/html,x", "word")
    )
    hrefs = {link["href"] for link in Page(render(Sample({"spec.md": SPEC_ONE}, {"a.rs": code}))).all("a")}
    assert {
        "https://code.example/issues/42",
        "https://code.example/issues/43",
        "https://other.example/7",
    } <= hrefs
    assert not [href for href in hrefs if not href.startswith(("#", "https://"))]


SPEC_ONE = "# T\n\n## Length\n\nThe limit MAY be infinite.\n"


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)//", "data:text/html,", "//evil.example", "file:///etc", "a\u202eb"]
)
def test_a_source_link_that_is_not_a_web_url_is_not_used(link: str) -> None:
    page = Page(render(ordinary(), blob_link=link, issue_link=link))
    assert not page.all("a", "path")
    assert page.all("span", "path")


def test_without_links_the_page_is_text() -> None:
    page = Page(render(ordinary(), blob_link=None, issue_link=None))
    assert not page.all("a", "path")
    assert "src/frame.rs:2" in page.text


def test_a_path_that_leaves_the_repository_is_not_linked() -> None:
    problem = Problem("x", "m", Location("../../settings", 1))
    assert "settings#L1" not in render(ordinary(), problems=[problem])


def test_invalid_citations_are_listed_with_location_code_and_hint() -> None:
    sample = Sample({"spec.md": SPEC_ONE}, {"a.rs": "//= spec.md#length\n//# The limit MAY be finite.\nfn f() {}\n"})
    [problem] = sample.problems
    with_help = Problem(problem.code, problem.message, problem.location, help="Did you mean “infinite”?")
    page = render(sample, problems=[with_help])
    text = Page(page).text
    assert "1 invalid citation" in text
    assert "could not find text" in text
    assert "a.rs:2:5" in text
    assert "quote_not_found" in text
    assert "Did you mean “infinite”?" in text
    assert "fn f() {}\n" in page


def test_warnings_are_listed_separately() -> None:
    warning = Problem("fuzzy_match", "One letter differs.", Location("a.rs", 3), fatal=False)
    text = Page(render(ordinary(), warnings=[warning, warning])).text
    assert "2 warnings" in text
    assert "One letter differs." in text


def test_citations_outside_the_requirements_are_listed_with_their_section() -> None:
    spec = "# T\n\n## Length\n\nFree text.\n\n## Other\n\nIt MUST work.\n"
    code = "//= s.md#length\n//# Free text.\n\n//= s.md#length\n"
    text = Page(render(Sample({"s.md": spec}, {"a.rs": code}))).text
    assert "2 citations outside the requirements" in text
    assert "a.rs:4" in text


def test_the_page_of_a_project_without_requirements_says_so() -> None:
    page = Page(render(Sample({}, {})))
    assert "No requirements were found." in page.text
    assert not page.all("input")


def test_several_specifications_are_listed_in_an_overview() -> None:
    sample = Sample({f"{n}.md": f"# Spec {n}\n\n## S\n\nIt MUST do {n}.\n" for n in range(3)}, {})
    page = Page(render(sample))
    assert len(page.all("ul", "overview")) == 1
    assert len(page.all("section", "spec")) == 3


def test_the_filters_are_hidden_without_scripts() -> None:
    page = Page(render(ordinary()))
    tools = next(attributes for tag, attributes in page.elements if attributes.get("id") == "tools")
    assert "hidden" in tools
    names = {(box["name"], box["value"]) for box in page.all("input") if box["type"] == "checkbox"}
    assert {("status", "partial"), ("status", "not_started"), ("level", "MUST"), ("level", "MAY")} <= names


def test_long_lines_and_long_lists_of_citations_are_cut() -> None:
    code = "".join(f"//= s.md#s\n//# It MUST work.\n{'x' * 10_000}\n" for _ in range(80))
    page = render(Sample({"s.md": "# T\n\n## S\n\nIt MUST work.\n"}, {"a.rs": code}))
    assert "and 30 more" in page
    assert len(page) < 200_000


def test_the_report_of_a_project_is_reproducible() -> None:
    assert render(ordinary()) == render(ordinary())


def test_the_time_to_write_a_report_is_about_linear_in_its_size() -> None:
    def seconds(count: int) -> float:
        spec = "# T\n" + "".join(
            f"\n## S{s}\n\n" + "\n".join(f"It MUST do {s} and {n}." for n in range(10)) + "\n"
            for s in range(count // 10)
        )
        code = "".join(f"//= s.md#s{n // 10}\n//# It MUST do {n // 10} and {n % 10}.\n\n" for n in range(count))
        sample = Sample({"s.md": spec}, {"a.rs": code})
        assert len(sample.requirements) == count
        started = time.process_time()
        page = write_html(
            sample.analysis,
            project="p",
            date="d",
            code=dict.fromkeys(sample.analysis.citations, code_block(CodeExcerpt(1, ["code"]), range(1, 2))),
        )
        assert len(page) < count * 2500
        return time.process_time() - started

    assert seconds(2000) < 20 * max(seconds(400), 0.01)


@pytest.mark.node
@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_script_is_well_formed(tmp_path: Path) -> None:
    file = tmp_path / "report.js"
    file.write_text(SCRIPT, encoding="utf-8")
    checked = subprocess.run(["node", "--check", str(file)], capture_output=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr.decode()


def test_script_and_style_cannot_end_their_own_elements() -> None:
    assert "</" not in STYLE
    assert "</" not in SCRIPT
    assert "<!--" not in STYLE + SCRIPT
    assert STYLE.count("{") == STYLE.count("}")


def test_a_web_link_is_an_http_url_with_a_host_and_no_odd_characters() -> None:
    assert web_link("https://a.example/x?y#z") == "https://a.example/x?y#z"
    for bad in (
        None,
        "",
        "javascript:x",
        "https:///x",
        "http://[",
        "https://a.example/ x",
        'https://a/"x',
        "ftp://a/x",
    ):
        assert web_link(bad) is None


def test_paths_become_percent_encoded_references() -> None:
    assert uri_of_path("src/a b#c?.rs") == "src/a%20b%23c%3F.rs"
    assert uri_of_path("c:/x") == "c%3A/x"
    assert uri_of_path("/etc/x") == "file:///etc/x"
    assert uri_of_path("//host/x") == "file:///host/x"
    assert uri_of_path("caf\u00e9/\udcff") == "caf%C3%A9/%FF"
    assert uri_of_path("\ud800").isascii()
