"""The requirements of docs/spec/trace.md about tools, one test each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import InvalidRequest
from tests.ingest.projects import BOIL, BREW, CONFIG, MILK, WARM, cite
from tests.packs.duvet_host import BREWING, DuvetHost

RFC = "1.  Introduction\n\n   A pot MUST answer.\n"
COMMENT_STYLES = ["//= //#", "*= *#", "##= ##%", "#= #%", "--= --#", ";= ;#", "%= %#"]


@pytest.fixture
def duvet_host(tmp_path: Path) -> DuvetHost:
    return DuvetHost(tmp_path)


def texts(page: Any) -> list[str]:
    return [entry["text"] for entry in page["result"]]


# -- answers -----------------------------------------------------------------------------------------------------------

LISTS: list[tuple[str, dict[str, Any]]] = [
    ("search_requirements", {"query": "pot"}),
    ("list_uncited_requirements", {}),
    ("list_invalid_citations", {}),
    ("get_prioritized_requirements", {}),
]


##= docs/spec/trace.md#answers
##% The first text of a list answer MUST be a JSON array of the entries.
@pytest.mark.parametrize(("tool", "arguments"), LISTS)
def test_the_first_text_of_a_list_is_its_entries(tool: str, arguments: dict[str, Any], duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/bad.rs", cite("specs/none.md#x", "Y.") + "\n" + cite(BREWING, "Nothing."))
    duvet_host.project.remove("src/tea.rs")
    entries = duvet_host.first_text(tool, **arguments)
    assert isinstance(entries, list)
    assert len(entries) > 1
    assert entries == duvet_host.call(tool, **arguments)["result"]


##= docs/spec/trace.md#answers
##% An unknown identifier, citation id or URL MUST be answered with an `error` in place of the other fields.
@pytest.mark.parametrize(
    ("tool", "arguments", "fields"),
    [
        ("get_requirement_status", {"req_identifier": "0" * 64}, {"status", "detail", "requirements"}),
        ("explain_requirement", {"req_identifier": "0" * 64}, {"text", "status", "citations"}),
        ("get_citation_context", {"citation_id": "src/none.rs:1"}, {"file_path", "line_number", "context"}),
        ("get_citation_context", {"citation_id": "no id"}, {"file_path", "line_number", "context"}),
        ("resolve_spec_id", {"url": "https://example.org/none"}, {"spec_id"}),
    ],
)
def test_unknown_names_are_an_error_in_the_answer(
    tool: str, arguments: dict[str, Any], fields: set[str], duvet_host: DuvetHost
) -> None:
    data = duvet_host.call(tool, **arguments)
    assert data["error"]
    assert not fields & set(data)


##= docs/spec/trace.md#answers
##% The structured data of a list answer MUST contain `result`, `total` and, if there are more entries, `next_cursor`.
def test_pages_have_a_cursor_and_the_total(duvet_host: DuvetHost) -> None:
    first = duvet_host.call("get_prioritized_requirements", limit=3)
    assert (len(first["result"]), first["total"]) == (3, 4)
    second = duvet_host.call("get_prioritized_requirements", limit=3, cursor=first["next_cursor"])
    assert (len(second["result"]), second["total"]) == (1, 4)
    assert "next_cursor" not in second
    assert sorted(texts(first) + texts(second)) == sorted([BREW, WARM, MILK, BOIL])


##= docs/spec/trace.md#answers
##% Lists of requirements MUST be filterable by specification, section, level and status; an unknown specification or
##% section is an error.
@pytest.mark.parametrize("tool", ["search_requirements", "list_uncited_requirements", "get_prioritized_requirements"])
def test_lists_of_requirements_are_filtered(tool: str, duvet_host: DuvetHost) -> None:
    query = {"query": "brew warm milk boil"} if tool == "search_requirements" else {}
    query |= {"include": "test_or_todo"} if tool == "list_uncited_requirements" else {}
    duvet_host.project.remove("src/coffee.rs")
    duvet_host.project.remove("src/tea.rs")
    every = set(texts(duvet_host.call(tool, **query)))
    assert every == {BREW, WARM, MILK, BOIL}
    assert texts(duvet_host.call(tool, spec="specs-tea", **query)) == [BOIL]
    assert texts(duvet_host.call(tool, section="serving", **query)) == [MILK]
    assert texts(duvet_host.call(tool, level="SHOULD", **query)) == [WARM]
    assert texts(duvet_host.call(tool, status="in progress", **query)) == [BREW]
    for wrong in ({"spec": "none"}, {"section": "none"}, {"spec": "specs-tea", "section": "serving"}):
        with pytest.raises(InvalidRequest):
            duvet_host.call(tool, **wrong, **query)


##= docs/spec/trace.md#answers
##% In a project without a specification, an answer that lists requirements MUST say that there is no specification.
@pytest.mark.parametrize("tool", ["search_requirements", "list_uncited_requirements", "get_prioritized_requirements"])
def test_a_project_without_specifications_is_reported(tool: str, duvet_host: DuvetHost) -> None:
    query = {"query": "x"} if tool == "search_requirements" else {}
    none = "No specification was found in this project"
    assert none not in str(duvet_host.answer(tool, **query).content)
    for path in ("src/coffee.rs", "src/tea.rs", "src/warm.rs", "tests/coffee.rs", ".duvet/config.toml"):
        duvet_host.project.remove(path)
    duvet_host.project.remove("specs/coffee.md")
    duvet_host.project.remove("specs/tea.md")
    answer = duvet_host.answer(tool, **query)
    assert answer.data == {"result": [], "total": 0}
    assert none in str(answer.content[1])
    assert none in duvet_host.call("next_requirement")["detail"]


# -- validate_citation -------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#validate-citation
##% The tool `validate_citation` MUST take `citation` and return `valid` and, if that is false, `error`.
def test_a_citation_is_valid_or_has_an_error(duvet_host: DuvetHost) -> None:
    good = duvet_host.call("validate_citation", citation=cite(BREWING, BREW))
    assert good["valid"] is True
    assert "error" not in good
    bad = duvet_host.call("validate_citation", citation=cite(BREWING, MILK))
    assert bad["valid"] is False
    assert bad["error"]


##= docs/spec/trace.md#validate-citation
##% A citation MUST be accepted in every common comment style, and without comment markers.
@pytest.mark.parametrize("style", COMMENT_STYLES)
def test_a_citation_is_understood_in_every_style(style: str, duvet_host: DuvetHost) -> None:
    meta, content = style.split()
    pasted = cite(BREWING, BREW, "type=test", style=(meta, content))
    for text in (pasted, "    " + pasted.replace("\n", "\n    "), f"{BREWING}\n{BREW}"):
        data = duvet_host.call("validate_citation", citation=text)
        assert (data["valid"], data["requirements"]) == (True, [duvet_host.identifier(BREW)])


##= docs/spec/trace.md#validate-citation
##% A citation MUST be valid only if its specification, its section and its quoted text exist.
##= docs/spec/trace.md#validate-citation
##% The answer for an invalid citation MUST say whether its format, specification, section or quote is wrong.
@pytest.mark.parametrize(
    ("citation", "part"),
    [
        (cite(BREWING, BREW), None),
        (cite(BREWING), None),
        (cite(BREWING, BREW, "type=wish"), "format"),
        (cite("specs/coffee.md", BREW), "format"),
        (cite("specs/none.md#brewing", BREW), "specification"),
        (cite("specs/coffee.md#none", "Nothing."), "section"),
        (cite(BREWING, "The cat sat on the mat."), "quote"),
    ],
)
def test_the_part_that_fails_is_named(citation: str, part: str | None, duvet_host: DuvetHost) -> None:
    data = duvet_host.call("validate_citation", citation=citation)
    assert (data["valid"], data.get("part")) == (part is None, part)


##= docs/spec/trace.md#validate-citation
##% The answer for an invalid citation SHOULD contain the closest match and a corrected citation.
@pytest.mark.parametrize(
    ("citation", "nearest"),
    [
        (cite("specs/cofee.md#brewing", BREW), "specs/coffee.md"),
        (cite("specs/coffee.md#brewin", BREW), "brewing"),
        (cite(BREWING, "The pots MUST brew the coffee."), BREW),
    ],
)
def test_an_invalid_citation_has_the_nearest_match(citation: str, nearest: str, duvet_host: DuvetHost) -> None:
    data = duvet_host.call("validate_citation", citation=citation)
    assert (data["valid"], data["nearest"]) == (False, nearest)
    assert data["suggestion"] + "\n" == cite(BREWING, BREW)


# -- search and status -------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#search-requirements
##% The tool `search_requirements` MUST take `query` and list the matching requirements with `identifier`, `full_path`
##% and `text`.
##= docs/spec/host.md#tests-of-the-project
##= type=implication
##% The project MUST have tests of at least one pack.
def test_a_search_returns_matching_requirements(duvet_host: DuvetHost) -> None:
    (found,) = duvet_host.call("search_requirements", query="milk")["result"]
    assert (found["identifier"], found["full_path"], found["text"]) == (
        duvet_host.identifier(MILK),
        duvet_host.path(MILK),
        MILK,
    )


##= docs/spec/trace.md#search-requirements
##% A search MUST find requirements by words regardless of case, by quoted phrases, and by identifier.
def test_a_search_accepts_words_phrases_and_identifiers(duvet_host: DuvetHost) -> None:
    # The title of the specification counts, too: WARM is in "Coffee".
    assert texts(duvet_host.call("search_requirements", query="COFFEE Brew"))[0] == BREW
    assert texts(duvet_host.call("search_requirements", query="Serving")) == [MILK]
    assert texts(duvet_host.call("search_requirements", query='"keep it WARM"')) == [WARM]
    assert texts(duvet_host.call("search_requirements", query='"warm it keep"')) == []
    assert texts(duvet_host.call("search_requirements", query=duvet_host.identifier(BOIL))) == [BOIL]


##= docs/spec/trace.md#search-requirements
##% A search MUST ignore accents on letters.
##= docs/spec/trace.md#search-requirements
##% If no requirement contains a word of a search, a similarly spelled word SHOULD match.
def test_a_search_tolerates_missing_accents_and_typing_errors(duvet_host: DuvetHost) -> None:
    creme = "A Crème brûlée SHOULD wait."
    duvet_host.project.write("specs/tea.md", f"# Tea\n\n## Steeping\n\n{BOIL} {creme}\n")
    assert texts(duvet_host.call("search_requirements", query="creme BRULEE")) == [creme]
    assert texts(duvet_host.call("search_requirements", query="crème")) == [creme]
    assert texts(duvet_host.call("search_requirements", query="cofffee"))[0] == BREW
    assert texts(duvet_host.call("search_requirements", query="boiling")) == [BOIL]
    for nothing in ('"cofffee"', "xyzzy", "tae"):
        assert texts(duvet_host.call("search_requirements", query=nothing)) == []


##= docs/spec/trace.md#get-requirement-status
##% The tool `get_requirement_status` MUST take `req_identifier` and return `status`: done, needs tests, in progress
##% or not started.
def test_a_status_has_one_of_four_values(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("tests/milk.rs", cite("specs/coffee.md#serving", MILK))
    expected = {BREW: "done", BOIL: "needs tests", MILK: "in progress", WARM: "not started"}
    for text, word in expected.items():
        assert duvet_host.call("get_requirement_status", req_identifier=duvet_host.identifier(text))["status"] == word


##= docs/spec/trace.md#get-requirement-status
##% The status of a text that occurs in several sections MUST be its least finished one.
def test_the_status_of_a_repeated_text_is_the_least_finished_one(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/tea.md", f"# Tea\n\n## Steeping\n\n{BOIL} {BREW}\n")
    data = duvet_host.call("get_requirement_status", req_identifier=duvet_host.identifier(BREW))
    assert data["status"] == "not started"
    assert [place["status"] for place in data["requirements"]] == ["done", "not started"]


##= docs/spec/trace.md#identifiers
##% A `full_path` MUST be accepted in place of an identifier and refer only to the requirement of that section.
def test_a_full_path_selects_one_occurrence(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/tea.md", f"# Tea\n\n## Steeping\n\n{BOIL} {BREW}\n")
    first, second = (e["full_path"] for e in duvet_host.read("/requirements") if e["text"] == BREW)
    assert duvet_host.call("get_requirement_status", req_identifier=first)["status"] == "done"
    assert duvet_host.call("get_requirement_status", req_identifier=f"duvet://{second}")["status"] == "not started"
    assert "error" in duvet_host.call("get_requirement_status", req_identifier=first.replace("brewing", "serving"))


##= docs/spec/trace.md#next-steps
##% For a text that occurs in several sections, `explain_requirement` MUST explain the least finished occurrence and
##% list all of them.
def test_the_least_finished_occurrence_of_a_text_is_explained(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/tea.md", f"# Tea\n\n## Steeping\n\n{BOIL} {BREW}\n")
    data = duvet_host.call("explain_requirement", req_identifier=duvet_host.identifier(BREW))
    assert (data["status"], data["section_title"]) == ("not started", "Steeping")
    assert [place["status"] for place in data["requirements"]] == ["done", "not started"]
    assert "requirements" not in duvet_host.call("explain_requirement", req_identifier=duvet_host.identifier(BOIL))


# -- uncited requirements and invalid citations ------------------------------------------------------------------------


##= docs/spec/trace.md#list-uncited-requirements
##% The tool `list_uncited_requirements` MUST list the uncited requirements with `identifier`, `full_path` and
##% `text`.
##= docs/spec/trace.md#list-uncited-requirements
##% A requirement MUST count as uncited only if no citation of any type covers part of it.
##= docs/spec/trace.md#list-uncited-requirements
##% With `include` set to `test_or_todo`, requirements that only tests or todos cite MUST be listed too, with the types of
##% their citations.
def test_an_uncited_requirement_has_no_citation_at_all(duvet_host: DuvetHost) -> None:
    entries = duvet_host.call("list_uncited_requirements")["result"]
    assert [(e["identifier"], e["full_path"], e["text"]) for e in entries] == [
        (duvet_host.identifier(MILK), duvet_host.path(MILK), MILK)
    ]
    others = duvet_host.call("list_uncited_requirements", include="test_or_todo")["result"]
    assert [(e["text"], e.get("cited_by")) for e in others] == [(WARM, ["todo"]), (MILK, None)]
    serving = "specs/coffee.md#serving"
    for kind, implemented in {"test": 0, "todo": 0, "implementation": 1, "implication": 1, "exception": 1}.items():
        duvet_host.project.write("src/milk.rs", cite(serving, "A cup MAY", f"type={kind}"))
        assert MILK not in texts(duvet_host.call("list_uncited_requirements")), kind
        included = texts(duvet_host.call("list_uncited_requirements", include="test_or_todo"))
        assert (MILK not in included) == bool(implemented), kind


##= docs/spec/trace.md#list-invalid-citations
##% The tool `list_invalid_citations` MUST list everything that cannot be parsed or matched, with `file_path`,
##% `line_number`, `comment_text` and `error`.
def test_citations_that_cannot_be_parsed_or_matched_are_listed(duvet_host: DuvetHost) -> None:
    unparsed = cite(BREWING, BREW, "type=wish")
    duvet_host.project.write("src/bad.rs", f"{unparsed}\n" + cite(BREWING, "Nothing like it."))
    first, second = duvet_host.call("list_invalid_citations")["result"]
    assert (first["file_path"], first["line_number"]) == ("src/bad.rs", 2)
    assert first["comment_text"] == unparsed.rstrip()
    assert "wish" in first["error"]
    assert (second["file_path"], second["line_number"]) == ("src/bad.rs", 5)
    assert second["comment_text"] + "\n" == cite(BREWING, "Nothing like it.")
    assert second["error"]


##= docs/spec/trace.md#list-invalid-citations
##% The tool `list_invalid_citations` MUST also list a configured specification that is not stored or cannot be
##% read.
@pytest.mark.parametrize("name", ["https://example.org/pot", "specs/none.md", "specs"])
def test_a_configured_specification_that_cannot_be_read_is_listed(name: str, duvet_host: DuvetHost) -> None:
    duvet_host.project.write(".duvet/config.toml", CONFIG + f'[[specification]]\nsource = "{name}"\n')
    (entry,) = duvet_host.call("list_invalid_citations")["result"]
    assert entry["file_path"] == ".duvet/config.toml"
    assert name in entry["error"]


# -- context and names -------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#get-citation-context
##% The tool `get_citation_context` MUST take `citation_id` and `context_lines` and return `file_path`, `line_number`
##% and `context`.
##= docs/spec/trace.md#get-citation-context
##% If `context_lines` is given, the context MUST contain the citation's first line and that number of lines before
##% and after it, as far as they exist.
def test_the_code_around_a_citation_is_returned(duvet_host: DuvetHost) -> None:
    lines = (duvet_host.project.root / "src/warm.rs").read_text(encoding="utf-8").split("\n")
    data = duvet_host.call("get_citation_context", citation_id="src/warm.rs:3", context_lines=1)
    assert (data["file_path"], data["line_number"]) == ("src/warm.rs", 3)
    assert data["context"] == lines[1:4]
    assert (
        duvet_host.call("get_citation_context", citation_id="src/warm.rs:3", context_lines=0)["context"] == lines[2:3]
    )
    assert duvet_host.call("get_citation_context", citation_id="src/warm.rs:3", context_lines=500)["context"] == lines


##= docs/spec/trace.md#resolve-spec-id
##% The tool `resolve_spec_id` MUST take `url` and return `spec_id`, or `error` if no specification has that address.
##= docs/spec/trace.md#resolve-spec-id
##% A path prefixed with `./` or `file://`, and every common URL of an RFC, MUST resolve to the same id as the plain
##% form.
##= docs/spec/trace.md#resolve-spec-id
##% An absolute path into the project, the path of a resource and the bare name of an RFC MUST also resolve.
@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("specs/coffee.md", "specs-coffee"),
        ("./specs/coffee.md", "specs-coffee"),
        ("file://specs/coffee.md", "specs-coffee"),
        ("https://www.rfc-editor.org/rfc/rfc2324", "rfc2324"),
        ("https://www.rfc-editor.org/rfc/rfc2324.txt", "rfc2324"),
        ("https://www.rfc-editor.org/rfc/rfc2324.html", "rfc2324"),
        ("https://datatracker.ietf.org/doc/html/rfc2324", "rfc2324"),
        ("https://tools.ietf.org/rfc/rfc2324.txt", "rfc2324"),
        ("https://www.rfc-editor.org/info/rfc2324", "rfc2324"),
        ("https://datatracker.ietf.org/doc/rfc2324/", "rfc2324"),
        ("RFC 2324", "rfc2324"),
        ("RFC2324", "rfc2324"),
        ("{root}/specs/coffee.md", "specs-coffee"),
        ("file://{root}/specs/coffee.md", "specs-coffee"),
        ("file://{root}/specs/co%66fee.md", "specs-coffee"),
        ("/specifications/specs-coffee", "specs-coffee"),
        ("duvet:///specifications/specs-coffee/sections", "specs-coffee"),
        ("specs/none.md", None),
        ("RFC 2325", None),
        ("https://example.org/rfc2324", None),
        ("/specifications/none", None),
        ("https://[bad", None),
    ],
)
def test_all_spellings_of_a_specification_have_one_id(
    spelling: str, expected: str | None, duvet_host: DuvetHost
) -> None:
    source = '[[specification]]\nsource = "https://www.rfc-editor.org/rfc/rfc2324"\n'
    duvet_host.project.write(".duvet/specifications/www.rfc-editor.org/rfc/rfc2324.txt", RFC)
    duvet_host.project.write(".duvet/config.toml", CONFIG + source)
    data = duvet_host.call("resolve_spec_id", url=spelling.format(root=duvet_host.project.root))
    assert data.get("spec_id") == expected
    assert ("error" in data) == (expected is None)


# -- priorities --------------------------------------------------------------------------------------------------------

ORDER = """\
# Order

