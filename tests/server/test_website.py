"""The site over HTTP: headers, signing in, forms, and what other origins get."""

from __future__ import annotations

import contextlib
import http.client
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from contextive.server.live_updates import MAX_STREAMS_OF_SESSION
from contextive.server.site_requests import SECURITY_HEADERS, safe_next
from contextive.web.views import VIEWS
from tests.raw_clients import HttpClient, HttpResponse, WebServer, serving_http, wait_until
from tests.server.conftest import ADMIN, READER
from tests.web.site_project import copy_example

PAGE = {"Accept": "text/html"}
FORM = "application/x-www-form-urlencoded"
FIXED = [view.path for view in VIEWS if "{" not in view.path and view.path != "/notes/new"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example(tmp_path_factory.mktemp("site") / "parcel-locker")


@pytest.fixture(scope="module")
def open_site(project: Path) -> Iterator[WebServer]:
    env = {"CONTEXTIVE_LIMITS__RATE_REQUESTS": "0"}
    with serving_http("--project", str(project), cwd=project, env=env) as running:
        yield running


@pytest.fixture(scope="module")
def site(open_site: WebServer) -> HttpClient:
    return open_site.web


@contextlib.contextmanager
def serving_with_tokens(project: Path, **more: str) -> Iterator[HttpClient]:
    env = {"KM_READER_TOKEN": READER, "KM_ADMIN_TOKEN": ADMIN, **more}
    with serving_http("--project", str(project), cwd=project, env=env) as running:
        yield running.web


@pytest.fixture(scope="module")
def closed_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpClient]:
    """A server that needs a token."""
    with serving_with_tokens(copy_example(tmp_path_factory.mktemp("closed") / "parcel-locker")) as web:
        yield web


def post_form(web: HttpClient, path: str, fields: dict[str, str], **headers: str) -> HttpResponse:
    sent = {"Content-Type": FORM, "Origin": f"http://127.0.0.1:{web.port}", **PAGE}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    return web.request("POST", path, urlencode(fields).encode(), {k: v for k, v in sent.items() if v})


def sign_in(web: HttpClient, token: str = READER) -> str:
    """Sign in; returns the Cookie header."""
    answer = post_form(web, "/sign-in", {"token": token, "next": "/specs"})
    assert (answer.status, answer.headers["location"]) == (303, "/specs")
    return str(answer.headers["set-cookie"].partition(";")[0])


##= docs/spec/site.md#pages
##% The command `contextive-mcp serve --http` MUST serve the site at `/`.
@pytest.mark.parametrize("path", FIXED)
def test_every_view_is_served(site: HttpClient, path: str) -> None:
    answer = site.get(path, PAGE)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "<h1" in answer.text


##= docs/spec/site.md#pages
##% Every page MUST also be available as JSON, with `?format=json` or with the header `Accept: application/json`.
def test_every_page_is_also_json(site: HttpClient) -> None:
    by_query, by_header = site.get("/specs?format=json", PAGE), site.get("/specs", {"Accept": "application/json"})
    assert by_query.json == by_header.json
    assert by_query.json["specifications"][0]["id"] == "docs-spec-locker"


##= docs/spec/site.md#pages
##% Text of the project MUST be served only below fixed prefixes of the path.
def test_names_of_the_project_occur_only_below_fixed_prefixes() -> None:
    assert {view.path.partition("/{")[0] for view in VIEWS if "{" in view.path} <= {
        "/specs",
        "/requirements",
        "/code",
        "/notes",
        "/graph",
    }


