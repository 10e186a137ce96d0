"""A failing handler affects only its own call, leaks no secrets, and looks the same on every transport."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.odd_pack import SECRET
from tests.raw_clients import HttpClient, StdioClient, WebServer, envelope, rpc, wait_until
from tests.server.conftest import ServerFactory

ERAS = pytest.mark.parametrize("era", ["handshake", "stateless"])


@pytest.fixture(scope="module")
def server(shared_server_factory: ServerFactory) -> Iterator[WebServer]:
    with shared_server_factory.http({"limits": {"toolTimeoutSeconds": 1.0}}) as running:
        yield running


@pytest.fixture(scope="module")
def web(server: WebServer) -> HttpClient:
    return server.web


def call(pipe: StdioClient, era: str, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    params = {"name": tool, "arguments": arguments or {}}
    return pipe.result("tools/call", params if era == "handshake" else envelope(params))


def failure(result: Any) -> Any:
    """The error in a result with isError."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    body = json.loads(result["content"][0]["text"])
    assert body["status"] == "error"
    return body["error"]


def assert_no_secret(answer: object) -> None:
    text = json.dumps(answer)
    for piece in (SECRET, "hunter2", "Traceback", "odd_module", 'File "'):
        assert piece not in text


FAULTS = [
    "odd_raise",
    "odd_raise_in_thread",
    "odd_exit",
    "odd_exit_in_thread",
    "odd_cancel_itself",
    "odd_timeout_of_its_own",
    "odd_mismatch",
    "odd_not_a_number",
    "odd_not_json",
    "odd_not_content",
]


##= docs/spec/host.md#errors
##% An error MUST NOT show a stack trace, a secret, the text of an unexpected exception, or a path outside the project.
@ERAS
@pytest.mark.parametrize("tool", FAULTS)
def test_a_failing_handler_is_an_internal_error_without_details(pipe: StdioClient, era: str, tool: str) -> None:
    result = call(pipe, era, tool)
    assert failure(result)["code"] == "internal_error"
    assert_no_secret(result)
    assert call(pipe, era, "odd_echo", {"text": "still here"})["structuredContent"]["text"] == "still here"


##= docs/spec/host.md#limits
##% A failure in one call MUST NOT affect another call.
@pytest.mark.parametrize("tool", FAULTS)
def test_a_failing_handler_over_http_ends_neither_session_nor_server(web: HttpClient, tool: str) -> None:
    session = web.open_session()
    first = session.ask("tools/call", {"name": tool, "arguments": {}})["result"]
    modern = web.modern("tools/call", {"name": tool, "arguments": {}}).message["result"]
    rest = web.post(f"/api/v1/tools/{tool}", {})
    assert failure(first)["code"] == failure(modern)["code"] == "internal_error"
    assert (rest.status, rest.json["error"]["code"]) == (500, "internal_error")
    assert_no_secret([first, modern, rest.json])
    assert session.ask("ping")["result"] == {}


def test_the_log_has_the_hidden_details_under_the_request_id(server: WebServer) -> None:
    answer = server.web.post("/api/v1/tools/odd_raise", {}, {"X-Request-ID": "find-me"})
    assert answer.status == 500
    line = server.process.wait_for_log(
        lambda found: found.get("requestId") == "find-me" and "exception" in found,
    )
    assert SECRET in line["exception"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "odd:///broken"}),
        ("resources/read", {"uri": "odd:///strange"}),
        ("prompts/get", {"name": "odd_broken"}),
    ],
)
@ERAS
def test_a_failing_resource_or_prompt_is_an_internal_error_without_details(
    pipe: StdioClient, era: str, method: str, params: dict[str, Any]
) -> None:
    error = pipe.error(method, params if era == "handshake" else envelope(params))
    assert error["code"] == -32603
    assert error["data"]["code"] == "internal_error"
    assert_no_secret(error)


##= docs/spec/host.md#limits
##% A call that runs longer than `limits.toolTimeoutSeconds` MUST end with the code `timeout`.
@ERAS
@pytest.mark.parametrize("tool", ["odd_slow", "odd_block"])
def test_a_handler_over_its_time_limit_is_a_timeout(pipe: StdioClient, era: str, tool: str) -> None:
    error = failure(call(pipe, era, tool, {"seconds": 3.0}))
    assert error["code"] == "timeout"
    assert "1 seconds" in error["message"]
    assert "toolTimeoutSeconds" in error["hint"]


