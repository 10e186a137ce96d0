"""B1, B3 to B5, B7 to B9, B12: messages that are none, or not quite, on both transports and in both eras."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.plugins.packages import python_path
from tests.raw_clients import LATEST_HANDSHAKE, MODERN, StdioClient, envelope, handshake, modern_headers, rpc

from .argument_slots import slots
from .target import ERAS, AttackResult, AttackTarget, Era


def send(target: AttackTarget, data: bytes, headers: Mapping[str, str] | None = None) -> AttackResult:
    """One message as it is: a line of the pipe, or the body of a request of a session."""
    if target.web is None:
        target.lines(data + b"\n", 1)
        return target.shots[-1]
    given = {"Accept": "application/json, text/event-stream", **(headers or target.session().headers)}
    return target.request("POST", "/mcp", data, given)


def message(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **fields}).encode()


def call(name: Any, arguments: Any = None) -> bytes:
    return message(method="tools/call", params={"name": name, "arguments": arguments})


BROKEN: dict[str, tuple[bytes, set[int]]] = {
    "B1-garbage": (b"garbage", {-32700}),
    "B1-html": (b"<html>", {-32700}),
    "B1-truncated": (b'{"jsonrpc":"2.0","id":1,"meth', {-32700}),
    "B1-two-values": (message(method="ping") + message(method="ping"), {-32700}),
    "B1-missing-method": (b'{"jsonrpc":"2.0","id":1}', {-32600}),
    "B1-missing-version": (b'{"id":1,"method":"ping"}', {-32600}),
    "B1-wrong-version": (b'{"jsonrpc":"3.0","id":1,"method":"ping"}', {-32600}),
    "B1-empty-array": (b"[]", {-32600}),
    "B1-null": (b"null", {-32600}),
    "B1-number": (b"42", {-32600}),
    "B1-two-ids": (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', {-32600}),
    "B1-two-methods": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', {-32600}),
    "B1-two-methods-spelled-apart": (b'{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"ping"}', {-32600}),
    "B1-two-params": (b'{"jsonrpc":"2.0","id":1,"params":{},"method":"ping","params":{}}', {-32600}),
    "B1-tool-null": (call(None), {-32602}),
    "B1-tool-number": (call(7), {-32602}),
    "B1-tool-object": (call({"a": 1}), {-32602}),
    "B1-tool-unknown": (call("x" * 10_000), {-32602}),
    "B1-arguments-array": (call("get_page", [1]), {-32602}),
    "B1-arguments-string": (call("get_page", "x"), {-32602}),
    "B1-arguments-null": (call("get_page", None), {0}),
    "B1-method-number": (message(method=5), {-32600}),
    "B1-method-empty": (message(method=""), {-32601}),
    "B1-method-unknown": (message(method="x" * 100_000), {-32601}),
    "B1-params-array": (message(method="tools/list", params=[]), {-32600}),
    "B1-meta-string": (message(method="tools/list", params={"_meta": "x"}), {-32602}),
    "B2-depth": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 100_000, {-32700}),
    "B2-closed-depth": (b"[" * 100_000 + b"]" * 100_000, {-32700}),
    "B2-depth-in-arguments": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_page","arguments":{"slug":'
        + b"[" * 190
        + b"]" * 190
        + b"}}}",
        {0, -32700},
    ),
    "B3-id-float": (message(id=1.5, method="ping"), {-32600}),
    "B3-id-null": (message(id=None, method="ping"), {-32600}),
    "B3-id-object": (message(id={}, method="ping"), {-32600}),
    "B3-id-boolean": (message(id=True, method="ping"), {-32600}),
    "B4-nan": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_page","arguments":{"slug":NaN}}}',
        {-32700},
    ),
    "B4-infinity": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}', {-32700}),
    "B4-1e400": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"km-search","arguments":{"query":"a","limit":1e400}}}',
        {0, -32700},
    ),
    "B4-huge-integer": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"km-search","arguments":{"query":"a","limit":'
        + b"9" * 5000
        + b"}}}",
        {0, -32700},
    ),
    "B5-invalid-utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xff\xfe"}}', {-32700}),
    "B5-overlong-utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xc0\xaf"}}', {-32700}),
    "B5-byte-order-mark": (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', {-32700}),
    "B5-utf-16": (message(method="ping").decode().encode("utf-16").replace(b"\n", b" "), {-32700}),
    "B5-lone-surrogate": (call("get_page", {"slug": "\ud800"}), {-32700}),
    "B5-nul": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}\x00', {-32700}),
    "B8-batch": (b"[" + message(method="ping") + b"]", {-32600}),
    "B8-batch-of-notifications": (b'[{"jsonrpc":"2.0","method":"notifications/initialized"}]', {-32600}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_message_that_is_none_gets_its_error(target: AttackTarget, case: str) -> None:
    data, expected = BROKEN[case]
    shot = send(target, data)
    assert isinstance(shot.reply, dict), shot.text
    number = shot.reply.get("error", {}).get("code", 0)
    assert number in expected, shot.text
    if number == 0:
        assert shot.code == "invalid_request", shot.text
    target.assert_unharmed()


@pytest.mark.parametrize("case", ["B1-tool-null", "B1-tool-number", "B1-arguments-array", "B1-arguments-string"])
def test_a_broken_call_of_the_stateless_era_gets_its_error(target: AttackTarget, case: str) -> None:
    data, expected = BROKEN[case]
    params = envelope(json.loads(data)["params"])
    shot = send(target, message(method="tools/call", params=params), modern_headers("tools/call", params))
    # Over HTTP the header already has to name the tool.
    assert shot.reply["error"]["code"] in expected | {-32020}, shot.text
    target.assert_unharmed()


def test_b1_empty_lines_and_bodies_are_no_messages(target: AttackTarget) -> None:
    if target.web is None:
        target.process.send_bytes(b"\n\r\n   \n\t\n")
    else:
        for body in (b"", b" ", b"\n"):
            assert send(target, body).status == 400
    target.assert_unharmed()


def test_b1_notifications_of_every_kind_are_swallowed(target: AttackTarget) -> None:
    given: dict[str, Any]
    for method in ("tools/call", "notifications/unknown", "notifications/cancelled", "initialize", "x" * 1000):
        for given in ({}, {"params": {"requestId": "never", "name": "get_page"}}, {"params": {"requestId": {}}}):
            data = json.dumps({"jsonrpc": "2.0", "method": method, **given}).encode()
            if target.web is None:
                target.process.send_bytes(data + b"\n")
            else:
                assert send(target, data).status in (202, 400)
    target.assert_unharmed(entries=0)
    assert "Traceback" not in target.process.log_text


def test_b4_numbers_at_the_edge_are_taken_or_refused_in_every_argument_that_takes_one(target: AttackTarget) -> None:
    tools = target.listed("tools/list", "tools")
    edges: tuple[Any, ...] = (-1, 0, -0.0, True, False, 1.5, 10**9, 2**63, -(2**63) - 1, 10**30, 1e308, "1", None, [])
    for tool in tools:
        for kind in ("integer", "number"):
            for slot in slots(tool, kind):
                if tool["name"].startswith(("odd_", "km-ingest-trigger")):
                    continue
                for number, edge in enumerate(edges):
                    target.fire(slot.tool, slot.filled(edge), era=ERAS[number % 2])
    target.assert_unharmed()


@pytest.mark.parametrize("era", ERAS)
def test_b3_an_id_that_is_still_open_is_refused_and_the_first_call_answered(target: AttackTarget, era: Era) -> None:
    slow = {"name": "odd_slow", "arguments": {"seconds": 0.3}}
    if target.web is not None:
        pytest.skip("two requests at once over HTTP are told of in tests/server/test_http_sessions.py")
    first = json.dumps(rpc("tools/call", envelope(slow) if era == "stateless" else slow, "same")).encode()
    replies = target.lines(first + b"\n" + first + b"\n" + first + b"\n", 3)
    assert [reply["id"] for reply in replies] == ["same"] * 3
    assert sorted("error" in reply for reply in replies) == [False, True, True]
    target.assert_unharmed()


@pytest.mark.parametrize("request_id", [12345678, "never", -1, None, {}, 1e300], ids=repr)
def test_b3_a_cancel_of_what_nobody_asked_is_swallowed(target: AttackTarget, request_id: Any) -> None:
    data = json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    ).encode()
    if target.web is None:
        target.process.send_bytes(data + b"\n")
    else:
        assert send(target, data).status in (202, 400)
    target.assert_unharmed(entries=0)


def test_b3_an_ingest_that_is_cancelled_can_be_made_again(target: AttackTarget) -> None:
    if target.web is not None:
        pytest.skip("a cancel over HTTP is a closed connection: B6")
    for number in range(150):
        (target.root / "docs" / f"page-{number}.md").write_text(
            f"# Page {number}\n\n" + "words " * 2000, encoding="utf-8"
        )
    target.settle()
    for number in range(3):
        target.process.send(rpc("tools/call", {"name": "km-ingest-trigger", "arguments": {}}, f"ingest-{number}"))
        target.process.notify("notifications/cancelled", {"requestId": f"ingest-{number}", "reason": "test"})
    for _ in range(100):  # the run that was cancelled may need a moment to notice it
        shot = target.fire("km-ingest-trigger", {}, timeout=30)
        if shot.code is None:
            break
        time.sleep(0.1)
    assert shot.code is None, shot.text
    # Which run took them in does not matter: the server follows the files by itself, too.
    for number in (0, 149):
        assert target.fire("km-graph-node", {"node_id": f"DesignDoc:docs/page-{number}.md"}).code is None
    assert "never retrieved" not in target.process.log_text
    target.assert_unharmed()


# -- B7: two eras --------------------------------------------------------------------------------------------------------


def test_b7_both_eras_are_served_by_one_server_in_any_order(target: AttackTarget) -> None:
    if target.web is None:
        assert target.process.modern("server/discover")["result"]["supportedVersions"] == [MODERN]
        assert "result" in target.process.ask("tools/list")
    else:
        assert target.http_client().modern("server/discover").message["result"]["supportedVersions"] == [MODERN]
        opened = target.http_client().open_session()
        assert opened.result["protocolVersion"] == LATEST_HANDSHAKE
        assert "result" in opened.ask("tools/list")
    for era in (*ERAS, *reversed(ERAS)):
        assert target.fire("get_page", {"slug": "harbour"}, era=era).code is None
    target.assert_unharmed()


@pytest.mark.parametrize("version", ["2099-01-01", "garbage", "", "2025-11-25", "\u202e2026-07-28", "9" * 10_000])
def test_b7_an_unknown_version_is_refused_with_those_that_are_known(target: AttackTarget, version: str) -> None:
    params = envelope({"name": "get_page", "arguments": {"slug": "harbour"}}, version=version)
    headers = modern_headers("tools/call", params, version if version.isascii() and version else MODERN)
    shot = send(target, message(method="tools/call", params=params), headers)
    assert shot.reply["error"]["code"] in (-32022, -32020, -32602, -32600), shot.text
    if version == "2099-01-01":
        assert shot.reply["error"]["code"] == -32022
    target.assert_unharmed()


MISMATCHES: dict[str, dict[str, str]] = {
    "B7-header-names-another-method": {"Mcp-Method": "tools/list"},
    "B7-header-names-another-tool": {"Mcp-Name": "contextive_health"},
    "B7-header-names-another-version": {"MCP-Protocol-Version": "2025-06-18"},
    "B7-header-without-a-name": {"Mcp-Name": ""},
    "B7-header-of-broken-base64": {"Mcp-Name": "=?base64?!!!?="},
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_b7_headers_that_disagree_with_the_body_are_refused(target: AttackTarget, case: str) -> None:
    if target.web is None:
        pytest.skip("a pipe has no headers")
    params = envelope({"name": "get_page", "arguments": {"slug": "harbour"}})
    shot = send(
        target, message(method="tools/call", params=params), modern_headers("tools/call", params) | MISMATCHES[case]
    )
    assert shot.status == 400, shot.text
    assert shot.reply["error"]["code"] == -32020, shot.text
    target.assert_unharmed()


def test_b9_a_call_before_initialize_is_refused(target: AttackTarget) -> None:
    if target.web is None:
        config = str(target.folder / "home/server.json")
        with StdioClient(
            "serve", "--stdio", "--config", config, cwd=target.root, env=python_path(target.folder / "site")
        ) as pipe:
            assert pipe.error("tools/call", {"name": "get_page", "arguments": {}})["code"] == -32600
            assert pipe.error("tools/list")["code"] == -32600
            assert "result" in pipe.ask("initialize", handshake())
            assert "result" in pipe.ask("tools/list")
    else:
        headers = {"Accept": "application/json, text/event-stream", "Mcp-Session-Id": "0" * 32}
        for given in ({"Accept": headers["Accept"]}, headers, {**headers, "Mcp-Session-Id": "../../x"}):
            shot = target.request("POST", "/mcp", call("get_page", {"slug": "harbour"}), given)
            assert shot.status in (400, 404), shot.text
    target.assert_unharmed()


def test_b7_initialize_may_be_sent_again_and_with_anything(target: AttackTarget) -> None:
    odd: list[dict[str, Any]] = [{}, {"protocolVersion": 5}, {"protocolVersion": {}}, handshake("x")]
    for params in (*odd, {**handshake(), "capabilities": []}):
        send(target, message(id="again", method="initialize", params=params), {"Accept": "text/event-stream"})
    target.assert_unharmed(entries=0)


# -- B12: cursors and states ---------------------------------------------------------------------------------------------

LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def forged(cursor: str) -> Iterator[str]:
    """A cursor that was changed, cut, lengthened, or made by somebody who knows how they look."""
    yield cursor[:-2]
    yield cursor + "A"
    yield cursor[::-1]
    yield ("B" if cursor[0] == "A" else "A") + cursor[1:]
    yield ""
    yield "A" * 100_000
    yield base64.urlsafe_b64encode(b"0.0").decode()
    yield base64.urlsafe_b64encode(b"x" * 8 + b"." + b"9" * 40).decode()
    yield "' OR 1=1 --"
    yield "../../etc/passwd"
    yield "\u202e\0"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", LISTS)
def test_b12_a_cursor_that_was_not_given_out_for_a_list_is_refused(target: AttackTarget, method: str, era: Era) -> None:
    cursor = target.ask(method, era=era).reply["result"]["nextCursor"]
    others = [other for other in LISTS if other != method]
    foreign = [target.ask(other).reply["result"]["nextCursor"] for other in others]
    target.shots.clear()
    for wrong in [*forged(cursor), *foreign]:
        shot = target.ask(method, {"cursor": wrong}, era=era)
        assert shot.code == "invalid_cursor", (wrong, shot.text)
    target.assert_unharmed()
    assert target.ask(method, {"cursor": cursor}, era=era).code is None
    target.settle()


@pytest.mark.parametrize("era", ERAS)
def test_b12_a_cursor_that_was_not_given_out_by_a_tool_is_refused(target: AttackTarget, era: Era) -> None:
    tools = [tool for tool in target.listed("tools/list", "tools") if "cursor" in tool["inputSchema"]["properties"]]
    assert {"list_pages", "search_requirements", "km-graph-subsystem"} <= {tool["name"] for tool in tools}
    cursor = target.ask("tools/list").reply["result"]["nextCursor"]
    target.shots.clear()
    for tool in tools:
        (slot,) = (slot for slot in slots(tool) if slot.path == ("cursor",))
        for wrong in (*forged(cursor), cursor):
            shot = target.fire(slot.tool, slot.filled(wrong), era=era)
            assert shot.code in ("invalid_cursor", "invalid_request", "not_found"), (wrong, shot.text)
    target.assert_unharmed()


def test_b12_a_request_state_that_was_forged_or_belongs_elsewhere_is_refused(target: AttackTarget) -> None:
    given = envelope({"name": "odd_ask", "arguments": {}}, capabilities={"elicitation": {}})
    headers = modern_headers("tools/call", given)
    asked = send(target, message(method="tools/call", params=given), headers).reply["result"]
    state, key = asked["requestState"], next(iter(asked["inputRequests"]))
    answer = {key: {"action": "accept", "content": {"name": "x"}}}
    for wrong in (state[:-4], state[::-1], "A" + state, "garbage", "", "x" * 100_000, state.swapcase()):
        again = {**given, "requestState": wrong, "inputResponses": answer}
        shot = send(target, message(method="tools/call", params=again), headers)
        assert shot.reply["error"]["code"] == -32602, (wrong, shot.text)
    elsewhere = {**given, "name": "odd_slow", "requestState": state, "inputResponses": answer}
    shot = send(target, message(method="tools/call", params=elsewhere), modern_headers("tools/call", elsewhere))
    assert "error" in shot.reply, shot.text
    target.assert_unharmed()
