"""Single lines over stdio: which are answered, which are refused, and that the connection stays usable."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.raw_clients import StdioClient, envelope, rpc


def answer_to(pipe: StdioClient, line: bytes) -> Any:
    """The response to a raw line, after checking that the connection still works."""
    pipe.send_bytes(line + b"\n")
    answer = pipe.receive()
    assert pipe.result("ping") == {}
    return answer


##= docs/spec/host.md#malformed-messages
##% A line that is not JSON MUST be answered with -32700.
@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b'{"jsonrpc":"2.0","id":1,"method":"pi',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"} trailing',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xff\xfe"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\x00"}}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
    ],
    ids=["garbage", "truncated", "trailing", "NaN", "Infinity", "UTF-8", "surrogate", "BOM", "NUL", "huge integer"],
)
def test_a_line_that_is_not_json_is_a_parse_error_without_an_id(pipe: StdioClient, line: bytes) -> None:
    answer = answer_to(pipe, line)
    assert answer["id"] is None
    assert answer["error"]["code"] == -32700


##= docs/spec/host.md#malformed-messages
##% A malformed message MUST NOT end the process.
@pytest.mark.parametrize(
    "line",
    [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 39_000],
    ids=["open arrays", "arrays", "objects"],
)
def test_json_nested_tens_of_thousands_deep_is_a_parse_error(pipe: StdioClient, line: bytes) -> None:
    assert answer_to(pipe, line)["error"]["code"] == -32700


##= docs/spec/host.md#malformed-messages
##% A request with a duplicate key at its top level MUST be refused.
@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","\\u006dethod":"tools/list"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","x":{"a":1},"x":{"a":1}}',
        b'{"jsonrpc":"2.0","jsonrpc":"2.0","method":"notifications/initialized"}',
    ],
)
def test_a_message_with_a_repeated_key_is_refused(pipe: StdioClient, line: bytes) -> None:
    answer = answer_to(pipe, line)
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert "the same key twice" in answer["error"]["message"]


def test_a_key_may_be_repeated_at_deeper_levels(pipe: StdioClient) -> None:
    line = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"id":1,"method":"x","_meta":{"a":1,"a":2}}}'
    assert answer_to(pipe, line) == {"jsonrpc": "2.0", "id": 7, "result": {}}


##= docs/spec/host.md#malformed-messages
##% A JSON value that is not a JSON-RPC message MUST be answered with -32600.
@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b"5", None),
        (b'"text"', None),
        (b"null", None),
        (b"[]", None),
        (b'{"id":1,"method":"ping"}', 1),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 1),
        (b'{"jsonrpc":2.0,"id":"a","method":"ping"}', "a"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', 1),
        (b'{"jsonrpc":"2.0","id":1}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1),
        (b'{"jsonrpc":"2.0","id":1,"result":5}', 1),
    ],
)
def test_json_that_is_not_a_message_is_an_invalid_request(pipe: StdioClient, line: bytes, request_id: object) -> None:
    answer = answer_to(pipe, line)
    assert answer["error"]["code"] == -32600
    assert answer["id"] == request_id


@pytest.mark.parametrize("request_id", [7, "7", 0, -1, "", "a b ü \u2028", 2**63], ids=repr)
def test_an_id_is_returned_with_its_value_and_type(pipe: StdioClient, request_id: object) -> None:
    pipe.send(rpc("ping", None, request_id))
    assert pipe.reply_to(request_id)["result"] == {}


def test_a_number_and_the_same_text_are_different_ids(pipe: StdioClient) -> None:
    slow = {"name": "odd_slow", "arguments": {"seconds": 0.2}}
    pipe.send(rpc("tools/call", slow, 7))
    pipe.send(rpc("tools/call", slow, "7"))
    ids = [pipe.receive()["id"] for _ in range(2)]
    assert {(type(found), found) for found in ids} == {(int, 7), (str, "7")}


##= docs/spec/host.md#malformed-messages
##% A request that reuses the id of a request in flight MUST be refused.
def test_an_id_that_is_still_open_is_refused_and_free_again_afterwards(pipe: StdioClient) -> None:
    pipe.send(rpc("tools/call", {"name": "odd_slow", "arguments": {"seconds": 0.2}}, "same"))
    pipe.send(rpc("ping", None, "same"))
    refused, served = pipe.receive(), pipe.receive()
    assert refused["error"]["code"] == -32600
    assert "still open" in refused["error"]["message"]
    assert served["result"]["structuredContent"] == {"done": True}
    pipe.send(rpc("ping", None, "same"))
    assert pipe.reply_to("same")["result"] == {}


def test_blank_lines_and_carriage_returns_are_ignored(pipe: StdioClient) -> None:
    pipe.send_bytes(b'\n   \n\r\n{"jsonrpc":"2.0","id":"crlf","method":"ping"}\r\n')
    assert pipe.reply_to("crlf")["result"] == {}


def test_a_message_that_arrives_byte_by_byte_is_served(pipe: StdioClient) -> None:
    for byte in b'{"jsonrpc":"2.0","id":"slow","method":"ping"}\n':
        pipe.send_bytes(bytes([byte]))
    assert pipe.reply_to("slow")["result"] == {}


def test_many_messages_in_one_write_are_all_served(pipe: StdioClient) -> None:
    lines = [json.dumps(rpc("ping", None, number)).encode() for number in range(600)]
    pipe.send_bytes(b"\n".join(lines) + b"\n")
    assert {pipe.receive()["id"] for _ in lines} == set(range(600))


##= docs/spec/host.md#malformed-messages
##% A message over the size limit MUST be refused without closing the connection.
def test_a_line_over_the_size_limit_is_refused_and_the_next_one_is_served(pipe: StdioClient) -> None:
    answer = answer_to(pipe, json.dumps(rpc("ping", {"filler": "x" * 300_000})).encode())
    assert answer["id"] is None
    assert answer["error"]["code"] == -32600
    assert "size limit" in answer["error"]["message"]


def test_a_line_of_exactly_the_maximum_size_is_served(pipe: StdioClient) -> None:
    line = json.dumps(rpc("ping", {"filler": ""}, "full")).encode()
    line = line.replace(b'""', b'"' + b"x" * (200_000 - len(line)) + b'"')
    assert len(line) == 200_000
    pipe.send_bytes(line + b"\n")
    assert pipe.reply_to("full")["result"] == {}


##= docs/spec/host.md#malformed-messages
##% An unknown method MUST be answered with -32601.
@pytest.mark.parametrize("params", [None, envelope()], ids=["handshake", "stateless"])
def test_an_unknown_method_is_method_not_found(pipe: StdioClient, params: dict[str, Any] | None) -> None:
    assert pipe.error("no/such/method", params)["code"] == -32601


@pytest.mark.parametrize(
    ("method", "params", "named"),
    [
        ("tools/call", {"name": 5}, "name"),
        ("tools/call", {"name": None}, "name"),
        ("tools/call", {"name": {}}, "name"),
        ("tools/call", {}, "name"),
        ("tools/call", {"name": "odd_echo", "arguments": [1]}, "arguments"),
        ("tools/call", {"name": "odd_echo", "arguments": "x"}, "arguments"),
        ("tools/list", {"cursor": 5}, "cursor"),
        ("resources/read", {}, "uri"),
        ("prompts/get", {"name": "odd_greeting", "arguments": {"subject": 5}}, "subject"),
    ],
)
@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_invalid_parameters_are_named(
    pipe: StdioClient, method: str, params: dict[str, Any], named: str, era: str
) -> None:
    error = pipe.error(method, params if era == "handshake" else envelope(params))
    assert error["code"] == -32602
    assert named in error["message"]
    assert "pydantic" not in str(error)


def test_unknown_notifications_are_ignored(pipe: StdioClient) -> None:
    for method in ("notifications/unknown", "tools/call", "notifications/cancelled", "notifications/progress"):
        pipe.notify(method, {"requestId": "never seen", "name": "odd_echo"})
        pipe.notify(method)
    assert pipe.result("ping") == {}


def test_unexpected_responses_are_ignored(pipe: StdioClient) -> None:
    pipe.send({"jsonrpc": "2.0", "id": 99, "result": {}})
    pipe.send({"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "x"}})
    assert pipe.result("ping") == {}