def test_a_handler_over_its_time_limit_is_a_504_over_rest(web: HttpClient) -> None:
    answer = web.post("/api/v1/tools/odd_slow", {"seconds": 5.0})
    assert (answer.status, answer.json["error"]["code"]) == (504, "timeout")


##= docs/spec/host.md#limits
##% A result over `limits.maxResultBytes` MUST be refused with the code `too_large`.
@ERAS
@pytest.mark.parametrize("tool", ["odd_big", "odd_big_image", "odd_big_data"])
def test_a_result_over_the_size_limit_is_refused_with_its_size(pipe: StdioClient, era: str, tool: str) -> None:
    error = failure(call(pipe, era, tool, {"size": 1_000_001}))
    assert error["code"] == "too_large"
    assert "the limit is 1000000" in error["message"]


def test_a_resource_is_measured_in_bytes_not_characters(pipe: StdioClient) -> None:
    error = pipe.error("resources/read", {"uri": "odd:///huge"})
    assert error["data"]["code"] == "too_large"
    assert "1400000 bytes" in error["message"]


@ERAS
def test_text_that_cannot_be_encoded_is_replaced(pipe: StdioClient, era: str) -> None:
    result = call(pipe, era, "odd_surrogate")
    assert result["structuredContent"] == {"name": "a\ufffdb"}
    assert json.loads(result["content"][0]["text"]) == {"name": "a\ufffdb"}


def test_text_that_cannot_be_encoded_is_replaced_over_http(web: HttpClient) -> None:
    session = web.open_session()
    assert session.ask("tools/call", {"name": "odd_surrogate"})["result"]["structuredContent"] == {"name": "a\ufffdb"}
    assert web.post("/api/v1/tools/odd_surrogate", {}).json["result"] == {"name": "a\ufffdb"}


##= docs/spec/host.md#standard-output
##% While stdio is served, standard output MUST carry only protocol messages.
##= docs/spec/host.md#standard-output
##% Output printed by a tool, a plugin or a library MUST go to standard error.
@ERAS
def test_the_printed_output_of_a_handler_never_reaches_the_client(pipe: StdioClient, era: str) -> None:
    for _ in range(3):
        assert call(pipe, era, "odd_print")["structuredContent"] == {"done": True}
    wait_until(lambda: "echoed by a child" in pipe.log_text, "the output is on standard error")
    for expected in ("printed by a handler", "written to the first stdout", "written to descriptor 1"):
        assert expected in pipe.log_text


def test_a_handler_that_reads_standard_input_gets_nothing(pipe: StdioClient) -> None:
    assert pipe.call("odd_read_input")["structuredContent"] == {"done": True}


##= docs/spec/host.md#tool-calls
##% A failed call MUST return a result with `isError`, a code, a message and, if there is a remedy, a hint.
@ERAS
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "needs the argument 'text'"),
        ({"text": "a", "nope": 1}, "has no argument 'nope'"),
        ({"text": 5}, "'text': input should be a valid string"),
        ({"text": "a", "number": "5"}, "'number': input should be a valid integer"),
        ({"text": "a", "number": True}, "'number'"),
        ({"text": "a", "number": 1.5}, "'number'"),
        ({"text": "a", "number": 10}, "less than or equal to 9"),
        ({"text": "a", "flag": 1}, "'flag'"),
        ({"text": "a", "color": "blue"}, "'color' must be one of 'red' or 'green'"),
        ({"text": "a", "words": "one"}, "'words'"),
        ({"text": "a", "words": [1]}, "'words.0'"),
        ({"text": "a", "number": 10**400}, "'number'"),
    ],
)
def test_invalid_arguments_are_named_with_what_is_allowed(
    pipe: StdioClient, era: str, arguments: dict[str, Any], expected: str
) -> None:
    error = failure(call(pipe, era, "odd_echo", arguments))
    assert error["code"] == "invalid_request"
    assert expected in error["message"]
    assert error["hint"].startswith("Arguments of odd_echo: text: string, number?: integer 1..9")
    assert '"red"|"green"' in error["hint"]