##= docs/spec/site.md#security
##% Every response of the site MUST have a content security policy that allows neither inline scripts, inline styles nor
##% other hosts, and forbid framing, referrers, sniffing and use by other origins.
@pytest.mark.parametrize("path", ["/", "/specs/nowhere", "/nothing", "/assets/site.css", "/assets/nothing", "/sign-in"])
def test_every_response_has_the_security_headers(site: HttpClient, path: str) -> None:
    answer = site.get(path, PAGE)
    assert {name: answer.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_pages_have_no_inline_script_and_no_inline_style(site: HttpClient) -> None:
    for path in (*FIXED, "/specs/docs-spec-locker"):
        text = site.get(path, PAGE).text
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", text), path
        assert not re.search(r'(?:src|href)="(?:https?:)?//', text), path


def test_an_unknown_address_is_a_page_for_people_and_json_for_programs(site: HttpClient) -> None:
    assert "There is nothing at this address." in site.get("/nothing", PAGE).text
    assert site.get("/nothing").json["error"]["code"] == "not_found"
    assert site.get("/specs/nowhere").json["error"]["code"] == "not_found"


##= docs/spec/site.md#security
##% JSON and events MUST be refused when `Sec-Fetch-Site` is anything other than `same-origin` or `none`.
@pytest.mark.parametrize("other", ["cross-site", "same-site"])
def test_json_and_events_are_refused_to_other_origins(site: HttpClient, other: str) -> None:
    link = {**PAGE, "Sec-Fetch-Site": other, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert site.get("/specs", link).status == 200
    assert site.get("/specs?format=json", link).status == 403
    assert site.get("/events", link).status == 403
    assert site.get("/specs", {**link, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}).status == 403
    assert site.get("/specs?format=json", {**PAGE, "Sec-Fetch-Site": "same-origin"}).status == 200


##= docs/spec/site.md#signing-in
##% Signing in MUST exchange a valid token for a random session id of 256 bits, which is stored only as a hash and ends
##% after 12 hours, by signing out, or when the token stops working.
##= docs/spec/site.md#signing-in
##% The token MUST be sent in the body of a form, and the session id in a cookie that scripts cannot read, that other
##% sites do not send, and that is `Secure` under https.
##= docs/spec/site.md#signing-in
##% The name of the session cookie MUST contain the port, because all ports of a host share their cookies.
def test_somebody_signs_in_reads_and_signs_out(closed_site: HttpClient) -> None:
    refused = closed_site.get("/specs?part=2", PAGE)
    assert (refused.status, refused.headers["location"]) == (303, "/sign-in?next=%2Fspecs%3Fpart%3D2")
    assert closed_site.get("/specs").status == 401
    answer = post_form(closed_site, "/sign-in", {"token": READER, "next": "/specs"})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"contextive-session-{closed_site.port}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert len(cookie.partition("=")[2].partition(";")[0]) == 43  # 256 bits
    session = {"Cookie": cookie.partition(";")[0], **PAGE}
    page = closed_site.get("/specs", session)
    assert page.status == 200
    form_token = re.search(r'name="form_token" value="([0-9a-f]+)"', page.text)
    assert form_token is not None
    assert post_form(closed_site, "/sign-out", {"form_token": "0" * 64}, Cookie=session["Cookie"]).status == 403
    signed_out = post_form(closed_site, "/sign-out", {"form_token": form_token[1]}, Cookie=session["Cookie"])
    assert (signed_out.status, signed_out.headers["location"]) == (303, "/sign-in")
    assert closed_site.get("/specs", session).status == 303


def test_under_https_the_cookie_is_bound_to_the_host(closed_site: HttpClient) -> None:
    host = f"127.0.0.1:{closed_site.port}"
    answer = post_form(closed_site, "/sign-in", {"token": READER}, Origin=f"https://{host}")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"__Host-contextive-session-{closed_site.port}=")
    assert "Secure" in cookie
    assert closed_site.get("/specs", {"Cookie": cookie.partition(";")[0], **PAGE}).status == 200


##= docs/spec/site.md#signing-in
##% The session cookie MUST NOT be accepted by `/mcp`, `/api` or `/metrics`.
@pytest.mark.parametrize("path", ["/mcp", "/mcp/duvet", "/api/v1/tools", "/api/mcp", "/metrics"])
def test_the_cookie_is_worth_nothing_outside_of_the_site(closed_site: HttpClient, path: str) -> None:
    cookie = sign_in(closed_site)
    assert closed_site.get(path, {"Cookie": cookie}).status == 401


##= docs/spec/site.md#signing-in
##% A wrong token MUST count as a failed authentication of its address.
def test_guessing_tokens_is_stopped(tmp_path: Path) -> None:
    project = copy_example(tmp_path / "parcel-locker")
    with serving_with_tokens(project, CONTEXTIVE_LIMITS__AUTH_FAILURES="3") as web:
        statuses = [post_form(web, "/sign-in", {"token": f"guess-{n}"}).status for n in range(5)]
        assert statuses == [401, 401, 401, 429, 429]
        assert web.as_bearer("another").get("/api/v1/tools").status == 429


def test_a_writer_changes_a_note_and_a_reader_does_not(closed_site: HttpClient) -> None:
    reader, writer = sign_in(closed_site), sign_in(closed_site, ADMIN)
    assert closed_site.get("/notes/new", {"Cookie": reader, **PAGE}).status == 403
    form = closed_site.get("/notes/new", {"Cookie": writer, **PAGE})
    token = re.search(r'name="form_token" value="([0-9a-f]+)"', form.text)
    assert token is not None
    fields = {"title": "Spare keys", "content": "In the safe.", "tags": "", "form_token": token[1]}
    assert post_form(closed_site, "/notes/new", fields, Cookie=reader).status == 403  # the token of another session
    assert post_form(closed_site, "/notes/new", {**fields, "form_token": ""}, Cookie=writer).status == 403
    assert post_form(closed_site, "/notes/new", fields, Cookie=writer, Origin="https://evil.example").status == 403
    saved = post_form(closed_site, "/notes/new", fields, Cookie=writer)
    assert (saved.status, saved.headers["location"]) == (303, "/notes/spare-keys")
    assert "In the safe." in closed_site.get("/notes/spare-keys", {"Cookie": reader, **PAGE}).text


##= docs/spec/site.md#security
##% A change MUST be refused unless it is a POST with the Origin of the site and, after signing in, the token of its form.
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_a_form_of_another_origin_is_refused(closed_site: HttpClient, headers: dict[str, str]) -> None:
    assert post_form(closed_site, "/sign-in", {"token": READER}, **headers).status == 403


def test_a_token_in_the_address_is_refused(closed_site: HttpClient) -> None:
    assert closed_site.get(f"/?token={READER}", PAGE).status == 400
    assert closed_site.get(f"/sign-in?access_token={READER}", PAGE).status == 400


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("/specs/a?part=2", "/specs/a?part=2"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("/api/v1/tools", "/"),
        ("/specs\r\nSet-Cookie: a", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_signing_in_leads_only_to_pages_of_the_site(given: str, used: str) -> None:
    assert safe_next(given) == used


##= docs/spec/site.md#security
##% Without tokens, everybody on this machine MUST be able to read the site, and nobody to change anything with it.
def test_without_tokens_the_site_can_be_read_and_not_changed(site: HttpClient) -> None:
    assert site.get("/", PAGE).status == 200
    assert post_form(site, "/sign-out", {}).status == 403
    assert post_form(site, "/sign-in", {"token": "a"}).status == 400


def open_events(web: HttpClient) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)
    connection.request("GET", "/events")
    return connection, connection.getresponse()


def read_until(response: http.client.HTTPResponse, wanted: bytes) -> bytes:
    found = b""
    while wanted not in found:
        line = response.readline()
        assert line, found
        found += line
    return found


##= docs/spec/site.md#live-updates
##% An open page MUST learn of a saved file within two seconds, without moving what its reader looks at.
def test_a_saved_file_is_announced_within_two_seconds(site: HttpClient, project: Path) -> None:
    connection, response = open_events(site)
    try:
        read_until(response, b"event: hello")
        saved = time.monotonic()
        with (project / "docs/spec/locker.md").open("a", encoding="utf-8") as file:
            file.write("\nThe lid MUST shine.\n")
        read_until(response, b"event: change")
        assert time.monotonic() - saved < 2.0
    finally:
        connection.close()


##= docs/spec/site.md#live-updates
##% A session MUST have at most 8 event streams and the server at most 64, each with a heartbeat and ended at shutdown.
def test_a_session_has_a_limited_number_of_event_streams(tmp_path: Path) -> None:
    project = copy_example(tmp_path / "parcel-locker")
    opened: list[tuple[Any, http.client.HTTPResponse]] = []
    with serving_http("--project", str(project), cwd=project) as running:
        for _ in range(MAX_STREAMS_OF_SESSION):
            opened.append(open_events(running.web))
            read_until(opened[-1][1], b"event: hello")
        connection, refused = open_events(running.web)
        assert refused.status == 429
        connection.close()
        opened.pop()[0].close()
        wait_until(lambda: _is_accepted(running.web), "a closed stream is not counted")
        running.process.process.terminate()
        assert all(response.read() is not None for _, response in opened)  # each stream ends properly
    for connection, _ in opened:
        connection.close()


def _is_accepted(web: HttpClient) -> bool:
    connection, response = open_events(web)
    connection.close()
    return response.status == 200
