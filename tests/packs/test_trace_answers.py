"""Answers of the trace tools that suffice to do the work, and that fit into a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextive.errors import InvalidRequest
from contextive.ingest.settings import IngestRequest
from contextive.registry.budget import estimated_tokens
from tests.ingest.projects import BREW, CONFIG, MILK, WARM, cite
from tests.packs.duvet_host import BREWING, DuvetHost

RULES = "specs/tea.md#rules"
SERVING = "specs/coffee.md#serving"


@pytest.fixture
def duvet_host(tmp_path: Path) -> DuvetHost:
    return DuvetHost(tmp_path)


def write_rules(duvet_host: DuvetHost, *sentences: str) -> None:
    duvet_host.project.remove("src/tea.rs")
    duvet_host.project.write("specs/tea.md", "# Tea\n\n## Rules\n\n" + "\n\n".join(sentences) + "\n")


def explain(duvet_host: DuvetHost, text: str) -> dict[str, Any]:
    found: dict[str, Any] = duvet_host.call("explain_requirement", req_identifier=duvet_host.path(text))
    return found


# -- size --------------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#answers
##% Without a limit, a page MUST have at most 20 entries, and only as many as fit into 2500 tokens.
@pytest.mark.parametrize("tool", ["list_uncited_requirements", "get_prioritized_requirements", "search_requirements"])
def test_a_page_fits_into_the_budget_unless_a_limit_is_given(tool: str, duvet_host: DuvetHost) -> None:
    words = "and it must be kept away from cats, dogs, children and other visitors of the kitchen, always, " * 3
    write_rules(duvet_host, *(f"Pot number {number} MUST be cleaned {words}at night." for number in range(60)))
    given: dict[str, Any] = {"spec": "specs-tea"} | ({"query": "cleaned"} if tool == "search_requirements" else {})
    seen, cursor = [], None
    while True:
        answer = duvet_host.answer(tool, **given, **({"cursor": cursor} if cursor else {}))
        assert estimated_tokens(answer.data) <= 2500
        assert 1 < len(answer.data["result"]) <= 20
        seen += [entry["identifier"] for entry in answer.data["result"]]
        cursor = answer.data.get("next_cursor")
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 60
    assert len(duvet_host.call(tool, **given, limit=60)["result"]) == 60


def test_invalid_citations_fit_into_the_budget(duvet_host: DuvetHost) -> None:
    wrong = "\n".join(
        cite(BREWING, f"The pot MUST brew {number} cups of coffee for everybody.") for number in range(60)
    )
    duvet_host.project.write("src/wrong.rs", wrong)
    page = duvet_host.call("list_invalid_citations")
    assert page["total"] == 60
    assert estimated_tokens(page) <= 2500


##= docs/spec/trace.md#next-steps
##% An explanation MUST have at most 2000 tokens.
@pytest.mark.parametrize("length", [1, 40, 300])
def test_an_explanation_fits_into_the_budget(length: int, duvet_host: DuvetHost) -> None:
    sentence = "The pot MUST " + "really and truly and always " * length + "brew."
    write_rules(duvet_host, sentence)
    code = "fn brew() {\n" + "    step_with_a_long_name(and_arguments);\n" * 100 + "}\n"
    duvet_host.project.write("src/rule.rs", "\n".join(cite(RULES, sentence) + code for _ in range(12)))
    data = explain(duvet_host, sentence)
    assert estimated_tokens(data) <= 2000
    assert data["citations"][0]["id"] == "src/rule.rs:1"
    assert len(data["citations"]) + data.get("more_citations", 0) == 12
    assert data["missing"][0]["citation"].startswith(f"//= {RULES}")


# -- explanations ------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#next-steps
##% An explanation of a partly covered requirement MUST list the words that are not covered.
##= docs/spec/trace.md#coverage
##% A bullet, a full stop or other text without a letter or digit MUST NOT count as missing.
def test_the_open_words_of_a_sentence_are_listed(duvet_host: DuvetHost) -> None:
    first, second = "Every pot MUST be clean, unless it is for sale.", "o  A cup MUST be dry."
    write_rules(duvet_host, first, second)
    code = cite(RULES, "Every pot MUST be clean") + "\n" + cite(RULES, "A cup MUST be dry")
    duvet_host.project.write("src/rules.rs", code)
    data = explain(duvet_host, first)
    assert data["status"] == "in progress"
    assert data["open_text"] == ["unless it is for sale"]
    assert data["missing"][0]["citation"] == f"//= {RULES}\n//# unless it is for sale"
    checked = duvet_host.call("validate_citation", citation=data["missing"][0]["citation"])
    assert checked["requirements"] == [duvet_host.identifier(first)]
    assert explain(duvet_host, second)["status"] == "needs tests"
    assert "open_text" not in explain(duvet_host, second)
    assert "open_text" not in explain(duvet_host, MILK)


##= docs/spec/trace.md#next-steps
##% An explanation MUST show the tracking issue and the feature of each todo.
##= docs/spec/trace.md#next-steps
##% A todo whose words are implemented MUST be marked as stale.
def test_todos_are_shown_with_their_issue_and_marked_when_stale(duvet_host: DuvetHost) -> None:
    entry = f'[[todo]]\nquote = "{WARM}"\ntracking-issue = "42"\nfeature = "Heating"'
    duvet_host.project.write(".duvet/todos/warm.toml", f'target = "{BREWING}"\n\n{entry}\n')
    todos = {c["id"]: c for c in explain(duvet_host, WARM)["citations"]}
    assert todos[".duvet/todos/warm.toml:3"].items() >= {"tracking_issue": "42", "feature": "Heating"}.items()
    assert todos[".duvet/todos/warm.toml:3"]["comment_text"] == entry
    assert not any("stale" in todo for todo in todos.values())
    duvet_host.project.write("src/warm2.rs", cite(BREWING, WARM) + "fn warm() {}\n")
    first, *todos_again = explain(duvet_host, WARM)["citations"]
    assert (first["type"], "stale" in first) == ("implementation", False)
    assert [todo["stale"] for todo in todos_again] == ["what it says is left to do is implemented"] * 2


##= docs/spec/trace.md#next-steps
##% The similar places of an explanation MUST include the text that is cited there, and no place twice.
def test_similar_places_have_the_text_and_the_code(duvet_host: DuvetHost) -> None:
    sentences = [f"The {colour} cup MUST be washed with hot water." for colour in ("red", "green", "blue", "white")]
    write_rules(duvet_host, *sentences)
    code = cite(RULES, sentences[0]) + "fn wash_red() {}\n\n" + cite(RULES, sentences[1]) + "fn wash_green() {}\n"
    duvet_host.project.write("src/cups.rs", code)
    duvet_host.project.write("tests/cups.rs", cite(RULES, sentences[0]) + "fn red_is_clean() {}\n")
    similar = explain(duvet_host, sentences[2])["similar"]
    assert [(place["id"], place["type"], place["text"], place["code"]) for place in similar] == [
        ("src/cups.rs:1", "implementation", sentences[0], "fn wash_red() {}"),
        ("src/cups.rs:5", "implementation", sentences[1], "fn wash_green() {}"),
        ("tests/cups.rs:1", "test", sentences[0], "fn red_is_clean() {}"),
    ]


def test_the_code_of_a_citation_is_what_is_below_it(duvet_host: DuvetHost) -> None:
    code = cite(BREWING, BREW) + "fn brew() {\n    boil();\n}\n\nfn other() {}\n"
    duvet_host.project.write("src/coffee.rs", code)
    below = ["fn brew() {", "    boil();", "}"]
    comment = cite(BREWING, BREW).rstrip().split("\n")
    assert explain(duvet_host, BREW)["citations"][0]["code"] == below
    assert duvet_host.call("get_citation_context", citation_id="src/coffee.rs:1")["context"] == comment + below
    strict = duvet_host.call("get_citation_context", citation_id="src/coffee.rs:1", context_lines=1)
    assert (strict["context"], strict["code"]) == (comment, comment + below)
    resource = duvet_host.read(f"{duvet_host.path(BREW)}/citations/src/coffee.rs:1")
    assert resource["context_lines"] == comment + below


def test_a_short_statement_is_shown_with_its_condition_and_without_other_citations(duvet_host: DuvetHost) -> None:
    body = (
        "    if tea {\n" + cite(BREWING, BREW) + "        //\n" + cite(BREWING, MILK) + "        return None;\n    }\n"
    )
    indented = "\n".join(f"        {line}" if line.startswith("//") else line for line in body.split("\n"))
    duvet_host.project.write("src/coffee.rs", f"fn brew() {{\n{indented}}}\n")
    assert explain(duvet_host, BREW)["citations"][0]["code"] == ["    if tea {", "        return None;"]


def test_a_citation_that_cannot_be_parsed_has_a_context(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/bad.rs", cite(BREWING, BREW, "type=wish") + "fn bad() {}\n")
    (entry,) = duvet_host.call("list_invalid_citations")["result"]
    citation_id = f"{entry['file_path']}:{entry['line_number']}"
    assert "//= type=wish" in duvet_host.call("get_citation_context", citation_id=citation_id)["context"]


# -- priorities --------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#get-prioritized-requirements
##% The status words of prioritized requirements MUST describe the implementation alone, regardless of tests.
def test_the_priority_status_describes_the_implementation(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/milk.rs", cite(SERVING, MILK))
    duvet_host.project.write("tests/warm.rs", cite(BREWING, WARM))
    entries = {e["text"]: e for e in duvet_host.call("get_prioritized_requirements")["result"]}
    assert (entries[BREW]["status"], entries[BREW].get("detail")) == ("fully_implemented", None)
    assert (entries[MILK]["status"], entries[MILK]["detail"]) == ("fully_implemented", "needs tests")
    assert (entries[WARM]["status"], entries[WARM]["detail"]) == ("not_started", "tested, not implemented")


##= docs/spec/trace.md#get-prioritized-requirements
##% A requirement about an IANA registry MUST be marked, and come after the others of the same level, status and number
##% of todos.
def test_a_registry_comes_last_and_is_never_the_next_work(duvet_host: DuvetHost) -> None:
    duvet_host.project.remove("src/tea.rs")
    registry = "## IANA Considerations\n\n### Policy\n\nNew teas MUST have a name.\n\n"
    duvet_host.project.write("specs/tea.md", f"# Tea\n\n{registry}## Steeping\n\nThe pot MUST NOT boil tea.\n")
    entries = duvet_host.call("get_prioritized_requirements", spec="specs-tea")["result"]
    assert [entry["text"] for entry in entries] == ["The pot MUST NOT boil tea.", "New teas MUST have a name."]
    assert "no code can implement it" in entries[1]["note"]
    assert "note" not in entries[0]
    assert duvet_host.call("next_requirement")["text"] == "The pot MUST NOT boil tea."
    duvet_host.project.write("src/tea.rs", cite("specs/tea.md#steeping", "The pot MUST NOT boil tea."))
    assert duvet_host.call("next_requirement", spec="specs-tea")["status"] == "needs tests"
    assert "no code" in duvet_host.call("next_requirement", spec="specs-tea", **{"for": "implement"})["note"]


##= docs/spec/trace.md#answers
##% A specification that is cited and not extracted MUST be reported as not extracted, never as done.
##= docs/spec/trace.md#specification-resources
##% A specification that is cited and not extracted MUST be marked.
def test_a_specification_that_is_only_cited_is_not_extracted(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/milk.md", "# Milk\n\n## Rules\n\nMilk MUST be cold.\n")
    duvet_host.project.write("src/milk.rs", cite("specs/milk.md#rules", "Milk MUST be cold."))
    answer = duvet_host.call("next_requirement", spec="specs-milk")
    assert answer["error"] == "Not extracted"
    assert "specs-milk is not extracted: it is cited, but it is not a [[specification]] in" in answer["detail"]
    for tool in ("list_uncited_requirements", "get_prioritized_requirements"):
        assert "not extracted" in str(duvet_host.answer(tool, spec="specs-milk").content[1])
    listed = {entry["id"]: entry.get("status") for entry in duvet_host.read("/specifications")}
    assert listed == {"specs-coffee": None, "specs-milk": "not extracted", "specs-tea": None}
    duvet_host.project.write(".duvet/config.toml", CONFIG + '[[specification]]\nsource = "specs/milk.md"\n')
    assert duvet_host.call("next_requirement", spec="specs-milk")["status"] == "needs tests"


##= docs/spec/trace.md#defaults
##% In a directory without specifications, a server MUST point at a `.duvet/config.toml` in the directories above it.
def test_a_subdirectory_points_at_the_configuration_above(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "code" / "src").mkdir(parents=True)
    DuvetHost(tmp_path)
    inside = DuvetHost.__new__(DuvetHost)
    inside.open(tmp_path / "code" / "src")
    answer = inside.answer("list_uncited_requirements")
    assert "There is a ../../.duvet/config.toml" in str(answer.content[1])
    assert "There is a ../../.duvet/config.toml" in inside.call("next_requirement")["detail"]
    assert str(tmp_path) not in str(answer.content)


# -- the text of a section ---------------------------------------------------------------------------------------------


##= docs/spec/trace.md#get-section
##% The tool `get_section` MUST take `spec`, `section` and `offset` and return the text of a section.
def test_the_text_of_a_section_is_returned(duvet_host: DuvetHost) -> None:
    expected = {"spec_id": "specs-coffee", "id": "brewing", "title": "Brewing", "content": f"{BREW} {WARM}"}
    for spec, section in (("specs-coffee", "brewing"), ("specs/coffee.md", "#brewing"), ("specs/coffee.md", "Brewing")):
        assert duvet_host.call("get_section", spec=spec, section=section) == expected
    unknown = duvet_host.call("get_section", spec="specs-coffee", section="none")
    assert unknown == {"error": "Section not found", "known": ["coffee", "brewing", "serving"]}
    assert duvet_host.call("get_section", spec="none", section="x")["error"] == "Specification not found"
    with pytest.raises(InvalidRequest):
        duvet_host.call("get_section", spec="specs-coffee", section="brewing", offset=1000)


##= docs/spec/trace.md#get-section
##% A section of more than 4000 tokens MUST be returned in parts, each with the offset of the next one.
def test_a_long_section_is_returned_in_parts(duvet_host: DuvetHost) -> None:
    text = "\n".join(f"Line {number} of a long section about pots and cups." for number in range(1000))
    write_rules(duvet_host, text)
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        part = duvet_host.call("get_section", spec="specs-tea", section="rules", offset=offset)
        assert estimated_tokens(part) <= 4000
        parts.append(part["content"])
        offset = part.get("next_offset")
    assert "".join(parts) == text
    assert len(parts) > 2


# -- citations ---------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#validate-citation
##% A valid citation in a comment style that no source file of the project uses MUST be answered with a warning.
def test_a_comment_that_the_project_would_ignore_has_a_warning(duvet_host: DuvetHost) -> None:
    for style in (("##=", "##%"), ("*=", "*#"), ("#=", "#%")):
        data = duvet_host.call("validate_citation", citation=cite(BREWING, BREW, style=style))
        assert data["valid"] is True
        (warning,) = data["warnings"]
        assert warning == (
            f"No source file of this project is read with {style[0]} and {style[1]}, so this comment would be ignored. "
            "The project uses //= and //#."
        )
    for citation in (cite(BREWING, BREW), f"{BREWING}\n{BREW}", f"// {BREWING}\n// {BREW}"):
        assert "warnings" not in duvet_host.call("validate_citation", citation=citation)


##= docs/spec/trace.md#validate-citation
##% A valid citation whose quote covers no part of a requirement MUST be answered with a warning.
def test_a_quote_that_touches_no_requirement_has_a_warning(duvet_host: DuvetHost) -> None:
    write_rules(duvet_host, "Pots are nice. The pot MUST be clean.")
    data = duvet_host.call("validate_citation", citation=cite(RULES, "Pots are nice."))
    assert (data["valid"], "requirements" in data) == (True, False)
    assert "covers no word of a requirement" in data["warnings"][0]
    assert "warnings" not in duvet_host.call("validate_citation", citation=cite(RULES, "The pot MUST"))


##= docs/spec/trace.md#validate-citation
##% A corrected citation MUST have the type of the wrong one and, if its quote begins with an identifier, the same
##% identifier.
@pytest.mark.parametrize(
    ("quote", "corrected"),
    [
        ("`POT-7` The pot MUST brew. It is old.", "`POT-7` The pot MUST brew hot coffee. It is very old."),
        ("POT-8 The lid MUST shut.", "POT-8 The lid MUST close."),
        ("POT-19 The lid MUST close.", None),
        ("The lid MUST close tightly.", "POT-8 The lid MUST close."),
    ],
)
def test_a_correction_keeps_the_type_and_the_identifier(
    quote: str, corrected: str | None, duvet_host: DuvetHost
) -> None:
    write_rules(duvet_host, "- `POT-7` The pot MUST brew hot coffee. It is very old.", "- POT-8 The lid MUST close.")
    data = duvet_host.call("validate_citation", citation=cite(RULES, quote, "type=test"))
    expected = cite(RULES, corrected, "type=test").rstrip() if corrected else None
    assert (data["valid"], data.get("suggestion")) == (False, expected)


@pytest.mark.parametrize(
    ("section", "nearest"),
    [("steepin", "steeping"), ("steeping-and-serving", None), ("kinds", "kinds-of-tea")],
)
def test_a_section_is_suggested_by_its_title(section: str, nearest: str | None, duvet_host: DuvetHost) -> None:
    duvet_host.project.write("specs/tea.md", "# Tea\n\n## Steeping\n\nHot.\n\n## Kinds of tea\n\nGreen.\n")
    data = duvet_host.call("validate_citation", citation=f"//= specs/tea.md#{section}")
    assert data["part"] == "section"
    assert data.get("nearest") == nearest


def test_another_number_is_never_suggested_for_a_section(duvet_host: DuvetHost) -> None:
    text = "1.  Streams\n\n   Text.\n\n2.  Types\n\n2.1.  Stream Types and Identifiers\n\n   Streams MUST flow.\n"
    duvet_host.project.write("specs/tea.txt", text)
    duvet_host.project.write(".duvet/config.toml", CONFIG + '[[specification]]\nsource = "specs/tea.txt"\n')
    assert "nearest" not in duvet_host.call("validate_citation", citation="//= specs/tea.txt#section-99")
    data = duvet_host.call("validate_citation", citation="//= specs/tea.txt#stream-types")
    assert data["nearest"] == "section-2.1"
    data = duvet_host.call("validate_citation", citation=cite("specs/tea.txt#section-9", "Streams MUST flow."))
    assert data["nearest"] == "section-2.1"


@pytest.mark.parametrize("fence", ["```", "```rust", "~~~"])
def test_a_citation_in_a_code_block_is_read(fence: str, duvet_host: DuvetHost) -> None:
    text = f"{fence}\n{cite(BREWING, BREW)}{fence[:3]}\n"
    assert duvet_host.call("validate_citation", citation=text)["valid"] is True


def test_the_number_of_identifiers_is_written_correctly(duvet_host: DuvetHost) -> None:
    start = duvet_host.identifier(BREW)[:7]
    error = duvet_host.call("get_requirement_status", req_identifier=start)["error"]
    assert error == "Requirement not found: 1 identifier starts with this; give more digits, at least 8"


# -- search ------------------------------------------------------------------------------------------------------------


def _files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


##= docs/spec/trace.md#search-requirements
##% If there is an index with embeddings, a search MUST also find requirements by their meaning, without an ingest and
##% without writing to the project.
def test_a_search_adds_meaning_if_there_are_embeddings(duvet_host: DuvetHost) -> None:
    question = "Which beverages can be prepared?"
    before = _files(duvet_host.project.root)
    assert duvet_host.call("search_requirements", query=question)["total"] == 0
    assert _files(duvet_host.project.root) == before
    index = duvet_host.host.index()
    index.ingest(IngestRequest())
    index.embed()
    duvet_host.host.close()
    before = _files(duvet_host.project.root)
    found = duvet_host.call("search_requirements", query=question)["result"]
    assert BREW in [entry["text"] for entry in found]
    # Only SQLite's shared memory, by which processes coordinate, may be there in addition.
    after = {
        path: text for path, text in _files(duvet_host.project.root).items() if not path.endswith(("-shm", "-wal"))
    }
    assert after == {path: text for path, text in before.items() if not path.endswith(("-shm", "-wal"))}


@pytest.mark.parametrize(
    "address",
    [
        "https://tools.ietf.org/html/rfc2324",
        "https://www.rfc-editor.org/info/rfc2324",
        "https://datatracker.ietf.org/doc/rfc2324",
        "http://www.rfc-editor.org/rfc/rfc2324.html",
    ],
)
def test_every_address_that_can_be_resolved_can_be_cited(address: str, duvet_host: DuvetHost) -> None:
    text = "1.  Introduction\n\n   A pot MUST answer.\n"
    duvet_host.project.write(".duvet/specifications/www.rfc-editor.org/rfc/rfc2324.txt", text)
    source = '[[specification]]\nsource = "https://www.rfc-editor.org/rfc/rfc2324"\n'
    duvet_host.project.write(".duvet/config.toml", CONFIG + source)
    citation = cite(f"{address}#section-1", "A pot MUST answer.")
    assert duvet_host.call("resolve_spec_id", url=address) == {"spec_id": "rfc2324"}
    assert duvet_host.call("validate_citation", citation=citation)["valid"] is True
    duvet_host.project.write("src/answer.rs", citation)
    assert duvet_host.call("list_invalid_citations")["total"] == 0
    assert duvet_host.call("get_prioritized_requirements", spec="rfc2324")["result"][0]["status"] == "fully_implemented"
    assert len([entry for entry in duvet_host.read("/specifications") if entry["id"] == "rfc2324"]) == 1