def test_a_number_too_large_for_a_float_is_refused(pipe: StdioClient) -> None:
    pipe.send_bytes(
        b'{"jsonrpc":"2.0","id":"inf","method":"tools/call",'
        b'"params":{"name":"odd_echo","arguments":{"text":"a","ratio":1e400}}}\n'
    )
    assert failure(pipe.reply_to("inf")["result"])["code"] == "invalid_request"


def test_an_argument_name_cannot_put_control_characters_into_the_error(pipe: StdioClient) -> None:
    error = failure(call(pipe, "handshake", "odd_echo", {"text": "a", "x\n\u202e\u0007" + "y" * 500: 1}))
    assert "\n" not in error["message"]
    assert "\u202e" not in error["message"]
    assert len(error["message"]) < 300


##= docs/spec/host.md#tool-calls
##% A call to a tool that does not exist MUST be a protocol error.
@ERAS
def test_an_unknown_tool_is_a_protocol_error_with_the_nearest_name(pipe: StdioClient, era: str) -> None:
    params = {"name": "odd_ecko"}
    error = pipe.error("tools/call", params if era == "handshake" else envelope(params))
    assert error["code"] == -32602
    assert error["data"] == {"code": "tool_not_found", "hint": "Did you mean odd_echo?"}


@ERAS
def test_progress_reaches_the_client_that_asked_for_it(pipe: StdioClient, era: str) -> None:
    meta = {"progressToken": "tok"}
    params = {"name": "odd_progress", "arguments": {}}
    pipe.notifications.clear()
    pipe.result("tools/call", {**params, "_meta": meta} if era == "handshake" else envelope(params, meta=meta))
    progress = [n["params"] for n in pipe.notifications if n["method"] == "notifications/progress"]
    assert [(t["progressToken"], t["progress"], t["total"], t["message"]) for t in progress] == [
        ("tok", 1, 3, "step 1"),
        ("tok", 2, 3, "step 2"),
        ("tok", 3, 3, "step 3"),
    ]


@ERAS
def test_there_is_no_progress_unless_requested(pipe: StdioClient, era: str) -> None:
    pipe.notifications.clear()
    call(pipe, era, "odd_progress")
    assert pipe.notifications == []


@pytest.mark.parametrize(
    ("level", "received"), [("debug", ["debug", "info", "error"]), ("info", ["info", "error"]), ("critical", [])]
)
def test_set_level_decides_which_log_messages_the_client_gets(
    pipe: StdioClient, level: str, received: list[str]
) -> None:
    assert pipe.result("logging/setLevel", {"level": level}) == {}
    pipe.notifications.clear()
    pipe.call("odd_log")
    assert [n["params"]["level"] for n in pipe.notifications if n["method"] == "notifications/message"] == received


def test_an_unknown_log_level_is_refused(pipe: StdioClient) -> None:
    assert pipe.error("logging/setLevel", {"level": "loud"})["code"] == -32602


def test_a_stateless_client_names_its_log_level_in_the_request(pipe: StdioClient) -> None:
    params = {"name": "odd_log", "arguments": {}}
    pipe.notifications.clear()
    pipe.result("tools/call", envelope(params, meta={"io.modelcontextprotocol/logLevel": "error"}))
    assert [n["params"]["data"] for n in pipe.notifications] == ["a failure"]
    pipe.notifications.clear()
    pipe.result("tools/call", envelope(params))
    assert pipe.notifications == []


