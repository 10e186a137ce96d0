"""Behaviour that users of the original server rely on, and the keys of every answer."""

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
from tests.packs.duvet_host import BREWING, PROFILE, DuvetHost

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
def duvet_host(tmp_path: Path) -> DuvetHost:
    return DuvetHost(tmp_path)


# -- validate_citation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("citation", "error"),
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
def test_errors_have_the_text_of_the_original_server(citation: str, error: str, duvet_host: DuvetHost) -> None:
    data = duvet_host.call("validate_citation", citation=citation)
    assert data["valid"] is False
    assert error in data["error"]


def test_a_section_reference_is_valid(duvet_host: DuvetHost) -> None:
    assert duvet_host.call("validate_citation", citation=f"//= {BREWING}") == {"valid": True}


# -- the other tools ---------------------------------------------------------------------------------------------------


def test_a_search_without_hits_is_an_empty_array(duvet_host: DuvetHost) -> None:
    assert duvet_host.first_text("search_requirements", query="xylophone") == []


def test_a_search_ignores_case_and_finds_by_identifier(duvet_host: DuvetHost) -> None:
    assert [r["text"] for r in duvet_host.first_text("search_requirements", query="BREW pot", limit=1)] == [BREW]
    identifier = duvet_host.identifier(WARM)
    for query in (identifier, identifier.upper(), identifier[:8], f" {identifier[:20]} "):
        assert [r["identifier"] for r in duvet_host.first_text("search_requirements", query=query)] == [identifier]


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
def test_unusual_queries_are_accepted(query: str, duvet_host: DuvetHost) -> None:
    assert isinstance(duvet_host.first_text("search_requirements", query=query), list)


def test_every_status_is_one_of_the_four_values(duvet_host: DuvetHost) -> None:
    found = {
        text: duvet_host.call("get_requirement_status", req_identifier=duvet_host.identifier(text))["status"]
        for text in (BREW, WARM, MILK, BOIL)
    }
    assert found == {BREW: "done", WARM: "not started", MILK: "not started", BOIL: "needs tests"}


@pytest.mark.parametrize("lines", [0, 1, 3, 5])
def test_the_context_has_the_requested_number_of_lines(lines: int, duvet_host: DuvetHost) -> None:
    text = "".join(f"fn f{number}() {{}}\n" for number in range(10))
    duvet_host.project.write("src/context.rs", text + cite("specs/coffee.md#serving", MILK) + text)
    data = duvet_host.call("get_citation_context", citation_id="src/context.rs:11", context_lines=lines)
    assert len(data["context"]) == 2 * lines + 1
    assert data["context"][lines] == "//= specs/coffee.md#serving"
    assert (data["file_path"], data["line_number"]) == ("src/context.rs", 11)


def test_a_missing_citation_is_reported(duvet_host: DuvetHost) -> None:
    assert "not found" in duvet_host.call("get_citation_context", citation_id="nonexistent.rs:42")["error"]


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
def test_no_citation_id_reads_other_files(citation_id: str, duvet_host: DuvetHost) -> None:
    """A11."""
    data = duvet_host.call("get_citation_context", citation_id=citation_id)
    assert list(data) == ["error"]
    assert data["error"] in ("Citation not found", "Invalid citation ID format: expected path:line")
    assert str(duvet_host.project.root) not in data["error"]


@pytest.mark.parametrize("lines", [-1, 501, 10**9, True, "3", 1.5])
def test_a_number_of_lines_out_of_range_is_refused(lines: Any, duvet_host: DuvetHost) -> None:
    with pytest.raises(InvalidRequest):
        duvet_host.call("get_citation_context", citation_id="src/coffee.rs:1", context_lines=lines)


@pytest.mark.parametrize("limit", [-1, 0, 1001, 10**9])
@pytest.mark.parametrize("tool", ["search_requirements", "list_uncited_requirements", "list_invalid_citations"])
def test_a_limit_out_of_range_is_refused(tool: str, limit: int, duvet_host: DuvetHost) -> None:
    with pytest.raises(InvalidRequest):
        duvet_host.call(tool, limit=limit, **({"query": "pot"} if tool.startswith("search") else {}))


@pytest.mark.parametrize("tool", NAMES)
def test_unknown_and_missing_arguments_are_refused(tool: str, duvet_host: DuvetHost) -> None:
    with pytest.raises(InvalidRequest):
        duvet_host.call(tool, nonsense=1)


@pytest.mark.parametrize("spelling", ["specs/coffee.md", "./specs/coffee.md", "file://specs/coffee.md", "specs-coffee"])
def test_all_spellings_resolve_to_the_same_id(spelling: str, duvet_host: DuvetHost) -> None:
    answers = [duvet_host.call("resolve_spec_id", url=spelling) for _ in range(2)]
    assert answers == [{"spec_id": "specs-coffee"}] * 2


