"""Pagination, resources by URI and by path, prompts and completion, in both eras."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from contextive.registry.paging import encode_cursor
from tests.plugins.odd_pack import ITEM_COUNT
from tests.raw_clients import StdioClient, envelope
from tests.server.conftest import ServerFactory

ERAS = pytest.mark.parametrize("era", ["handshake", "stateless"])
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
EACH_LIST = pytest.mark.parametrize("method", LISTS)


@pytest.fixture(scope="module")
def paged(shared_server_factory: ServerFactory) -> Iterator[StdioClient]:
    with shared_server_factory.pipe({"limits": {"pageSize": 2}}) as running:
        running.initialize()
        yield running


def params_for(era: str, params: dict[str, Any]) -> dict[str, Any]:
    return params if era == "handshake" else envelope(params)


def all_pages(pipe: StdioClient, method: str, era: str = "handshake") -> list[list[Any]]:
    pages: list[list[Any]] = []
    cursor = None
    while True:
        result = pipe.result(method, params_for(era, {"cursor": cursor} if cursor else {}))
        pages.append(result[LISTS[method]])
        cursor = result.get("nextCursor")
        if cursor is None:
            return pages


##= docs/spec/host.md#lists-and-pagination
##% A list longer than one page MUST include a cursor for the next page.
@ERAS
@EACH_LIST
def test_the_pages_together_are_the_whole_list_and_none_is_over_the_limit(
    paged: StdioClient, pipe: StdioClient, method: str, era: str
) -> None:
    pages = all_pages(paged, method, era)
    assert len(pages) > 1 or len(pages[0]) <= 2
    assert all(len(page) <= 2 for page in pages)
    assert [] not in pages, "no page is empty"
    (whole,) = all_pages(pipe, method, era)
    assert [item for page in pages for item in page] == whole


##= docs/spec/host.md#resources-and-prompts
##% The server MUST list the readable resources, except for members of templates that are only listed below their
##% parent, and be able to read each of them.
def test_every_member_of_a_template_is_listed(paged: StdioClient) -> None:
    uris = [resource["uri"] for page in all_pages(paged, "resources/list") for resource in page]
    assert len(uris) == len(set(uris))
    assert {f"odd:///items/{number}" for number in range(ITEM_COUNT)} <= set(uris)


##= docs/spec/host.md#lists-and-pagination
##% A cursor that the server did not issue for that list MUST be refused.
@ERAS
@EACH_LIST
@pytest.mark.parametrize("cursor", ["", "x", "!!!", "5", "AAAA", "x" * 300, "x" * 100_000, "ü"], ids=lambda c: c[:8])
def test_an_unknown_cursor_is_refused(paged: StdioClient, method: str, era: str, cursor: str) -> None:
    error = paged.error(method, params_for(era, {"cursor": cursor}))
    assert error["code"] == -32602
    assert error["data"]["code"] == "invalid_cursor"


@EACH_LIST
def test_a_cursor_of_another_list_is_refused(paged: StdioClient, method: str) -> None:
    other = "tools/list" if method != "tools/list" else "resources/list"
    foreign = paged.result(other)["nextCursor"]
    assert paged.error(method, {"cursor": foreign})["code"] == -32602


@EACH_LIST
def test_a_cursor_with_one_character_changed_is_refused(paged: StdioClient, method: str) -> None:
    cursor = paged.result(method).get("nextCursor") or encode_cursor("prompts", "2")
    for place in range(len(cursor)):
        changed = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
        assert paged.error(method, {"cursor": changed})["code"] == -32602


@pytest.mark.parametrize("position", ["", ":", "a:b", "1", "1:", ":1", "-1:0", "0:-1", "1:1:1", "٣:٣"])
def test_a_forged_resource_cursor_is_refused_without_an_internal_error(paged: StdioClient, position: str) -> None:
    error = paged.error("resources/list", {"cursor": encode_cursor("resources", position)})
    assert error["code"] == -32602


def test_a_cursor_past_the_end_returns_an_empty_last_page(paged: StdioClient) -> None:
    assert paged.result("resources/list", {"cursor": encode_cursor("resources", "999:0")}) == {"resources": []}
    beyond = {"cursor": encode_cursor("tools", "9" * 100)}
    assert paged.result("tools/list", beyond) == {"tools": []}


def test_a_padded_spelling_of_a_cursor_is_refused(paged: StdioClient) -> None:
    cursor = paged.result("tools/list")["nextCursor"]
    padded = cursor + "=" * (-len(cursor) % 4 or 4)
    assert base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    assert paged.error("tools/list", {"cursor": padded})["code"] == -32602


##= docs/spec/host.md#lists-and-pagination
##% A list MUST be in the same order for the same configuration and caller.
@ERAS
def test_the_order_of_tools_never_changes(pipe: StdioClient, era: str) -> None:
    first, second = (pipe.result("tools/list", params_for(era, {}))["tools"] for _ in range(2))
    assert first == second


##= docs/spec/host.md#startup
##% At every start, the server MUST register the packs, resources and prompts that the configuration enables.
##= docs/spec/host.md#declaration
##% The annotations of a tool MUST say whether it is read-only, destructive and idempotent, and whether it reaches
##% external systems.
@ERAS
def test_every_tool_has_title_description_schema_and_annotations(pipe: StdioClient, era: str) -> None:
    for tool in pipe.result("tools/list", params_for(era, {}))["tools"]:
        assert tool["title"]
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert set(tool["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


##= docs/spec/host.md#resources-and-prompts
##% The method `resources/get` MUST be accepted as an alias of `resources/read`.
##= docs/spec/host.md#resources-and-prompts
##% A path without a scheme MUST be accepted for a resource whose URI has no authority.
@ERAS
@pytest.mark.parametrize("method", ["resources/read", "resources/get"])
@pytest.mark.parametrize("uri", ["odd:///text", "/text"])
def test_a_resource_is_read_by_either_name_and_by_uri_or_bare_path(
    pipe: StdioClient, era: str, method: str, uri: str
) -> None:
    result = pipe.result(method, params_for(era, {"uri": uri}))
    assert result["contents"] == [{"uri": "odd:///text", "mimeType": "text/plain", "text": "plain text"}]
    assert ("ttlMs" in result) == (era == "stateless")


##= docs/spec/host.md#resources-and-prompts
##% A parameter `path` MUST be accepted as an alias of `uri`, and in a tool call a parameter `tool` as an alias of
##% `name`.
@ERAS
def test_alternative_method_and_parameter_names_work(pipe: StdioClient, era: str) -> None:
    (content,) = pipe.result("resources/get", params_for(era, {"path": "/text"}))["contents"]
    assert content["text"] == "plain text"
    called = pipe.result("tools/call", params_for(era, {"tool": "contextive_health", "arguments": {}}))
    assert called["structuredContent"]["status"] in ("healthy", "degraded"), called
    listed = pipe.result("resources/list", params_for(era, {"path": "odd:///text"}))
    assert listed["resources"] == []
    assert pipe.error("resources/list", params_for(era, {"path": "/none"}))["data"]["code"] == "resource_not_found"
    error = pipe.error("tools/call", params_for(era, {"name": "none", "tool": "contextive_health"}))
    assert error["data"]["code"] == "tool_not_found"


@ERAS
@pytest.mark.parametrize(
    ("method", "params", "message", "hint"),
    [
        ("resources/get", {}, "resources/get: params.uri is missing", "uri, a string."),
        ("resources/read", {"uri": 5}, "resources/read: params.uri must be a string", "uri, a string."),
        ("resources/list", {"uri": 5}, "params.uri must be a string.", "a resource, or none."),
        ("tools/call", {"name": "x", "arguments": []}, "params.arguments must be an object", "arguments, an object."),
        ("tools/list", {"cursor": 5}, "params.cursor must be a string", "cursor, a string, or nothing."),
    ],
)
def test_an_invalid_parameter_is_named_with_what_is_expected(
    pipe: StdioClient, era: str, method: str, params: dict[str, Any], message: str, hint: str
) -> None:
    error = pipe.error(method, params_for(era, params))
    assert (error["code"], error["data"]["code"]) == (-32602, "invalid_request")
    assert message in error["message"]
    assert error["data"]["hint"].endswith(hint)


@ERAS
def test_bytes_are_read_as_base64(pipe: StdioClient, era: str) -> None:
    (content,) = pipe.result("resources/read", params_for(era, {"uri": "odd:///bytes"}))["contents"]
    assert base64.b64decode(content["blob"]) == b"\x00\xff"


@pytest.mark.parametrize(
    ("uri", "variables"),
    [
        ("odd:///items/7", {"number": "7"}),
        ("odd:///items/a%20b%2Fc", {"number": "a b/c"}),
        ("/items/7", {"number": "7"}),
        ("odd:///files/a/b/c.md", {"path": "a/b/c.md"}),
        ("odd:///files/../../etc/passwd", {"path": "../../etc/passwd"}),
    ],
)
def test_a_template_passes_decoded_variables_to_its_handler(
    pipe: StdioClient, uri: str, variables: dict[str, str]
) -> None:
    import json

    (content,) = pipe.result("resources/read", {"uri": uri})["contents"]
    assert json.loads(content["text"]) == variables


@ERAS
@pytest.mark.parametrize("method", ["resources/read", "resources/get"])
@pytest.mark.parametrize(
    "uri",
    [
        "odd:///nothing",
        "/nothing",
        "//text",
        "odd:///items/",
        "odd:///items/1/2",
        "file:///etc/passwd",
        "",
        "odd:///sealed",
    ],
)
def test_a_missing_resource_is_an_error_with_the_code_of_its_era(
    pipe: StdioClient, era: str, method: str, uri: str
) -> None:
    error = pipe.error(method, params_for(era, {"uri": uri}))
    assert error["code"] == (-32002 if era == "handshake" else -32602)
    assert error["data"]["code"] == "resource_not_found"
    assert error["data"]["uri"] == uri


##= docs/spec/host.md#resources-and-prompts
##% The server MUST list resource templates and suggest values for their parameters.
@ERAS
def test_a_template_variable_is_completed(pipe: StdioClient, era: str) -> None:
    params = {
        "ref": {"type": "ref/resource", "uri": "odd:///items/{number}"},
        "argument": {"name": "number", "value": "2"},
    }
    completion = pipe.result("completion/complete", params_for(era, params))["completion"]
    assert completion == {"values": ["2", "20", "21", "22", "23", "24"], "total": 6, "hasMore": False}


@ERAS
def test_tool_names_are_completed_in_the_template_of_tools(pipe: StdioClient, era: str) -> None:
    ref = {"type": "ref/resource", "uri": "contextive:///tools/{name}"}
    params = {"ref": ref, "argument": {"name": "name", "value": "contextive_h"}}
    assert pipe.result("completion/complete", params_for(era, params))["completion"]["values"] == ["contextive_health"]


@ERAS
def test_a_prompt_argument_is_completed_using_the_other_arguments(pipe: StdioClient, era: str) -> None:
    params: dict[str, Any] = {
        "ref": {"type": "ref/prompt", "name": "odd_greeting"},
        "argument": {"name": "tone", "value": "k"},
        "context": {"arguments": {"subject": "knight"}},
    }
    completion = pipe.result("completion/complete", params_for(era, params))["completion"]
    assert completion["values"] == ["kind", "keen", "knight"]


@pytest.mark.parametrize(
    ("ref", "argument", "code"),
    [
        ({"type": "ref/prompt", "name": "odd_greeting"}, "nope", -32602),
        ({"type": "ref/prompt", "name": "nope"}, "tone", -32602),
        ({"type": "ref/resource", "uri": "odd:///nope/{x}"}, "x", -32002),
        ({"type": "ref/other"}, "x", -32602),
    ],
)
def test_a_completion_for_an_unknown_target_is_refused(
    pipe: StdioClient, ref: dict[str, str], argument: str, code: int
) -> None:
    error = pipe.error("completion/complete", {"ref": ref, "argument": {"name": argument, "value": ""}})
    assert error["code"] == code


def test_an_argument_without_proposals_is_completed_with_none(pipe: StdioClient) -> None:
    params = {"ref": {"type": "ref/prompt", "name": "odd_greeting"}, "argument": {"name": "subject", "value": "A"}}
    assert pipe.result("completion/complete", params)["completion"]["values"] == []


##= docs/spec/host.md#resources-and-prompts
##% The server MUST offer prompt templates as MCP prompts.
@ERAS
def test_a_prompt_is_rendered_with_its_arguments(pipe: StdioClient, era: str) -> None:
    result = pipe.result("prompts/get", params_for(era, {"name": "odd_greeting", "arguments": {"subject": "Ada"}}))
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "Greet Ada."}}]


##= docs/spec/host.md#resources-and-prompts
##% A prompt MUST refuse unknown arguments and missing required ones.
@ERAS
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"name": "odd_greeting"}, "needs the argument subject"),
        ({"name": "odd_greeting", "arguments": {"subject": ""}}, "needs the argument subject"),
        ({"name": "odd_greeting", "arguments": {"subject": "a", "x": "b"}}, "Unknown argument 'x'"),
        ({"name": "odd_greetin"}, "Unknown prompt"),
        ({"name": "odd_sealed"}, "Unknown prompt"),
    ],
)
def test_the_error_says_why_a_prompt_cannot_be_rendered(
    pipe: StdioClient, era: str, params: dict[str, Any], expected: str
) -> None:
    error = pipe.error("prompts/get", params_for(era, params))
    assert error["code"] == -32602
    assert expected in error["message"]
    assert error["data"]["hint"]


def test_the_server_describes_each_of_its_tools_as_a_resource(pipe: StdioClient) -> None:
    import json

    (content,) = pipe.result("resources/read", {"uri": "contextive:///tools/contextive_health"})["contents"]
    described = json.loads(content["text"])
    assert described["name"] == "contextive_health"
    assert described["scope"] == "reader"
    assert described["input_schema"]["additionalProperties"] is False
    (content,) = pipe.result("resources/read", {"uri": "/server"})["contents"]
    assert {"introspect", "odd"} <= set(json.loads(content["text"])["packs"])
