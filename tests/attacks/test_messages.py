"""Invalid and almost valid messages, on both transports and in both eras."""

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
    """Send one message as it is: as a line over stdio, or as the body of a request in a session."""
    if target.web is None:
        target.lines(data + b"\n", 1)
        return target.shots[-1]
    request_headers = {"Accept": "application/json, text/event-stream", **(headers or target.session().headers)}
    return target.request("POST", "/mcp", data, request_headers)


def message(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **fields}).encode()


def call(name: Any, arguments: Any = None) -> bytes:
    return message(method="tools/call", params={"name": name, "arguments": arguments})


BROKEN: dict[str, tuple[bytes, set[int]]] = {
    "garbage": (b"garbage", {-32700}),
    "html": (b"<html>", {-32700}),
    "truncated": (b'{"jsonrpc":"2.0","id":1,"meth', {-32700}),
    "two-values": (message(method="ping") + message(method="ping"), {-32700}),
    "missing-method": (b'{"jsonrpc":"2.0","id":1}', {-32600}),
    "missing-version": (b'{"id":1,"method":"ping"}', {-32600}),
    "wrong-version": (b'{"jsonrpc":"3.0","id":1,"method":"ping"}', {-32600}),
    "empty-array": (b"[]", {-32600}),
    "null": (b"null", {-32600}),
    "number": (b"42", {-32600}),
    "two-ids": (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', {-32600}),
    "two-methods": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', {-32600}),
    "two-methods-spelled-apart": (b'{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"ping"}', {-32600}),
    "two-params": (b'{"jsonrpc":"2.0","id":1,"params":{},"method":"ping","params":{}}', {-32600}),
    "tool-null": (call(None), {-32602}),
    "tool-number": (call(7), {-32602}),
    "tool-object": (call({"a": 1}), {-32602}),
    "tool-unknown": (call("x" * 10_000), {-32602}),
    "arguments-array": (call("get_page", [1]), {-32602}),
    "arguments-string": (call("get_page", "x"), {-32602}),
    "arguments-null": (call("get_page", None), {0}),
    "method-number": (message(method=5), {-32600}),
    "method-empty": (message(method=""), {-32601}),
    "method-unknown": (message(method="x" * 100_000), {-32601}),
    "params-array": (message(method="tools/list", params=[]), {-32600}),
    "meta-string": (message(method="tools/list", params={"_meta": "x"}), {-32602}),
    "depth": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 100_000, {-32700}),
    "closed-depth": (b"[" * 100_000 + b"]" * 100_000, {-32700}),
    "depth-in-arguments": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_page","arguments":{"slug":'
        + b"[" * 190
        + b"]" * 190
        + b"}}}",
        {0, -32700},
    ),
    "id-float": (message(id=1.5, method="ping"), {-32600}),
    "id-null": (message(id=None, method="ping"), {-32600}),
    "id-object": (message(id={}, method="ping"), {-32600}),
    "id-boolean": (message(id=True, method="ping"), {-32600}),
    "nan": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_page","arguments":{"slug":NaN}}}',
        {-32700},
    ),
    "infinity": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}', {-32700}),
    "1e400": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"km-search","arguments":{"query":"a","limit":1e400}}}',
        {0, -32700},
    ),
    "huge-integer": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"km-search","arguments":{"query":"a","limit":'
        + b"9" * 5000
        + b"}}}",
        {0, -32700},
    ),
    "invalid-utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xff\xfe"}}', {-32700}),
    "overlong-utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xc0\xaf"}}', {-32700}),
    "byte-order-mark": (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', {-32700}),
    "utf-16": (message(method="ping").decode().encode("utf-16").replace(b"\n", b" "), {-32700}),
    "lone-surrogate": (call("get_page", {"slug": "\ud800"}), {-32700}),
    "nul": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}\x00', {-32700}),
    "batch": (b"[" + message(method="ping") + b"]", {-32600}),
    "batch-of-notifications": (b'[{"jsonrpc":"2.0","method":"notifications/initialized"}]', {-32600}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_invalid_message_gets_the_right_error(target: AttackTarget, case: str) -> None:
    data, expected = BROKEN[case]
    shot = send(target, data)
    assert isinstance(shot.reply, dict), shot.text
    number = shot.reply.get("error", {}).get("code", 0)
    assert number in expected, shot.text
    if number == 0:
        assert shot.code == "invalid_request", shot.text
    target.assert_unharmed()


@pytest.mark.parametrize("case", ["tool-null", "tool-number", "arguments-array", "arguments-string"])
def test_an_invalid_call_of_the_stateless_era_gets_the_right_error(target: AttackTarget, case: str) -> None:
    data, expected = BROKEN[case]
    params = envelope(json.loads(data)["params"])
    shot = send(target, message(method="tools/call", params=params), modern_headers("tools/call", params))
    # Over HTTP the header is checked first and must name the tool.
    assert shot.reply["error"]["code"] in expected | {-32020}, shot.text
    target.assert_unharmed()


def test_empty_lines_are_ignored_and_empty_bodies_refused(target: AttackTarget) -> None:
    if target.web is None:
        target.process.send_bytes(b"\n\r\n   \n\t\n")
    else:
        for body in (b"", b" ", b"\n"):
            assert send(target, body).status == 400
    target.assert_unharmed()


def test_invalid_notifications_are_ignored(target: AttackTarget) -> None:
    extra: dict[str, Any]
    for method in ("tools/call", "notifications/unknown", "notifications/cancelled", "initialize", "x" * 1000):
        for extra in ({}, {"params": {"requestId": "never", "name": "get_page"}}, {"params": {"requestId": {}}}):
            data = json.dumps({"jsonrpc": "2.0", "method": method, **extra}).encode()
            if target.web is None:
                target.process.send_bytes(data + b"\n")
            else:
                assert send(target, data).status in (202, 400)
    target.assert_unharmed(entries=0)
    assert "Traceback" not in target.process.log_text


def test_edge_case_numbers_are_accepted_or_refused_by_every_argument(target: AttackTarget) -> None:
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
def test_a_duplicate_request_id_is_refused_and_the_first_call_answered(target: AttackTarget, era: Era) -> None:
    slow = {"name": "odd_slow", "arguments": {"seconds": 0.3}}
    if target.web is not None:
        pytest.skip("simultaneous HTTP requests are tested in tests/server/test_http_sessions.py")
    first = json.dumps(rpc("tools/call", envelope(slow) if era == "stateless" else slow, "same")).encode()
    replies = target.lines(first + b"\n" + first + b"\n" + first + b"\n", 3)
    assert [reply["id"] for reply in replies] == ["same"] * 3
    assert sorted("error" in reply for reply in replies) == [False, True, True]
    target.assert_unharmed()


@pytest.mark.parametrize("request_id", [12345678, "never", -1, None, {}, 1e300], ids=repr)
def test_cancelling_an_unknown_request_is_ignored(target: AttackTarget, request_id: Any) -> None:
    data = json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    ).encode()
    if target.web is None:
        target.process.send_bytes(data + b"\n")
    else:
        assert send(target, data).status in (202, 400)
    target.assert_unharmed(entries=0)