def test_priorities_are_sorted_by_level_then_status_then_todos(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/todo.rs", cite("specs/coffee.md#serving", MILK, "type=todo"))
    levels, begun = (
        ["MUST", "SHOULD", "MAY", "unspecified"],
        ["partially_implemented", "not_started", "fully_implemented"],
    )
    items = duvet_host.first_text("get_prioritized_requirements")
    keys = [(levels.index(i["level"]), begun.index(i["status"]), -i["todo_count"]) for i in items]
    assert keys == sorted(keys)
    assert len(items) == 4


def test_ten_concurrent_listings_are_equal(duvet_host: DuvetHost) -> None:
    with ThreadPoolExecutor(10) as pool:
        listings = list(pool.map(lambda _: duvet_host.listed(), range(10)))
    assert listings == [listings[0]] * 10


def test_a_project_without_configuration_works(tmp_path: Path) -> None:
    duvet_host = DuvetHost(tmp_path)
    for path in sorted(tmp_path.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert duvet_host.read("/specifications") == []
    assert duvet_host.first_text("get_prioritized_requirements") == []
    assert duvet_host.call("validate_citation", citation=cite(BREWING, BREW))["error"] == "Specification not found"
    assert duvet_host.call("next_requirement")["error"] == "No open requirement"


# -- answers have the specified keys, and otherwise only keys of the schema ------------------------------------------

ITEM = {"identifier", "full_path", "text"}


def _keys(entries: Any) -> set[frozenset[str]]:
    assert entries
    return {frozenset(entry) for entry in entries}


def test_lists_of_tools_have_the_specified_keys(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/bad.rs", cite(BREWING, "The cat sat on the mat."))
    more = {"level", "status"}
    assert _keys(duvet_host.first_text("search_requirements", query="pot")) == {frozenset(ITEM | more)}
    assert _keys(duvet_host.first_text("list_uncited_requirements")) == {frozenset(ITEM | more)}
    prioritised = ITEM | more | {"todo_count"}
    # `detail` is in an entry only if the status does not say everything: this one is implemented and not tested.
    expected = {frozenset(prioritised), frozenset(prioritised | {"detail"})}
    assert _keys(duvet_host.first_text("get_prioritized_requirements")) == expected
    invalid = {"file_path", "line_number", "comment_text", "error"}
    assert _keys(duvet_host.first_text("list_invalid_citations")) == {frozenset(invalid | {"part"})}


def test_objects_of_tools_have_the_specified_keys(duvet_host: DuvetHost) -> None:
    assert set(duvet_host.call("validate_citation", citation=cite(BREWING, BREW))) == {"valid", "requirements", "match"}
    assert set(duvet_host.call("validate_citation", citation="x")) == {"valid", "error", "part"}
    status = duvet_host.call("get_requirement_status", req_identifier=duvet_host.identifier(BREW))
    assert set(status) == {"status", "detail", "requirements"}
    context = duvet_host.call("get_citation_context", citation_id="src/coffee.rs:1", context_lines=3)
    assert set(context) == {"file_path", "line_number", "context", "comment_text"}
    assert set(duvet_host.call("resolve_spec_id", url="specs/coffee.md")) == {"spec_id"}
    assert set(duvet_host.call("resolve_spec_id", url="x")) == {"error", "known"}


def test_every_resource_has_the_specified_keys(duvet_host: DuvetHost) -> None:
    requirement = duvet_host.path(BREW)
    section = requirement.partition("/requirements/")[0]
    specification = section.partition("/sections/")[0]
    described = {"id", "name", "url", "description"}
    assert _keys(duvet_host.read("/specifications")) == {frozenset(described)}
    assert set(duvet_host.read(specification)) == described | {
        "title",
        "format",
        "sections",
        "requirements",
        "statuses",
    }
    assert _keys(duvet_host.read(f"{specification}/sections")) == {frozenset({"id", "title"})}
    assert set(duvet_host.read(section)) == {"id", "title", "content"}
    assert _keys(duvet_host.read(f"{section}/requirements")) == {frozenset({"identifier", "text"})}
    assert set(duvet_host.read(requirement)) == {"identifier", "text", "status", "level", "detail", "todo_count"}
    assert _keys(duvet_host.read(f"{requirement}/citations")) == {frozenset({"id", "type"})}
    citation = duvet_host.read(f"{requirement}/citations/src/coffee.rs:1")
    assert set(citation) == {"file_path", "line_number", "comment_text", "context_lines", "type"}
    assert _keys(duvet_host.read("/requirements")) == {frozenset(ITEM)}
    assert _keys(duvet_host.read("/citations")) == {frozenset({"full_path", "id"})}


# -- prompts -----------------------------------------------------------------------------------------------------------


def rendered(duvet_host: DuvetHost, name: str, **arguments: str) -> str:
    context = duvet_host.host.context(duvet_host.host.owner, door="test", profile=PROFILE, request_id="p")
    prompt, messages = asyncio.run(duvet_host.host.dispatcher.render(duvet_host.surface, name, arguments, context))
    assert prompt.name == name
    (message,) = messages
    assert isinstance(message, PromptMessage)
    assert message.role == "user"
    assert isinstance(message.content, Text)
    return message.content.text


@pytest.mark.parametrize("name", ["implement_requirement", "cite_requirement"])
def test_a_prompt_about_a_requirement_quotes_it_and_contains_valid_citations(name: str, duvet_host: DuvetHost) -> None:
    text = rendered(duvet_host, name, req_identifier=duvet_host.identifier(WARM)[:8])
    assert f"> {WARM}" in text
    comments = [part for part in text.split("\n\n") if "//=" in part]
    assert len(comments) == 2
    for comment in comments:
        assert duvet_host.call("validate_citation", citation=comment.partition("\n")[2])["valid"] is True


def test_the_cite_prompt_can_name_a_file(duvet_host: DuvetHost) -> None:
    assert "src/coffee.rs" in rendered(
        duvet_host, "cite_requirement", req_identifier=duvet_host.identifier(WARM), file="src/coffee.rs"
    )


def test_the_review_prompt_counts_requirements_and_can_be_limited_to_a_specification(duvet_host: DuvetHost) -> None:
    assert "4 in total" in rendered(duvet_host, "review_coverage")
    assert "1 in total" in rendered(duvet_host, "review_coverage", spec="specs/tea.md")


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
    name: str, arguments: dict[str, str], error: type[ContextiveError], duvet_host: DuvetHost
) -> None:
    with pytest.raises(error):
        rendered(duvet_host, name, **arguments)
