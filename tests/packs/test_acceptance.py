"""What users of the original server rely on, and the keys of every shape."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import ContextiveError, InvalidRequest, PromptNotFound
from contextive.registry import PromptMessage
from contextive.registry.content import Text
from tests.ingest.projects import BOIL, BREW, MILK, WARM, cite
from tests.packs.promised import BREWING, PROFILE, Desk

NAMES = [
    "validate_citation",
    "search_requirements",
    "get_requirement_status",
    "list_uncited_requirements",
    "list_invalid_citations",
    "get_citation_context",
    "resolve_spec_id",
    "get_prioritized_requirements",
]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# -- validate_citation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("citation", "words"),
    [
        ("//= specs/none.md#brewing", "Specification not found"),
        ("//= specs/coffee.md#none", "Section not found"),
        (f"//= {BREWING}\n//# The cat sat on the mat.", "Requirement not found"),
        ("not-a-url", "Invalid URL"),
        ("//= not-a-url", "Invalid URL"),
        ("//= specs/coffee.md#bad anchor", "Invalid section anchor"),
        ("//= specs/coffee.md#", "Invalid section anchor"),
        ("//= invalid", "missing section anchor"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_original(citation: str, words: str, desk: Desk) -> None:
    data = desk.call("validate_citation", citation=citation)
    assert data["valid"] is False
    assert words in data["error"]


def test_a_section_reference_is_valid(desk: Desk) -> None:
    assert desk.call("validate_citation", citation=f"//= {BREWING}") == {"valid": True}


# -- the other tools ---------------------------------------------------------------------------------------------------


def test_a_search_without_hits_is_an_empty_array(desk: Desk) -> None:
    assert desk.first_text("search_requirements", query="xylophone") == []


def test_a_search_ignores_case_and_finds_by_identifier(desk: Desk) -> None:
    assert [r["text"] for r in desk.first_text("search_requirements", query="BREW coffee")] == [BREW]
    identifier = desk.identifier(WARM)
    for query in (identifier, identifier.upper(), identifier[:8], f" {identifier[:20]} "):
        assert [r["identifier"] for r in desk.first_text("search_requirements", query=query)] == [identifier]


@pytest.mark.parametrize(
    "query",
    [
        " ",
        '"',
        '""',
        "*",
        "(a+)+$",
        "\0",
        "a" * 1000,
        '" " "',
        "NOT OR AND",
        "%_\\",
        "\N{FULLWIDTH LATIN CAPITAL LETTER B}rew",
    ],
)
def test_a_strange_search_is_a_search(query: str, desk: Desk) -> None:
    assert isinstance(desk.first_text("search_requirements", query=query), list)


def test_every_status_is_one_of_the_four_words(desk: Desk) -> None:
    found = {
        text: desk.call("get_requirement_status", req_identifier=desk.identifier(text))["status"]
        for text in (BREW, WARM, MILK, BOIL)
    }
    assert found == {BREW: "done", WARM: "not started", MILK: "not started", BOIL: "needs tests"}


@pytest.mark.parametrize("lines", [0, 1, 3, 5])
def test_the_context_has_as_many_lines_as_were_asked_for(lines: int, desk: Desk) -> None:
    text = "".join(f"fn f{number}() {{}}\n" for number in range(10))
    desk.project.write("src/context.rs", text + cite("specs/coffee.md#serving", MILK) + text)
    data = desk.call("get_citation_context", citation_id="src/context.rs:11", context_lines=lines)
    assert len(data["context"]) == 2 * lines + 1
    assert data["context"][lines] == "//= specs/coffee.md#serving"
    assert (data["file_path"], data["line_number"]) == ("src/context.rs", 11)


def test_a_citation_that_is_not_there_is_said_to_be(desk: Desk) -> None:
    assert "not found" in desk.call("get_citation_context", citation_id="nonexistent.rs:42")["error"]


@pytest.mark.parametrize(
    "citation_id",
    [
        "src/coffee.rs:42:../../x",
        "src/coffee.rs:0",
        "src/coffee.rs:-1",
        "src/coffee.rs:1000000000000",
        "src/coffee.rs:01",
        "src/coffee.rs:\N{ARABIC-INDIC DIGIT ONE}",
        "src/coffee.rs:1 ",
        "src/coffee.rs",
        ":1",
        "../../etc/passwd:1",
        "/etc/passwd:1",
        "src/../../../etc/passwd:1",
        "file:///etc/passwd:1",
        "C:\\x:1",
        "src/coffee.rs\0:1",
        "src/coffee.rs:1\n",
        "x" * 4000 + ":1",
    ],
)
def test_no_citation_id_leads_anywhere_else(citation_id: str, desk: Desk) -> None:
    """A11."""
    data = desk.call("get_citation_context", citation_id=citation_id)
    assert list(data) == ["error"]
    assert data["error"] in ("Citation not found", "Invalid citation ID format: expected path:line")
    assert str(desk.project.root) not in data["error"]


@pytest.mark.parametrize("lines", [-1, 501, 10**9, True, "3", 1.5])
def test_a_number_of_lines_out_of_range_is_refused(lines: Any, desk: Desk) -> None:
    with pytest.raises(InvalidRequest):
        desk.call("get_citation_context", citation_id="src/coffee.rs:1", context_lines=lines)


@pytest.mark.parametrize("limit", [-1, 0, 1001, 10**9])
@pytest.mark.parametrize("tool", ["search_requirements", "list_uncited_requirements", "list_invalid_citations"])
def test_a_limit_out_of_range_is_refused(tool: str, limit: int, desk: Desk) -> None:
    with pytest.raises(InvalidRequest):
        desk.call(tool, limit=limit, **({"query": "pot"} if tool.startswith("search") else {}))


@pytest.mark.parametrize("tool", NAMES)
def test_unknown_and_missing_arguments_are_refused(tool: str, desk: Desk) -> None:
    with pytest.raises(InvalidRequest):
        desk.call(tool, nonsense=1)


@pytest.mark.parametrize("spelling", ["specs/coffee.md", "./specs/coffee.md", "file://specs/coffee.md", "specs-coffee"])
def test_spellings_resolve_alike_and_again(spelling: str, desk: Desk) -> None:
    answers = [desk.call("resolve_spec_id", url=spelling) for _ in range(2)]
    assert answers == [{"spec_id": "specs-coffee"}] * 2


def test_priorities_are_sorted_by_level_then_status_then_todos(desk: Desk) -> None:
    desk.project.write("src/todo.rs", cite("specs/coffee.md#serving", MILK, "type=todo"))
    levels, begun = (
        ["MUST", "SHOULD", "MAY", "unspecified"],
        ["partially_implemented", "not_started", "fully_implemented"],
    )
    items = desk.first_text("get_prioritized_requirements")
    keys = [(levels.index(i["level"]), begun.index(i["status"]), -i["todo_count"]) for i in items]
    assert keys == sorted(keys)
    assert len(items) == 4


def test_ten_listings_at_once_are_equal(desk: Desk) -> None:
    with ThreadPoolExecutor(10) as pool:
        listings = list(pool.map(lambda _: desk.listed(), range(10)))
    assert listings == [listings[0]] * 10


def test_a_project_without_any_configuration_answers(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for path in sorted(tmp_path.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert desk.read("/specifications") == []
    assert desk.first_text("get_prioritized_requirements") == []
    assert desk.call("validate_citation", citation=cite(BREWING, BREW))["error"] == "Specification not found"
    assert desk.call("next_requirement")["error"] == "No open requirement"


# -- shapes: the promised keys, and only those that the schema names besides ----------------------------------------

ITEM = {"identifier", "full_path", "text"}


def _keys(entries: Any) -> set[frozenset[str]]:
    assert entries
    return {frozenset(entry) for entry in entries}


def test_the_lists_of_tools_have_the_keys_of_the_seed(desk: Desk) -> None:
    desk.project.write("src/bad.rs", cite(BREWING, "The cat sat on the mat."))
    more = {"level", "status"}
    assert _keys(desk.first_text("search_requirements", query="pot")) == {frozenset(ITEM | more)}
    assert _keys(desk.first_text("list_uncited_requirements")) == {frozenset(ITEM | more)}
    assert _keys(desk.first_text("get_prioritized_requirements")) == {frozenset(ITEM | more | {"todo_count"})}
    invalid = {"file_path", "line_number", "comment_text", "error"}
    assert _keys(desk.first_text("list_invalid_citations")) == {frozenset(invalid | {"part"})}


def test_the_objects_of_tools_have_the_keys_of_the_seed(desk: Desk) -> None:
    assert set(desk.call("validate_citation", citation=cite(BREWING, BREW))) == {"valid", "requirements", "match"}
    assert set(desk.call("validate_citation", citation="x")) == {"valid", "error", "part"}
    status = desk.call("get_requirement_status", req_identifier=desk.identifier(BREW))
    assert set(status) == {"status", "detail", "requirements"}
    context = desk.call("get_citation_context", citation_id="src/coffee.rs:1", context_lines=1)
    assert set(context) == {"file_path", "line_number", "context", "comment_text"}
    assert set(desk.call("resolve_spec_id", url="specs/coffee.md")) == {"spec_id"}
    assert set(desk.call("resolve_spec_id", url="x")) == {"error", "known"}


def test_every_resource_has_the_keys_of_the_seed(desk: Desk) -> None:
    requirement = desk.path(BREW)
    section = requirement.partition("/requirements/")[0]
    specification = section.partition("/sections/")[0]
    described = {"id", "name", "url", "description"}
    assert _keys(desk.read("/specifications")) == {frozenset(described)}
    assert set(desk.read(specification)) == described | {"format", "sections", "requirements", "statuses"}
    assert _keys(desk.read(f"{specification}/sections")) == {frozenset({"id", "title"})}
    assert set(desk.read(section)) == {"id", "title", "content"}
    assert _keys(desk.read(f"{section}/requirements")) == {frozenset({"identifier", "text"})}
    assert set(desk.read(requirement)) == {"identifier", "text", "status", "level", "detail", "todo_count"}
    assert _keys(desk.read(f"{requirement}/citations")) == {frozenset({"id", "type"})}
    citation = desk.read(f"{requirement}/citations/src/coffee.rs:1")
    assert set(citation) == {"file_path", "line_number", "comment_text", "context_lines", "type"}
    assert _keys(desk.read("/requirements")) == {frozenset(ITEM)}
    assert _keys(desk.read("/citations")) == {frozenset({"full_path", "id"})}


# -- prompts -----------------------------------------------------------------------------------------------------------


def rendered(desk: Desk, name: str, **arguments: str) -> str:
    context = desk.host.context(desk.host.owner, door="test", profile=PROFILE, request_id="p")
    prompt, messages = asyncio.run(desk.host.dispatcher.render(desk.surface, name, arguments, context))
    assert prompt.name == name
    (message,) = messages
    assert isinstance(message, PromptMessage)
    assert message.role == "user"
    assert isinstance(message.content, Text)
    return message.content.text


@pytest.mark.parametrize("name", ["implement_requirement", "cite_requirement"])
def test_a_prompt_about_a_requirement_quotes_it_and_gives_valid_citations(name: str, desk: Desk) -> None:
    text = rendered(desk, name, req_identifier=desk.identifier(WARM)[:8])
    assert f"> {WARM}" in text
    comments = [part for part in text.split("\n\n") if "//=" in part]
    assert len(comments) == 2
    for comment in comments:
        assert desk.call("validate_citation", citation=comment.partition("\n")[2])["valid"] is True


def test_the_prompt_to_cite_may_name_a_file(desk: Desk) -> None:
    assert "src/coffee.rs" in rendered(
        desk, "cite_requirement", req_identifier=desk.identifier(WARM), file="src/coffee.rs"
    )


def test_the_prompt_to_review_counts_and_can_be_narrowed(desk: Desk) -> None:
    assert "4 in all" in rendered(desk, "review_coverage")
    assert "1 in all" in rendered(desk, "review_coverage", spec="specs/tea.md")


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("no_such_prompt", {}, PromptNotFound),
        ("implement_requirement", {}, InvalidRequest),
        ("implement_requirement", {"req_identifier": "0" * 64}, InvalidRequest),
        ("implement_requirement", {"req_identifier": ""}, InvalidRequest),
        ("review_coverage", {"spec": "nothing"}, InvalidRequest),
        ("review_coverage", {"nonsense": "x"}, InvalidRequest),
    ],
)
def test_a_prompt_that_cannot_be_rendered_is_an_error(
    name: str, arguments: dict[str, str], error: type[ContextiveError], desk: Desk
) -> None:
    with pytest.raises(error):
        rendered(desk, name, **arguments)