def test_ingest_works_again_after_a_cancelled_run(target: AttackTarget) -> None:
    if target.web is not None:
        pytest.skip("over HTTP a client cancels by closing the connection")
    for number in range(150):
        (target.root / "docs" / f"page-{number}.md").write_text(
            f"# Page {number}\n\n" + "words " * 2000, encoding="utf-8"
        )
    target.record_state()
    for number in range(3):
        target.process.send(rpc("tools/call", {"name": "km-ingest-trigger", "arguments": {}}, f"ingest-{number}"))
        target.process.notify("notifications/cancelled", {"requestId": f"ingest-{number}", "reason": "test"})
    for _ in range(100):  # the cancelled run may need a moment to stop
        shot = target.fire("km-ingest-trigger", {}, timeout=30)
        if shot.code is None:
            break
        time.sleep(0.1)
    assert shot.code is None, shot.text
    # It does not matter which run indexed them: the server also watches the files itself.
    for number in (0, 149):
        assert target.fire("km-graph-node", {"node_id": f"DesignDoc:docs/page-{number}.md"}).code is None
    assert "never retrieved" not in target.process.log_text
    target.assert_unharmed()


# -- two eras --------------------------------------------------------------------------------------------------------


def test_one_server_serves_both_eras_in_any_order(target: AttackTarget) -> None:
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
def test_an_unknown_version_is_refused_with_the_supported_versions(target: AttackTarget, version: str) -> None:
    params = envelope({"name": "get_page", "arguments": {"slug": "harbour"}}, version=version)
    headers = modern_headers("tools/call", params, version if version.isascii() and version else MODERN)
    shot = send(target, message(method="tools/call", params=params), headers)
    assert shot.reply["error"]["code"] in (-32022, -32020, -32602, -32600), shot.text
    if version == "2099-01-01":
        assert shot.reply["error"]["code"] == -32022
    target.assert_unharmed()