##= docs/spec/host.md#tool-calls
##% A client that cancels a call MUST get no response to it.
def test_a_cancelled_call_is_not_answered_and_its_handler_stops(server_factory: ServerFactory, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with server_factory.pipe() as pipe:
        pipe.initialize()
        pipe.send(rpc("tools/call", {"name": "odd_slow", "arguments": {"marker": str(marker)}}, "doomed"))
        wait_until(marker.exists, "the handler runs")
        pipe.notify("notifications/cancelled", {"requestId": "doomed", "reason": "changed my mind"})
        wait_until(lambda: marker.read_text(encoding="utf-8") == "cancelled", "the handler is cancelled")
        assert pipe.result("ping") == {}
        pipe.send(rpc("ping", None, "doomed"))
        assert pipe.reply_to("doomed")["result"] == {}, "the id is free again"
        line = pipe.wait_for_log(lambda found: found.get("tool") == "odd_slow")
        assert line["status"] == "cancelled"
        pipe.close_stdin()
        assert pipe.rest() == []


def test_cancelling_a_finished_or_unknown_request_changes_nothing(pipe: StdioClient) -> None:
    unknown: tuple[object, ...] = ("never", 12345, None, {})
    for request_id in unknown:
        pipe.notify("notifications/cancelled", {"requestId": request_id})
    assert pipe.result("ping") == {}


def test_a_handshake_client_is_asked_in_the_middle_of_the_call(pipe: StdioClient) -> None:
    pipe.initialize(capabilities={"elicitation": {}})
    pipe.send(rpc("tools/call", {"name": "odd_ask"}, "asking"))
    question = pipe.receive()
    assert question["method"] == "elicitation/create"
    pipe.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": "Ada"}}})
    assert pipe.reply_to("asking")["result"]["structuredContent"] == {"name": "Ada"}


def test_a_client_that_refuses_to_answer_is_an_upstream_error(pipe: StdioClient) -> None:
    pipe.initialize(capabilities={"elicitation": {}})
    pipe.send(rpc("tools/call", {"name": "odd_ask"}, "asking"))
    question = pipe.receive()
    pipe.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": SECRET}})
    result = pipe.reply_to("asking")["result"]
    assert failure(result)["code"] == "upstream_error"
    assert_no_secret(result)


def test_the_error_names_the_client_capability_that_a_call_needs(pipe: StdioClient) -> None:
    pipe.initialize(capabilities={})
    assert failure(pipe.call("odd_ask"))["code"] == "missing_client_capability"
    error = pipe.modern("tools/call", {"name": "odd_ask"})["error"]
    assert error["code"] == -32021
    assert error["data"]["requiredCapabilities"] == {"elicitation": {}}


def first_round(pipe: StdioClient) -> Any:
    asked = pipe.modern("tools/call", {"name": "odd_ask"}, capabilities={"elicitation": {}})["result"]
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["who"]["method"] == "elicitation/create"
    return asked["requestState"]


def second_round(pipe: StdioClient, state: object, tool: str = "odd_ask") -> dict[str, Any]:
    params = {
        "name": tool,
        "inputResponses": {"who": {"action": "accept", "content": {"name": "Ada"}}},
        "requestState": state,
    }
    return pipe.modern("tools/call", params, capabilities={"elicitation": {}})


def test_a_stateless_client_is_asked_in_a_second_round(pipe: StdioClient) -> None:
    assert second_round(pipe, first_round(pipe))["result"]["structuredContent"] == {"name": "Ada"}


@pytest.mark.parametrize("tampering", ["flipped", "cut", "foreign", "empty", "number"])
def test_a_request_state_that_was_tampered_with_is_refused(pipe: StdioClient, tampering: str) -> None:
    state = first_round(pipe)
    middle = len(state) // 2
    tampered: object = {
        "flipped": state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :],
        "cut": state[:-4],
        "foreign": '{"answers":{},"state":null}',
        "empty": "",
        "number": 5,
    }[tampering]
    answer = second_round(pipe, tampered)
    assert answer["error"]["code"] == -32602


def test_a_request_state_of_another_call_is_refused(pipe: StdioClient) -> None:
    answer = second_round(pipe, first_round(pipe), tool="odd_echo")
    assert answer["error"]["code"] == -32602


def test_many_blocked_handlers_do_not_block_others(pipe: StdioClient, tmp_path: Path) -> None:
    for number in range(20):
        arguments = {"seconds": 5.0, "marker": str(tmp_path / str(number))}
        pipe.send(rpc("tools/call", {"name": "odd_block", "arguments": arguments}, number))
    wait_until(lambda: len(list(tmp_path.iterdir())) == 20, "all of them run at once")
    pipe.send(rpc("tools/call", {"name": "odd_read_input"}, "one more"))
    answers = {answer["id"]: answer["result"] for answer in (pipe.receive() for _ in range(21))}
    assert answers.pop("one more")["structuredContent"] == {"done": True}
    assert {failure(result)["code"] for result in answers.values()} == {"timeout"}


##= docs/spec/host.md#tool-calls
##% A result MUST report the freshness of its data.
def test_every_result_says_how_fresh_it_is(pipe: StdioClient) -> None:
    meta = pipe.call("contextive_server_info")["_meta"]["contextive/as_of"]
    assert meta["generation"] == 1
    assert meta["time"].endswith("+00:00")
