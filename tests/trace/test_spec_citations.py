"""One test for each requirement about citations in docs/spec/trace.md: comments, files, targets, matching, coverage."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.trace.analysis import fuzzy_matches
from contextive.trace.citation import CommentStyle, parse_citations
from contextive.trace.level import CitationType
from contextive.trace.matching import Haystack, MatchKind, match_quote
from contextive.trace.project_warnings import WarningContext, find_warnings
from contextive.trace.specification import Format, parse_specification
from contextive.trace.target import cached_path
from tests.ingest.projects import BREW, MILK, Project, cite, configured, statuses

BREWING = "specs/coffee.md#brewing"
SCHEMA = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    uncited = configured(tmp_path)
    uncited.remove("src/coffee.rs")
    return uncited


def codes(project: Project) -> list[str]:
    return [problem.code for problem in project.service().view().state.problems]


def status_of(project: Project, source: str, text: str = BREW) -> str:
    project.write("src/coffee.rs", source)
    return statuses(project.service().view())[text]


# -- comments ----------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#citation-comments
##% A citation MUST be a contiguous run of comment lines: meta lines first, then quoted lines.
def test_a_citation_is_a_run_of_meta_lines_and_then_quoted_lines() -> None:
    text = "//= a.md#x\n//= type=test\n  //# One\n\t//# two.\n//= a.md#y\n//# Three.\n\n//# No more.\ncode //= a.md#z\n"
    citations = parse_citations(text, "a.rs").citations
    assert [(c.target, c.type, c.quote, c.line) for c in citations] == [
        ("a.md#x", CitationType.TEST, "One two.", 1),
        ("a.md#y", CitationType.CITATION, "Three.", 5),
    ]


##= docs/spec/trace.md#citation-comments
##% The prefixes of meta lines and quoted lines MUST be configurable for each source pattern and default to `//=` and
##% `//#`.
def test_each_source_pattern_can_set_its_prefixes(project: Project) -> None:
    hashes = '[[source]]\npattern = "*.py"\ncomment-style = { meta = "#=", content = "#%" }\n'
    plain = '[[source]]\npattern = "*.rs"\n'
    project.write(".duvet/config.toml", SCHEMA + hashes + plain + '[[specification]]\nsource = "specs/coffee.md"\n')
    project.write("a.py", cite(BREWING, BREW, style=("#=", "#%")) + "\n" + cite(BREWING, "nothing"))
    project.write("a.rs", cite(BREWING, BREW, "type=test") + "\n" + cite(BREWING, "nothing", style=("#=", "#%")))
    view = project.service().view()
    assert view.state.problems == ()
    assert statuses(view)[BREW] == "complete"
    assert CommentStyle() == CommentStyle("//=", "//#")


##= docs/spec/trace.md#citation-comments
##% A citation MUST have the type implementation, test, implication, exception, todo or spec; the default is the type
##% of its source pattern.
def test_the_type_is_one_of_six_and_defaults_to_that_of_the_pattern() -> None:
    for word in ("implementation", "test", "implication", "exception", "todo", "spec"):
        (citation,) = parse_citations(cite("a.md#x", "Y.", f"type={word}"), "a.rs").citations
        assert citation.type == {"implementation": "citation"}.get(word, word)
    (citation,) = parse_citations(cite("a.md#x", "Y."), "a.rs", default_type=CitationType.TODO).citations
    assert citation.type is CitationType.TODO
    assert [p.code for p in parse_citations(cite("a.md#x", "Y.", "type=wish"), "a.rs").problems] == ["invalid_type"]


##= docs/spec/trace.md#citation-comments
##% A citation without a target, or with a target that has no section, MUST be an error.
def test_a_citation_needs_a_specification_and_a_section(project: Project) -> None:
    assert status_of(project, "//= type=test\n//# The pot\n") == "not_started"
    assert codes(project) == ["missing_target"]
    assert status_of(project, cite("specs/coffee.md", BREW)) == "not_started"
    assert codes(project) == ["section_missing"]


##= docs/spec/trace.md#citation-comments
##% An unknown field, a second value for a field, or a field that the type does not allow MUST be an error, except
##% that a second reason is allowed.
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (("colour=red",), "invalid_field"),
        (("type=test", "type=todo"), "repeated_field"),
        (("level=MUST", "level=MUST"), "repeated_field"),
        (("feature=x",), "misplaced_field"),
        (("type=todo", "reason=x"), "misplaced_field"),
        (("type=spec", "tracking-issue=1"), "misplaced_field"),
    ],
)
def test_an_unknown_repeated_or_misplaced_field_is_an_error(fields: tuple[str, ...], code: str) -> None:
    assert [p.code for p in parse_citations(cite("a.md#x", "Y.", *fields), "a.rs").problems] == [code]
    twice = parse_citations(cite("a.md#x", "Y.", "type=exception", "reason=one", "reason=two"), "a.rs")
    assert (twice.problems, twice.citations[0].comment) == ((), "one two")


##= docs/spec/trace.md#citation-comments
##% The id of a citation MUST be its path and the number of its first line, separated by a colon.
def test_the_id_of_a_citation_is_its_path_and_first_line() -> None:
    (citation,) = parse_citations("\n\n//= type=test\n//= a.md#x\n//# Y.\n", "src/deep/a.rs").citations
    assert citation.id == "src/deep/a.rs:3"


##= docs/spec/trace.md#citation-comments
##% A citation without quoted lines MUST be valid if its section exists, but it covers nothing.
def test_a_citation_without_a_quote_is_valid_and_covers_nothing(project: Project) -> None:
    assert status_of(project, cite(BREWING)) == "not_started"
    assert codes(project) == []
    assert status_of(project, cite("specs/coffee.md#nowhere")) == "not_started"
    assert codes(project) == ["section_not_found"]


# -- requirement files -------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#requirement-files
##% The TOML files below `.duvet/requirements`, `.duvet/exceptions` and `.duvet/todos` MUST be read as requirements,
##% exceptions and todos.
def test_the_three_folders_of_requirement_files_are_read(project: Project) -> None:
    project.write(".duvet/config.toml", SCHEMA)
    project.write(".duvet/requirements/deep/a.toml", f'target = "{BREWING}"\n[[spec]]\nquote = "{BREW}"\n')
    assert statuses(project.service().view()) == {BREW: "not_started"}
    project.write(".duvet/todos/a.toml", f'target = "{BREWING}"\n[[todo]]\nquote = "{BREW}"\n')
    assert statuses(project.service().view()) == {BREW: "todo"}
    project.write(".duvet/exceptions/a.toml", f'target = "{BREWING}"\n[[exception]]\nquote = "{BREW}"\nreason = "x"\n')
    assert statuses(project.service().view()) == {BREW: "exception"}


##= docs/spec/trace.md#requirement-files
##% An unknown key in a requirement file, or an exception without a reason, MUST be an error.
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('[[exception]]\nquote = "The pot"\n', "reason"),
        ('[[todo]]\nquote = "The pot"\ncolour = "red"\n', "colour"),
        ("unknown = 1\n", "unknown"),
    ],
)
def test_an_unknown_key_or_an_exception_without_a_reason_is_an_error(entry: str, words: str, project: Project) -> None:
    project.write(".duvet/todos/a.toml", f'target = "{BREWING}"\n{entry}')
    (problem,) = project.service().view().state.problems
    assert words in problem.message


# -- targets -----------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#targets
##% The text of a URL MUST be read from the copy stored in the project.
def test_the_text_of_a_url_is_read_from_its_stored_copy(project: Project) -> None:
    url = "https://example.org/pots/lid.md"
    project.write("src/lid.rs", cite(f"{url}#lid", "A lid MUST close."))
    assert codes(project) == ["specification_not_found"]
    project.write(".duvet/specifications/example.org/pots/lid.txt", "# Lid\n\nA lid MUST close.\n")
    view = project.service().view()
    assert view.state.problems == ()
    assert view.catalog.resolve(url) is not None


##= docs/spec/trace.md#targets
##% Every common URL of an RFC MUST lead to the same stored copy.
@pytest.mark.parametrize(
    "address",
    [
        "www.rfc-editor.org/rfc/rfc2324",
        "www.rfc-editor.org/rfc/rfc2324.txt",
        "www.rfc-editor.org/rfc/rfc2324.html",
        "tools.ietf.org/rfc/rfc2324.txt",
        "datatracker.ietf.org/doc/html/rfc2324",
        "datatracker.ietf.org/doc/html/rfc2324/",
    ],
)
def test_every_url_of_an_rfc_has_the_same_stored_copy(address: str) -> None:
    for scheme in ("https", "http"):
        assert cached_path(f"{scheme}://{address}", "d") == "d/www.rfc-editor.org/rfc/rfc2324.txt"


# -- matching ----------------------------------------------------------------------------------------------------------


def haystack(text: str) -> Haystack:
    (section,) = parse_specification(f"# Part\n\n{text}\n", Format.MARKDOWN, "a.md").sections
    return Haystack.of(section)


##= docs/spec/trace.md#matching
##% A quote MUST be matched exactly, then ignoring white space, then with a difference of one byte; the first rule
##% that matches counts.
@pytest.mark.parametrize(
    ("text", "kind", "offset"),
    [
        ("a pox x. a  pot x. a pot x.", MatchKind.EXACT, 19),
        ("a pox x. a  pot x.", MatchKind.NORMALISED, 9),
        ("b. a pox x.", MatchKind.FUZZY, 3),
        ("b. a pos y.", None, 0),
    ],
)
def test_the_strictest_rule_that_finds_a_quote_counts(text: str, kind: MatchKind | None, offset: int) -> None:
    match = match_quote("a pot x.", haystack(text))
    assert (match and match.kind) == kind
    if match:
        assert match.spans[0][0] == len("# Part\n\n") + offset


##= docs/spec/trace.md#matching
##% If a quote occurs more than once in a section, the first occurrence MUST count.
def test_the_first_occurrence_of_a_quote_counts() -> None:
    match = match_quote("The pot", haystack("First. The pot brews. The pot cools."))
    assert match is not None
    assert [start for start, _ in match.spans] == [len("# Part\n\nFirst. ")]


##= docs/spec/trace.md#matching
##% A quote that matches only with a difference of one byte MUST be reported as a warning.
def test_a_quote_with_one_wrong_letter_is_a_warning(project: Project) -> None:
    assert status_of(project, cite(BREWING, "The pot MUST brew coffea.")) == "missing_test"
    view = project.service().view()
    assert view.state.problems == ()
    assert [item.citation.id for item in fuzzy_matches(view.catalog.analysis)] == ["src/coffee.rs:1"]
    warnings = find_warnings(view.catalog.analysis, WarningContext(dict(view.state.specifications), {}, 1))
    assert [(w.code, str(w.location), w.fatal) for w in warnings] == [("fuzzy_quote", "src/coffee.rs:2:5", False)]


##= docs/spec/trace.md#matching
##% A quote that does not occur in its section MUST be an error.
def test_a_quote_that_is_not_in_its_section_is_an_error(project: Project) -> None:
    assert status_of(project, cite(BREWING, MILK), MILK) == "not_started"
    assert codes(project) == ["quote_not_found"]


##= docs/spec/trace.md#matching
##% A citation that cannot be parsed or matched MUST NOT cover anything or prevent other citations from being matched.
@pytest.mark.parametrize(
    "bad",
    [
        cite(BREWING, BREW, "type=test", "colour=red"),
        cite("specs/coffee.md#nowhere", BREW, "type=test"),
        cite("specs/nowhere.md#brewing", BREW, "type=test"),
        cite(BREWING, "The pot MUST brew cocoa.", "type=test"),
    ],
)
def test_an_invalid_citation_does_not_affect_others(bad: str, project: Project) -> None:
    assert status_of(project, bad + "\n" + cite(BREWING, BREW)) == "missing_test"
    assert len(codes(project)) == 1


# -- coverage ----------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#coverage
##% A requirement MUST be complete when implementations cover every word of it and tests do, too.
def test_a_requirement_is_complete_when_its_whole_text_is_implemented_and_tested(project: Project) -> None:
    implemented, tested = cite(BREWING, BREW), cite(BREWING, BREW, "type=test")
    assert status_of(project, implemented) == "missing_test"
    assert status_of(project, tested) == "missing_citation"
    assert status_of(project, implemented + cite(BREWING, "The pot MUST", "type=test")) == "missing_test"
    halves = cite(BREWING, "The pot MUST", "type=test") + cite(BREWING, "brew coffee.", "type=test")
    assert status_of(project, implemented + halves) == "complete"
    assert status_of(project, implemented + tested) == "complete"


##= docs/spec/trace.md#coverage
##% An implication or an exception MUST count as both implementation and test.
@pytest.mark.parametrize(("kind", "status"), [("implication", "complete"), ("exception", "exception")])
def test_an_implication_and_an_exception_count_as_both(kind: str, status: str, project: Project) -> None:
    assert status_of(project, cite(BREWING, BREW, f"type={kind}", "reason=x")) == status


##= docs/spec/trace.md#coverage
##% A todo MUST NOT cover anything.
def test_a_todo_covers_nothing(project: Project) -> None:
    todo = cite(BREWING, BREW, "type=todo")
    assert status_of(project, todo) == "todo"
    assert status_of(project, todo + cite(BREWING, BREW)) == "missing_test"
    assert status_of(project, todo + cite(BREWING, BREW, "type=test")) == "missing_citation"