MISMATCHES: dict[str, dict[str, str]] = {
    "header-names-another-method": {"Mcp-Method": "tools/list"},
    "header-names-another-tool": {"Mcp-Name": "contextive_health"},
    "header-names-another-version": {"MCP-Protocol-Version": "2025-06-18"},
    "header-without-a-name": {"Mcp-Name": ""},
    "header-of-broken-base64": {"Mcp-Name": "=?base64?!!!?="},
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_headers_that_disagree_with_the_body_are_refused(target: AttackTarget, case: str) -> None:
    if target.web is None:
        pytest.skip("stdio has no headers")
    params = envelope({"name": "get_page", "arguments": {"slug": "harbour"}})
    shot = send(
        target, message(method="tools/call", params=params), modern_headers("tools/call", params) | MISMATCHES[case]
    )
    assert shot.status == 400, shot.text
    assert shot.reply["error"]["code"] == -32020, shot.text
    target.assert_unharmed()


def test_a_call_before_initialize_is_refused(target: AttackTarget) -> None:
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
        for wrong_headers in ({"Accept": headers["Accept"]}, headers, {**headers, "Mcp-Session-Id": "../../x"}):
            shot = target.request("POST", "/mcp", call("get_page", {"slug": "harbour"}), wrong_headers)
            assert shot.status in (400, 404), shot.text
    target.assert_unharmed()


def test_initialize_can_be_repeated_with_any_parameters(target: AttackTarget) -> None:
    odd: list[dict[str, Any]] = [{}, {"protocolVersion": 5}, {"protocolVersion": {}}, handshake("x")]
    for params in (*odd, {**handshake(), "capabilities": []}):
        send(target, message(id="again", method="initialize", params=params), {"Accept": "text/event-stream"})
    target.assert_unharmed(entries=0)


# -- cursors and states ----------------------------------------------------------------------------------------------

LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def forged(cursor: str) -> Iterator[str]:
    """Yield cursors that are changed, cut, lengthened, or built by someone who knows the format."""
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
def test_a_forged_cursor_of_a_list_is_refused(target: AttackTarget, method: str, era: Era) -> None:
    cursor = target.ask(method, era=era).reply["result"]["nextCursor"]
    others = [other for other in LISTS if other != method]
    foreign = [target.ask(other).reply["result"]["nextCursor"] for other in others]
    target.shots.clear()
    for wrong in [*forged(cursor), *foreign]:
        shot = target.ask(method, {"cursor": wrong}, era=era)
        assert shot.code == "invalid_cursor", (wrong, shot.text)
    target.assert_unharmed()
    assert target.ask(method, {"cursor": cursor}, era=era).code is None
    target.record_state()


@pytest.mark.parametrize("era", ERAS)
def test_a_forged_cursor_of_a_tool_is_refused(target: AttackTarget, era: Era) -> None:
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


def test_a_request_state_that_is_forged_or_from_another_call_is_refused(target: AttackTarget) -> None:
    params = envelope({"name": "odd_ask", "arguments": {}}, capabilities={"elicitation": {}})
    headers = modern_headers("tools/call", params)
    asked = send(target, message(method="tools/call", params=params), headers).reply["result"]
    state, key = asked["requestState"], next(iter(asked["inputRequests"]))
    answer = {key: {"action": "accept", "content": {"name": "x"}}}
    for wrong in (state[:-4], state[::-1], "A" + state, "garbage", "", "x" * 100_000, state.swapcase()):
        again = {**params, "requestState": wrong, "inputResponses": answer}
        shot = send(target, message(method="tools/call", params=again), headers)
        assert shot.reply["error"]["code"] == -32602, (wrong, shot.text)
    elsewhere = {**params, "name": "odd_slow", "requestState": state, "inputResponses": answer}
    shot = send(target, message(method="tools/call", params=elsewhere), modern_headers("tools/call", elsewhere))
    assert "error" in shot.reply, shot.text
    target.assert_unharmed()
