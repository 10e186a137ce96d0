"""The requirements of docs/spec/trace.md about resources, one test each."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import InvalidRequest, ResourceNotFound
from contextive.server.instructions import write_instructions
from tests.ingest.projects import BOIL, BREW, MILK, WARM, cite
from tests.packs.duvet_host import BREWING, PROFILE, DuvetHost
from tests.raw_clients import StdioClient

SECTION = "/specifications/specs-coffee/sections/brewing"


@pytest.fixture
def duvet_host(tmp_path: Path) -> DuvetHost:
    return DuvetHost(tmp_path)


# -- addresses ---------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#uris
##% Every resource of the pack MUST have a URI that begins with `duvet:///`, and be readable by its path alone.
def test_every_resource_has_a_duvet_uri_and_is_readable_by_path(duvet_host: DuvetHost) -> None:
    assert duvet_host.surface.resources
    assert all(resource.uri.startswith("duvet:///") for resource in duvet_host.surface.resources)
    for uri in duvet_host.all_uris():
        assert uri.startswith("duvet:///")
        assert duvet_host.read(uri.removeprefix("duvet://")) == duvet_host.read(uri)


##= docs/spec/trace.md#uris
##% The list of resources MUST contain each specification. Sections, requirements and citations MUST be in the list below
##% the path of their parent.
def test_the_lists_contain_specifications_sections_requirements_and_citations(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/bare.rs", cite(BREWING))
    specifications = {f"duvet:///specifications/specs-{name}" for name in ("coffee", "tea")}
    collections = {"duvet:///specifications", "duvet:///requirements", "duvet:///citations"}
    assert set(duvet_host.listed()) == collections | specifications
    found = {*duvet_host.all_uris(), *duvet_host.listed("/citations")}
    assert specifications <= found
    sections = {"coffee": ("coffee", "brewing", "serving"), "tea": ("tea", "steeping")}
    for name, ids in sections.items():
        assert {f"duvet:///specifications/specs-{name}/sections/{section}" for section in ids} <= found
    assert {f"duvet://{duvet_host.path(text)}" for text in (BREW, WARM, MILK, BOIL)} <= found
    citations = {f"duvet://{duvet_host.path(BREW)}/citations/{path}:1" for path in ("src/coffee.rs", "tests/coffee.rs")}
    citations |= {
        f"duvet://{duvet_host.path(WARM)}/citations/src/warm.rs:3",
        f"duvet://{SECTION}/citations/src/bare.rs:1",
    }
    assert citations <= found


##= docs/spec/trace.md#uris
##% A request for a resource that does not exist MUST be refused with the code `resource_not_found`.
@pytest.mark.parametrize(
    "uri",
    [
        "/nothing",
        "/specifications/none",
        "/specifications/specs-coffee/sections/none",
        f"{SECTION}/requirements/{'0' * 64}",
        f"{SECTION}/citations/src/coffee.rs:99",
    ],
)
def test_an_unknown_resource_is_refused(uri: str, duvet_host: DuvetHost) -> None:
    with pytest.raises(ResourceNotFound) as caught:
        duvet_host.read(f"duvet://{uri}")
    assert caught.value.code == "resource_not_found"


# -- the levels --------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#specification-resources
##% The resources `/specifications` (all) and `/specifications/{spec_id}` (one) MUST return `id`, `name`, `url`
##% and `description`.
def test_a_specification_is_listed_and_readable(duvet_host: DuvetHost) -> None:
    coffee, tea = duvet_host.read("duvet:///specifications")
    assert coffee == {
        "id": "specs-coffee",
        "name": "Coffee",
        "url": "specs/coffee.md",
        "description": "The pot MUST brew coffee. The pot SHOULD keep it warm.",
    }
    assert tea["id"] == "specs-tea"
    assert duvet_host.read("duvet:///specifications/specs-coffee").items() >= coffee.items()


##= docs/spec/trace.md#specification-resources
##% The resource `/specifications/{spec_id}/sections` MUST list the sections of a specification with `id` and
##% `title`.
def test_the_sections_of_a_specification_are_listed(duvet_host: DuvetHost) -> None:
    assert duvet_host.read("duvet:///specifications/specs-coffee/sections") == [
        {"id": "coffee", "title": "Coffee"},
        {"id": "brewing", "title": "Brewing"},
        {"id": "serving", "title": "Serving"},
    ]


##= docs/spec/trace.md#specification-resources
##% The resource `/specifications/{spec_id}/sections/{section_id}` MUST return one section with `id`, `title` and
##% `content`.
def test_a_section_has_its_text(duvet_host: DuvetHost) -> None:
    assert duvet_host.read(f"duvet://{SECTION}") == {"id": "brewing", "title": "Brewing", "content": f"{BREW} {WARM}"}


##= docs/spec/trace.md#requirement-resources
##% The resource `requirements` below a section MUST list its requirements with `identifier` and `text`.
def test_the_requirements_of_a_section_are_listed(duvet_host: DuvetHost) -> None:
    found = duvet_host.read(f"duvet://{SECTION}/requirements")
    assert found == [{"identifier": duvet_host.identifier(text), "text": text} for text in (BREW, WARM)]


##= docs/spec/trace.md#requirement-resources
##% The resource `requirements/{req_identifier}` below a section MUST return one requirement with `identifier`, `text`
##% and `status`.
def test_a_requirement_has_its_status(duvet_host: DuvetHost) -> None:
    data = duvet_host.read(f"duvet://{SECTION}/requirements/{duvet_host.identifier(BREW)}")
    assert (data["identifier"], data["text"], data["status"]) == (duvet_host.identifier(BREW), BREW, "done")


##= docs/spec/trace.md#requirement-resources
##% The resource `citations` below a requirement MUST list its citations with `id`.
def test_the_citations_of_a_requirement_are_listed(duvet_host: DuvetHost) -> None:
    found = duvet_host.read(f"duvet://{duvet_host.path(BREW)}/citations")
    assert [citation["id"] for citation in found] == ["src/coffee.rs:1", "tests/coffee.rs:1"]


##= docs/spec/trace.md#requirement-resources
##% The resource `citations/{citation_id}` below a requirement MUST return `file_path`, `line_number`, `comment_text`
##% and `context_lines`.
def test_a_citation_has_the_code_around_it(duvet_host: DuvetHost) -> None:
    data = duvet_host.read(f"duvet://{duvet_host.path(BREW)}/citations/src/coffee.rs:1")
    comment = ["//= specs/coffee.md#brewing", f"//# {BREW}"]
    assert (data["file_path"], data["line_number"]) == ("src/coffee.rs", 1)
    assert data["comment_text"] == "\n".join(comment)
    assert data["context_lines"][:3] == [*comment, "fn brew() {}"]


##= docs/spec/trace.md#requirement-resources
##% A citation that covers no part of a requirement MUST be available at `citations/{citation_id}` below its section.
def test_a_citation_without_a_requirement_is_below_its_section(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/bare.rs", cite(BREWING))
    data = duvet_host.read(f"duvet://{SECTION}/citations/src/bare.rs:1")
    assert (data["file_path"], data["comment_text"]) == ("src/bare.rs", "//= specs/coffee.md#brewing")


# -- the whole project -------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#project-resources
##% The resource `/requirements` MUST list every requirement of the project with `full_path`, `identifier` and
##% `text`.
def test_every_requirement_of_the_project_is_listed(duvet_host: DuvetHost) -> None:
    found = duvet_host.read("duvet:///requirements")
    assert [entry["text"] for entry in found] == [BREW, WARM, MILK, BOIL]
    assert found[0]["full_path"] == f"{SECTION}/requirements/{found[0]['identifier']}"


##= docs/spec/trace.md#project-resources
##% The resource `/citations` MUST list every valid citation of the project with `full_path` and `id`.
def test_every_valid_citation_of_the_project_is_listed(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/bare.rs", cite(BREWING) + "\n" + cite(BREWING, "Nothing like it."))
    found = {entry["id"]: entry["full_path"] for entry in duvet_host.read("duvet:///citations")}
    assert set(found) == {"src/bare.rs:1", "src/coffee.rs:1", "src/tea.rs:1", "src/warm.rs:3", "tests/coffee.rs:1"}
    assert found["src/warm.rs:3"] == f"{duvet_host.path(WARM)}/citations/src/warm.rs:3"
    assert found["src/bare.rs:1"] == f"{SECTION}/citations/src/bare.rs:1"


##= docs/spec/trace.md#project-resources
##% Every `full_path` MUST be readable as a resource.
def test_every_full_path_can_be_read(duvet_host: DuvetHost) -> None:
    duvet_host.project.write("src/strange name#1?.rs", cite(BREWING, BREW) + "\n" + cite(BREWING))
    listed = [
        *duvet_host.read("/requirements"),
        *duvet_host.read("/citations"),
        *duvet_host.call("search_requirements", query="pot")["result"],
    ]
    assert len(listed) > 10
    for entry in listed:
        assert duvet_host.read(entry["full_path"])


##= docs/spec/trace.md#project-resources
##% The query parameters `offset` and `limit` MUST select a part of the two project lists; a value that is not a whole
##% number is an error.
@pytest.mark.parametrize("name", ["requirements", "citations"])
def test_a_part_of_a_long_list_can_be_selected(name: str, duvet_host: DuvetHost) -> None:
    whole = duvet_host.read(f"duvet:///{name}")
    assert len(whole) == 4
    assert duvet_host.read(f"duvet:///{name}?offset=1&limit=2") == whole[1:3]
    assert duvet_host.read(f"/{name}?offset=3") == whole[3:]
    for wrong in ("limit=-1", "offset=x", "limit=1.5"):
        with pytest.raises(InvalidRequest, match="must be a whole number"):
            duvet_host.read(f"/{name}?{wrong}")


##= docs/spec/host.md#resources-and-prompts
##% A URI or path given to `resources/list` MUST limit the list to the resources directly below it.
def test_each_level_can_be_listed_by_its_path(duvet_host: DuvetHost) -> None:
    specifications = duvet_host.listed("/specifications")
    assert specifications == ["duvet:///specifications/specs-coffee", "duvet:///specifications/specs-tea"]
    assert duvet_host.listed(specifications[0]) == [f"{specifications[0]}/sections"]
    sections = duvet_host.listed(f"{specifications[0]}/sections")
    assert [uri.rpartition("/")[2] for uri in sections] == ["coffee", "brewing", "serving"]
    assert duvet_host.listed(f"{sections[0]}/requirements") == []
    requirements = duvet_host.listed(f"{sections[1]}/requirements")
    assert [duvet_host.read(uri)["text"] for uri in requirements] == [BREW, WARM]
    citations = duvet_host.listed(f"{requirements[0]}/citations")
    assert [uri.partition("/citations/")[2] for uri in citations] == ["src/coffee.rs:1", "tests/coffee.rs:1"]
    assert len(duvet_host.listed("/requirements")) == 4
    assert duvet_host.listed("/citations") == [
        f"duvet://{entry['full_path']}" for entry in duvet_host.read("/citations")
    ]
    for nowhere in ("/specifications/none/sections", f"{sections[1]}x/requirements", "/none"):
        with pytest.raises(ResourceNotFound):
            duvet_host.listed(nowhere)


# -- serving -----------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#instructions
##% The instructions of the profile `duvet` MUST say what it is for, name each tool and each resource, and explain how
##% to access them.
def test_the_instructions_name_the_tools_and_the_resources(duvet_host: DuvetHost) -> None:
    text = duvet_host.host.mcp_handlers("duvet").instructions(duvet_host.host.owner)
    assert len(duvet_host.surface.tools) >= 10
    for tool in duvet_host.surface.tools:
        assert f"- {tool}: " in text
    for resource in duvet_host.surface.resources:
        assert f"- {resource.uri.removeprefix('duvet://')}\n" in text
    for way in ("tools/call", "resources/list", "resources/read", "duvet://"):
        assert way in text


##= docs/spec/trace.md#instructions
##% The instructions of the profile `duvet` MUST be the system prompt of the Duvet MCP specification, followed by at most
##% 500 tokens with the names of tools, resources and prompts.
def test_the_instructions_begin_with_the_system_prompt(duvet_host: DuvetHost) -> None:
    text = duvet_host.host.mcp_handlers("duvet").instructions(duvet_host.host.owner)
    assert text.startswith("You are interacting with the Duvet MCP server, which provides access to ")
    prompt, _, own = text.partition("\n\n### Names\n")
    assert [line for line in prompt.split("\n") if line.startswith("#")] == [
        "### Available Resources",
        "### Available Tools",
        "### How to Interact",
        "### Example Usage",
    ]
    assert '`{"name": "get_prioritized_requirements", "arguments": {}}`' in prompt
    assert "resources/get" not in prompt
    assert len(own) / 4 < 500


def test_without_one_of_its_tools_the_instructions_do_not_promise_it(duvet_host: DuvetHost) -> None:
    limited = duvet_host.surface.limited_to(frozenset({"resolve_spec_id"}))
    assert duvet_host.host.guide_for(PROFILE, limited) == ""
    text = write_instructions(PROFILE, limited)
    assert "resolve_spec_id" in text
    assert "get_prioritized_requirements" not in text


##= docs/spec/trace.md#uris
##% A list of resources below a path MUST have the fields of each resource in its entry.
def test_a_list_below_a_path_has_the_fields_of_each_resource(duvet_host: DuvetHost) -> None:
    with StdioClient("serve", "--stdio", "--profile", "duvet", cwd=duvet_host.project.root) as pipe:
        pipe.initialize()

        def listed(path: str) -> list[dict[str, Any]]:
            return list(pipe.result("resources/list", {"uri": path})["resources"])

        coffee, tea = listed("/specifications")
        assert coffee.items() >= duvet_host.read("/specifications")[0].items()
        assert (tea["id"], tea["uri"]) == ("specs-tea", "duvet:///specifications/specs-tea")
        sections = listed("/specifications/specs-coffee/sections")
        assert [(entry["id"], entry["title"]) for entry in sections][1:2] == [("brewing", "Brewing")]
        first, _ = listed(f"{SECTION}/requirements")
        assert (first["identifier"], first["text"]) == (duvet_host.identifier(BREW), BREW)
        assert duvet_host.path(BREW) in {entry["full_path"] for entry in listed("/requirements")}
        assert {entry["id"] for entry in listed("/citations")} >= {"src/coffee.rs:1", "src/warm.rs:3"}
        assert "id" not in pipe.result("resources/list")["resources"][0]


##= docs/spec/trace.md#freshness
##% A client that has subscribed to a requirement MUST be notified when its status changes.
##= docs/spec/spexus.md#capabilities
##% When files change the list of resources, a client that has asked for it MUST be notified.
def test_a_client_is_notified_of_a_new_status_and_of_a_new_section(duvet_host: DuvetHost) -> None:
    uri = f"duvet://{duvet_host.path(WARM)}"
    with StdioClient("serve", "--stdio", "--profile", "duvet", cwd=duvet_host.project.root) as pipe:
        pipe.initialize()
        assert (
            pipe.error("resources/subscribe", {"uri": "/specifications/nope"})["data"]["code"] == "resource_not_found"
        )
        assert pipe.result("resources/subscribe", {"uri": uri}) == {}
        pipe.result("resources/list")
        duvet_host.project.write("src/warm.rs", cite(BREWING, WARM))
        started = time.monotonic()
        assert pipe.notification("notifications/resources/updated")["params"]["uri"] == uri
        assert time.monotonic() - started < 10
        assert not any("list_changed" in message["method"] for message in pipe.notifications)
        duvet_host.project.write("specs/tea.md", f"# Tea\n\n## Steeping\n\n{BOIL}\n\n## Pouring\n\nTea MUST flow.\n")
        pipe.notification("notifications/resources/list_changed")
