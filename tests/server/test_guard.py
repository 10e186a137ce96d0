"""`RequestGuard` alone: headers, ports, late bodies, and exceptions of the application."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from contextive.config import Config
from contextive.server import guard
from contextive.server.auth import Authenticator
from contextive.server.browser_sessions import BrowserSessions
from contextive.server.connections import BODY_ARRIVED_KEY
from contextive.server.guard import RequestGuard, RequestPolicy
from contextive.server.headers import RequestHeaders
from contextive.server.logs import FIELDS
from contextive.server.rate_limits import CallerLimits
from contextive.server.site_requests import SiteAccess
from tests.async_tests import run_async
from tests.registry.property_tests import property_test

NAMES = st.sampled_from([b"host", b"origin", b"accept", b"authorization"])
JSON = (b"content-type", b"application/json")
FRIEND = "https://friend.example"
NAVIGATION = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@property_test
@given(st.lists(st.tuples(NAMES, st.binary(max_size=3)), max_size=6))
def test_headers_are_the_same_as_starlette_finds(raw: list[tuple[bytes, bytes]]) -> None:
    ours, theirs = RequestHeaders({"headers": raw}), Headers(raw=raw)
    for name in (b"host", b"origin", b"accept", b"authorization", b"cookie"):
        text = name.decode()
        assert ours.get(name) == theirs.get(text)
        assert ours.get_all(name) == theirs.getlist(text)
        assert (name in ours) == (text in theirs)


@property_test
@example("[::1]:80")
@example("localhost:²")
@example("a:80:")
@given(st.text("ab:.[]019²٣\n", max_size=8))
def test_a_port_is_digits_after_the_last_colon(host: str) -> None:
    assert guard._without_port(host) == re.sub(r":[0-9]*\Z", "", host)


class Exchange:
    """One request to a `RequestGuard` in front of `app`."""

    def __init__(
        self,
        app: Any,
        *parts: bytes,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        is_complete: bool = False,
        method: str = "POST",
        path: str = "/mcp",
    ) -> None:
        policy = RequestPolicy("127.0.0.1", frozenset(), frozenset({FRIEND}), 10)
        limits = CallerLimits.of(Config())
        site = SiteAccess(BrowserSessions(), Authenticator)
        self._guard = RequestGuard(app, policy=policy, authenticator=Authenticator, limits=lambda: limits, site=site)
        self._parts = list(parts)
        self.answer: list[Message] = []
        self.scope: Scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(b"host", b"localhost"), JSON, *headers],
        }
        if is_complete:
            self.scope[BODY_ARRIVED_KEY] = True

    async def receive(self) -> Message:
        if not self._parts:
            await asyncio.sleep(60)
        body = self._parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": not body.endswith(b".")}

    async def send(self, message: Message) -> None:
        self.answer.append(message)

    async def run(self) -> tuple[int, Any]:
        await self._guard(self.scope, self.receive, self.send)
        head, body = self.answer[0], b"".join(message.get("body", b"") for message in self.answer[1:])
        return head["status"], json.loads(body) if body else None


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": json.dumps(body.decode()).encode()})


HEADERS = [(b"content-type", b"application/json")]


##= docs/spec/host.md#requests
##% A body that does not arrive in time MUST be refused.
@run_async
async def test_a_body_that_stops_halfway_is_refused_after_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.1)
    for parts in ((), (b"half",)):
        async with asyncio.timeout(30):
            status, body = await Exchange(echo, *parts).run()
        assert (status, body["error"]["message"]) == (400, "The body did not arrive in time.")


@run_async
async def test_a_body_is_read_whole_whether_it_arrived_at_once_or_in_parts() -> None:
    assert await Exchange(echo, b"all.", is_complete=True).run() == (200, "all.")
    assert await Exchange(echo, b"a", b"ll", b".").run() == (200, "all.")


@run_async
@pytest.mark.parametrize("parts", [(b"01234567890.",), (b"0123456789", b"0.")])
async def test_a_body_over_the_limit_is_refused_either_way(parts: tuple[bytes, ...]) -> None:
    for is_complete in (False, True):
        status, body = await Exchange(echo, *parts, is_complete=is_complete).run()
        assert (status, body["error"]["code"]) == (413, "too_large")


##= docs/spec/host.md#requests
##% Every response MUST include a request id.
@run_async
@pytest.mark.parametrize(("given", "kept"), [(b"mine-1", True), (b"", False), (b"a b", False), (b"x" * 65, False)])
async def test_the_request_id_is_added_without_changing_the_list_of_the_application(given: bytes, kept: bool) -> None:
    exchange = Exchange(echo, b".", headers=((b"x-request-id", given),))
    await exchange.run()
    [found] = [value for name, value in exchange.answer[0]["headers"] if name == b"x-request-id"]
    assert (found == given) is kept
    assert re.fullmatch(r"mine-1|[0-9a-f]{32}", found.decode())
    assert HEADERS == [JSON]


@run_async
async def test_an_exception_is_answered_without_its_text_and_logged_with_the_request_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fault(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ValueError("internal details")

    with caplog.at_level(logging.ERROR):
        status, body = await Exchange(fault, b".").run()
    assert (status, body["error"]["code"]) == (500, "internal_error")
    assert "internal details" not in json.dumps(body)
    [line] = [record for record in caplog.records if record.exc_info]
    assert getattr(line, FIELDS)["requestId"] == body["request_id"]


##= docs/spec/host.md#requests
##% A link from another site MUST be able to open a web page of the server, and nothing else.
@run_async
@pytest.mark.parametrize(
    ("method", "path", "changed", "status"),
    [
        ("GET", "/specs", {}, 200),
        ("GET", "/specs", {"sec-fetch-site": "same-site"}, 200),
        ("GET", "/page/below", {}, 403),
        ("GET", "/api/v1/tools", {}, 403),
        ("GET", "/healthz", {}, 403),
        ("POST", "/specs", {}, 403),
        ("GET", "/specs", {"sec-fetch-dest": "iframe"}, 403),
        ("GET", "/specs", {"sec-fetch-dest": "image", "sec-fetch-mode": "no-cors"}, 403),
        ("GET", "/specs", {"sec-fetch-mode": "cors"}, 403),
        ("GET", "/api/v1/tools", {"sec-fetch-mode": "cors", "origin": FRIEND}, 200),
        ("GET", "/api/v1/tools", {"sec-fetch-mode": "cors", "origin": "http://localhost:5173"}, 403),
        ("GET", "/api/v1/tools", {"sec-fetch-site": "same-origin"}, 200),
        ("GET", "/api/v1/tools", {"sec-fetch-site": "none"}, 200),
    ],
)
async def test_a_link_on_another_site_opens_html_pages_and_nothing_else(
    method: str, path: str, changed: dict[str, str], status: int
) -> None:
    headers = tuple((name.encode(), value.encode()) for name, value in {**NAVIGATION, **changed}.items())
    found, _ = await Exchange(echo, b".", headers=headers, method=method, path=path).run()
    assert found == status