A done MUST. A begun MUST. A new MUST. A planned MUST. A twice planned MUST.
A done SHOULD. A new SHOULD. A begun MAY. No word at all.
"""


def _ordered(duvet_host: DuvetHost) -> list[dict[str, Any]]:
    target = "specs/tea.md#order"
    code = [cite(target, "A done MUST."), cite(target, "A done SHOULD."), cite(target, "A begun")]
    code += [cite(target, "A done MUST.", "type=test"), cite(target, "A done SHOULD.", "type=test")]
    code += [cite(target, "A begun MAY."), cite(target, "A planned MUST.", "type=todo")]
    code += [cite(target, "A twice planned MUST.", "type=todo") * 2]
    code += [cite(target, "No word at all.", "type=spec")]
    duvet_host.project.write("specs/tea.md", ORDER)
    duvet_host.project.write("src/tea.rs", "\n".join(code))
    page = duvet_host.call("get_prioritized_requirements", spec="specs-tea")
    assert page["total"] == 9
    entries: list[dict[str, Any]] = page["result"]
    return entries


##= docs/spec/trace.md#get-prioritized-requirements
##% The tool `get_prioritized_requirements` MUST list all requirements with `full_path`, `level`, `status` and
##% `todo_count`.
def test_the_prioritized_list_contains_every_requirement(duvet_host: DuvetHost) -> None:
    entries = duvet_host.call("get_prioritized_requirements")["result"]
    found = {e["full_path"]: (e["level"], e["status"], e["todo_count"]) for e in entries}
    assert found == {
        duvet_host.path(BREW): ("MUST", "fully_implemented", 0),
        duvet_host.path(BOIL): ("MUST", "fully_implemented", 0),
        duvet_host.path(WARM): ("SHOULD", "not_started", 1),
        duvet_host.path(MILK): ("MAY", "not_started", 0),
    }


##= docs/spec/trace.md#get-prioritized-requirements
##% Prioritized requirements MUST be sorted by level first: "MUST", "SHOULD", "MAY", unspecified.
def test_requirements_are_prioritized_by_level_first(duvet_host: DuvetHost) -> None:
    levels = [entry["level"] for entry in _ordered(duvet_host)]
    assert levels == ["MUST"] * 5 + ["SHOULD"] * 2 + ["MAY", "unspecified"]


##= docs/spec/trace.md#get-prioritized-requirements
##% Within a level, prioritized requirements MUST be sorted by status: partially_implemented, not_started,
##% fully_implemented.
def test_within_a_level_started_requirements_come_first(duvet_host: DuvetHost) -> None:
    statuses = [entry["status"] for entry in _ordered(duvet_host) if entry["level"] == "MUST"]
    assert statuses == ["partially_implemented", "not_started", "not_started", "not_started", "fully_implemented"]


##= docs/spec/trace.md#get-prioritized-requirements
##% Within a status, prioritized requirements with more todos MUST come first.
def test_within_a_status_more_todos_come_first(duvet_host: DuvetHost) -> None:
    entries = [e for e in _ordered(duvet_host) if (e["level"], e["status"]) == ("MUST", "not_started")]
    assert [(e["text"], e["todo_count"]) for e in entries] == [
        ("A twice planned MUST.", 2),
        ("A planned MUST.", 1),
        ("A new MUST.", 0),
    ]


##= docs/spec/trace.md#next-steps
##% The tool `explain_requirement` MUST return a requirement's text, level, status, citations with their code, and the
##% missing citation comments.
def test_a_requirement_is_explained_with_its_code_and_what_is_missing(duvet_host: DuvetHost) -> None:
    data = duvet_host.call("explain_requirement", req_identifier=duvet_host.identifier(BOIL))
    assert (data["text"], data["level"], data["status"]) == (BOIL, "MUST", "needs tests")
    (citation,) = data["citations"]
    assert citation["id"] == "src/tea.rs:1"
    assert "fn steep() {}" in citation["code"]
    assert [piece["citation"] + "\n" for piece in data["missing"]] == [cite("specs/tea.md#steeping", BOIL, "type=test")]


##= docs/spec/trace.md#next-steps
##% The tool `next_requirement` MUST return the open requirement with the highest priority, and say why.
##= docs/spec/trace.md#next-steps
##% The tool `next_requirement` MUST return a requirement that is not implemented as long as there is one, and one that is
##% not tested otherwise; the argument `for` chooses one of the two kinds.
def test_the_next_requirement_is_the_open_one_with_the_highest_priority(duvet_host: DuvetHost) -> None:
    first_open = next(
        e for e in duvet_host.call("get_prioritized_requirements")["result"] if e["status"] != "fully_implemented"
    )
    data = duvet_host.call("next_requirement")
    assert (data["text"], data["full_path"]) == (WARM, first_open["full_path"])
    assert "2 to implement and 1 to test" in data["why_next"]
    assert "it is marked as todo (1)" in data["why_next"]
    assert json.dumps(data["missing"])
    test = duvet_host.call("next_requirement", **{"for": "test"})
    assert (test["text"], test["status"]) == (BOIL, "needs tests")
    duvet_host.project.write("src/rest.rs", cite(BREWING, WARM) + "\n" + cite("specs/coffee.md#serving", MILK))
    assert duvet_host.call("next_requirement")["text"] == BOIL
    nothing = duvet_host.call("next_requirement", **{"for": "implement"})
    assert (nothing["error"], nothing["detail"]) == (
        "No open requirement",
        "nothing is left of this kind, but 3 are not tested",
    )
