"""The NEXUS endpoint over real HTTP: every example of its requirements, with the specified statuses and texts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.test_notes_service import write
from tests.raw_clients import HttpClient, HttpResponse, StdioClient, WebServer, serving_http

ADMIN = "admin-token-fedcba9876543210"
READER = "reader-token-0123456789abcdef"
NOTES = {
    "getting-started.md": "---\ntitle: Getting Started\ncreated_at: 2024-01-01\n---\n# Getting Started\n\n"
    "Read [[Installation|how to install]] first, then [[missing-page]]. `[[not-a-link]]`\n",
    "installation.md": "---\ntitle: Installation\ncreated_at: 2024-01-02\n---\nBack to [[getting-started]] or on to [[faq]].\n",
    "faq.md": "---\ntitle: FAQ\ncreated_at: 2024-01-03\n---\nWhy is the sky blue? Because of scattering.\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("nexus")
    for name, text in NOTES.items():
        write(root, f"notes/{name}", text)
    return root


@pytest.fixture(scope="module")
def web(folder: Path) -> Iterator[HttpClient]:
    with serving_http(cwd=folder) as running:
        yield running.web


def call(web: HttpClient, tool: str, **given: Any) -> HttpResponse:
    return web.post("/api/mcp", {"tool": tool, "input": given})


# -- requirement 1: the manifest ---------------------------------------------------------------------------------------


##= docs/spec/notes.md#manifest
##% A GET request to `/api/mcp` MUST be answered with 200, `application/json` and a manifest of the tools.
##= docs/spec/notes.md#manifest
##% The manifest MUST contain the name, the description and the input schema of each tool.
##= docs/spec/notes.md#manifest
##% The manifest MUST list `list_pages`, `get_page`, `search`, `ask` and `get_connections` for every caller.
def test_the_manifest_lists_the_five_tools_with_descriptions_and_schemas(web: HttpClient) -> None:
    answer = web.get("/api/mcp")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert (answer.json["name"], answer.json["version"]) == ("nexus-mcp", "1.0.0")
    assert answer.json["description"]
    tools = {tool["name"]: tool for tool in answer.json["tools"]}
    assert list(tools) == ["list_pages", "get_page", "search", "ask", "get_connections"]
    for tool in tools.values():
        assert set(tool) == {"name", "description", "inputSchema"}
        assert set(tool["inputSchema"]) == {"type", "properties", "required"}
        assert tool["inputSchema"]["type"] == "object"
    assert {name: tool["inputSchema"]["required"] for name, tool in tools.items()} == {
        "list_pages": [],
        "get_page": ["slug"],
        "search": ["query"],
        "ask": ["question"],
        "get_connections": ["slug"],
    }


# -- requirement 2: list_pages -----------------------------------------------------------------------------------------


##= docs/spec/notes.md#list-pages
##% The tool `list_pages` MUST list every note with `slug` and `title` in the array `pages`.
##= docs/spec/notes.md#list-pages
##% Pages MUST be listed by creation time, newest first.
##= docs/spec/notes.md#calls
##% The output of a tool MUST be returned in the field `result` of a JSON object, that of `list_pages` and `search` as an
##% array.
def test_pages_are_listed_newest_first_with_slug_and_title(web: HttpClient) -> None:
    for body in ({"tool": "list_pages"}, {"tool": "list_pages", "input": {}}):
        answer = web.post("/api/mcp", body)
        assert (answer.status, answer.json) == (
            200,
            {
                "result": [
                    {"slug": "faq", "title": "FAQ"},
                    {"slug": "installation", "title": "Installation"},
                    {"slug": "getting-started", "title": "Getting Started"},
                ]
            },
        )


##= docs/spec/notes.md#list-pages
##% Without notes, `list_pages` MUST return an empty array.
def test_a_project_without_notes_lists_an_empty_array(tmp_path: Path) -> None:
    with serving_http(cwd=tmp_path) as running:
        assert call(running.web, "list_pages").json == {"result": []}
        assert call(running.web, "search", query="x").json == {"result": []}


# -- requirement 3: get_page -------------------------------------------------------------------------------------------


##= docs/spec/notes.md#get-page
##% The tool `get_page` MUST take `slug` and return `slug`, `title`, `content`, `outlinks` and `backlinks`.
##= docs/spec/notes.md#get-page
##% The content of a page MUST be the text of its file without the front matter.
##= docs/spec/notes.md#calls
##% A POST request to `/api/mcp` with the string `tool` and the object `input` MUST call that tool with that input.
def test_a_page_has_its_content_its_outlinks_and_its_backlinks(web: HttpClient) -> None:
    answer = call(web, "get_page", slug="getting-started")
    assert (answer.status, answer.json) == (
        200,
        {
            "result": {
                "slug": "getting-started",
                "title": "Getting Started",
                "content": NOTES["getting-started.md"].partition("---\n")[2].partition("---\n")[2],
                "outlinks": ["installation", "missing-page"],
                "backlinks": ["installation"],
            }
        },
    )


def test_a_page_is_also_found_by_title(web: HttpClient) -> None:
    assert call(web, "get_page", slug="Getting Started").json["result"]["slug"] == "getting-started"


##= docs/spec/notes.md#get-page
##% A request for a page that does not exist MUST be refused with a message that names the page and says that it was
##% not found.
##= docs/spec/notes.md#get-connections
##% For a page that does not exist, `get_connections` MUST fail in the same way as `get_page`.
##= docs/spec/notes.md#failures
##% A request for a page that does not exist MUST be answered with 404.
@pytest.mark.parametrize("tool", ["get_page", "get_connections"])
@pytest.mark.parametrize("slug", ["nope", "../faq.md/..", "/etc/passwd", "a\nb"])
def test_a_page_that_does_not_exist_is_a_404_that_names_it(web: HttpClient, tool: str, slug: str) -> None:
    answer = call(web, tool, slug=slug)
    assert (answer.status, answer.json) == (404, {"error": f"Page '{slug}' not found"})


# -- requirement 4: search ---------------------------------------------------------------------------------------------


##= docs/spec/notes.md#search
##% The tool `search` MUST take `query` and list the matching pages with `slug`, `title` and `excerpt` in the array
##% `results`.
def test_search_covers_titles_and_contents_and_returns_excerpts(web: HttpClient) -> None:
    assert call(web, "search", query="SKY blue").json == {
        "result": [{"slug": "faq", "title": "FAQ", "excerpt": "Why is the sky blue? Because of scattering.\n"}]
    }
    assert [hit["slug"] for hit in call(web, "search", query="install").json["result"]] == [
        "installation",
        "getting-started",
    ]


def test_a_search_without_matches_returns_an_empty_array(web: HttpClient) -> None:
    for query in ("zebra", "   ", "%_*", '"; DROP TABLE', "(a+)+$"):
        assert call(web, "search", query=query).json == {"result": []}


##= docs/spec/notes.md#search
##% A search MUST return at most 20 pages.
def test_a_search_returns_at_most_twenty_results(tmp_path: Path) -> None:
    for number in range(25):
        write(tmp_path, f"notes/n{number}.md", "needle")
    with serving_http(cwd=tmp_path) as running:
        assert len(call(running.web, "search", query="needle").json["result"]) == 20


# -- requirement 5: ask ------------------------------------------------------------------------------------------------


##= docs/spec/notes.md#ask
##% Without a model, `ask` MUST be refused with `AI search is not available` and a hint that says what to configure.
##= docs/spec/notes.md#data-sent-to-models
##% The model of the connected client MUST NOT write answers unless `notes.askClientModel` is true.
##= docs/spec/notes.md#failures
##% A question MUST be answered with 503 if there is no model.
def test_ask_is_refused_without_a_model(web: HttpClient) -> None:
    answer = call(web, "ask", question="Why is the sky blue?")
    assert (answer.status, answer.json) == (503, {"error": "AI search is not available"})


ASKING_SERVER = """
from pathlib import Path
from contextive.config import ConfigRequest, load_config
from contextive.errors import UpstreamError
from contextive.ingest.notes_service import NotesService
from contextive.models.ask import NOTHING_FOUND, Answer
from contextive.packs.notes.note_index import NoteIndex
from contextive.packs.notes.retrieval import IndexRetriever
from contextive.packs.notes.search_and_ask import Answerer
from contextive.server.host import Host
from contextive.server.serve import serve

class Fixed:
    def available(self, sampler=None):
        return True

    async def answer(self, question, *, sampler=None):
        notes = NoteIndex(host.index, host.services.get(NotesService))
        sources = await IndexRetriever(notes).retrieve(question, 5)
        if not sources:
            return Answer(NOTHING_FOUND)
        if "broken" in question:
            raise UpstreamError("the provider said: key sk-123 is bad")
        return Answer("It scatters [1].", tuple(enumerate(sources, 1)), "test/model")

def load():
    return load_config(ConfigRequest(project=Path.cwd(), environ={}))

host = Host(load(), mode="http")
host.services.add(Fixed(), Answerer)
serve(host, reload=load, bind_host="127.0.0.1", port=0)
"""


@pytest.fixture(scope="module")
def asking(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpClient]:
    """A server with a stand-in for a model."""
    script = tmp_path_factory.mktemp("script") / "asking_server.py"
    script.write_text(ASKING_SERVER, encoding="utf-8")
    command = (sys.executable, str(script))
    process = StdioClient(cwd=folder, command=command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        url = process.wait_for_log(lambda line: line["event"] == "serving")["url"]
        yield HttpClient(int(url.rsplit(":", 1)[1].split("/")[0]))
    finally:
        process.process.terminate()
        process.stop()


def test_an_answer_lists_its_source_notes(asking: HttpClient) -> None:
    answer = call(asking, "ask", question="Why scattering?")
    assert answer.status == 200
    assert answer.json["result"]["answer"] == "It scatters [1]."
    assert answer.json["result"]["sources"] == [
        {"slug": "faq", "title": "FAQ", "number": 1, "path": "notes/faq.md", "lines": [5, 5]}
    ]


def test_a_question_without_relevant_pages_says_so(asking: HttpClient) -> None:
    assert call(asking, "ask", question="Where do zebras sleep?").json == {
        "result": {"answer": "No relevant information found in the knowledge base.", "sources": []}
    }


##= docs/spec/notes.md#failures
##% An internal error MUST be answered with 500 and `Internal server error`, without any details.
def test_a_failing_provider_is_a_500_without_details(asking: HttpClient) -> None:
    answer = call(asking, "ask", question="Is scattering broken?")
    assert (answer.status, answer.json) == (500, {"error": "Internal server error"})


# -- requirement 6: get_connections ------------------------------------------------------------------------------------


##= docs/spec/notes.md#get-connections
##% The tool `get_connections` MUST take `slug` and return `outlinks`, `backlinks` and `localGraph`.
##= docs/spec/notes.md#get-connections
##% A node MUST have `id`, `title` and `connections`, the number of its edges in the whole graph.
def test_connections_are_outlinks_backlinks_and_the_local_graph(web: HttpClient) -> None:
    assert call(web, "get_connections", slug="getting-started").json == {
        "result": {
            "slug": "getting-started",
            "outlinks": ["installation", "missing-page"],
            "backlinks": ["installation"],
            "localGraph": {
                "nodes": [
                    {"id": "getting-started", "title": "Getting Started", "connections": 1},
                    {"id": "installation", "title": "Installation", "connections": 2},
                ],
                "edges": [{"source": "getting-started", "target": "installation"}],
            },
        }
    }


# -- requirements 7 and 8: errors and envelopes ------------------------------------------------------------------------


##= docs/spec/notes.md#calls
##% An error MUST be returned in the field `error` of a JSON object, as a message that says what was wrong.
##= docs/spec/notes.md#failures
##% A missing or unknown tool MUST be answered with 400 and a message that says so.
##= docs/spec/notes.md#failures
##% A body that is not JSON MUST be answered with 400 and `Invalid JSON body`.
##= docs/spec/notes.md#failures
##% A missing parameter MUST be answered with 400 and a message that names it.
@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{nonsense", "Invalid JSON body"),
        (b"", "Invalid JSON body"),
        (b'{"input": {}}', "Missing 'tool' field"),
        (b'{"tool": 7, "input": {}}', "Missing 'tool' field"),
        (b'{"tool": null}', "Missing 'tool' field"),
        (b'{"tool": "x"}', "Unknown tool: x"),
        (b'{"tool": "create_page", "input": {"title": "x"}}', "Unknown tool: create_page"),
        (b'{"tool": "get_page"}', "Missing required parameter: slug"),
        (b'{"tool": "get_page", "input": {"slug": ""}}', "Missing required parameter: slug"),
        (b'{"tool": "get_page", "input": {"slug": 5}}', "Missing required parameter: slug"),
        (b'{"tool": "get_connections", "input": {}}', "Missing required parameter: slug"),
        (b'{"tool": "search", "input": {}}', "Missing required parameter: query"),
        (b'{"tool": "search", "input": {"query": ["a"]}}', "Missing required parameter: query"),
        (b'{"tool": "ask", "input": {}}', "Missing required parameter: question"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_wrong_request_is_a_400_with_its_reason(web: HttpClient, body: bytes, error: str) -> None:
    answer = web.post("/api/mcp", body)
    assert (answer.status, answer.json) == (400, {"error": error})
    assert answer.headers["content-type"] == "application/json"


def test_a_body_with_jsonrpc_on_the_same_path_is_mcp(web: HttpClient) -> None:
    session = web.open_session(path="/api/mcp")
    assert session.result["serverInfo"]["name"] == "nexus-mcp"
    names = [tool["name"] for tool in session.ask("tools/list")["result"]["tools"]]
    assert names == ["list_pages", "get_page", "search", "ask", "get_connections"]
    page = session.ask("tools/call", {"name": "get_page", "arguments": {"slug": "faq"}})["result"]
    assert page["structuredContent"]["title"] == "FAQ"
    missing = session.ask("tools/call", {"name": "get_page", "arguments": {"slug": "nope"}})["result"]
    assert missing["isError"] is True
    assert "Page 'nope' not found" in missing["content"][0]["text"]
    unanswered = session.ask("tools/call", {"name": "ask", "arguments": {"question": "why?"}})["result"]
    assert unanswered["isError"] is True
    assert "AI search is not available" in unanswered["content"][0]["text"]


##= docs/spec/notes.md#failures
##% Web pages of another origin MUST NOT get an answer unless `server.allowedOrigins` names that origin.
def test_browsers_of_other_origins_are_refused_unless_configured(web: HttpClient, folder: Path, tmp_path: Path) -> None:
    origin = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    refused = web.request("OPTIONS", "/api/mcp", headers=origin)
    assert refused.status == 403
    assert "access-control-allow-origin" not in refused.headers
    plain = web.get("/api/mcp")
    assert "access-control-allow-origin" not in plain.headers
    config = tmp_path / "cors.json"
    config.write_text('{"server": {"allowedOrigins": ["https://app.example"]}}', encoding="utf-8")
    with serving_http("--config", str(config), cwd=folder) as running:
        allowed = running.web.request("OPTIONS", "/api/mcp", headers=origin)
        assert allowed.headers["access-control-allow-origin"] == "https://app.example"


# -- beyond the requirements -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    root = tmp_path_factory.mktemp("writable")
    environment = {"KM_ADMIN_TOKEN": ADMIN, "KM_READER_TOKEN": READER}
    with serving_http(cwd=root, env=environment) as running:
        yield running


def test_a_maintainer_can_write_pages_over_nexus(writable: WebServer) -> None:
    web = writable.web.as_bearer(ADMIN)
    assert len(web.get("/api/mcp").json["tools"]) == 9
    created = call(web, "create_page", title="First Page", content="Hello [[second]]").json["result"]
    assert (created["slug"], created["title"]) == ("first-page", "First Page")
    read = call(web, "get_page", slug="first-page").json["result"]
    assert (read["content"], read["version"]) == ("Hello [[second]]\n", created["version"])
    assert call(web, "create_page", title="First Page").status == 409
    changed = call(web, "update_page", slug="first-page", version=created["version"], content="Hello").json["result"]
    stale = call(web, "update_page", slug="first-page", version=created["version"], content="again")
    assert (stale.status, stale.json) == (409, {"error": "Page 'first-page' changed since it was read."})
    call(web, "create_page", title="Second", content="see [[First Page|it]]")
    renamed = call(web, "rename_page", slug="first-page", new_title="Last Page", version=changed["version"]).json[
        "result"
    ]
    assert (renamed["slug"], renamed["changed"]) == ("last-page", ["second"])
    assert call(web, "get_page", slug="second").json["result"]["content"] == "see [[Last Page|it]]\n"
    assert call(web, "delete_page", slug="last-page").json["result"]["changed"] == ["second"]
    assert call(web, "get_page", slug="second").json["result"]["content"] == "see it\n"
    assert call(web, "update_page", slug="second", version="x").status == 400


@pytest.mark.parametrize(
    ("headers", "status", "error"),
    [
        ({}, 401, "Missing credentials. Send Authorization: Bearer with a token of this server."),
        (
            {"Authorization": "Bearer wrong"},
            401,
            "The token is not known here. Ask a maintainer of this server for one.",
        ),
        ({"Origin": "https://elsewhere.example"}, 403, "The Origin is not allowed. See server.allowedOrigins."),
        ({"Content-Type": "text/plain"}, 415, "The body must be application/json. Set Content-Type."),
    ],
    ids=["no token", "wrong token", "origin", "type"],
)
def test_refused_requests_get_errors_in_the_nexus_format(
    writable: WebServer, headers: dict[str, str], status: int, error: str
) -> None:
    sent = {"Content-Type": "application/json", **headers}
    answer = writable.web.request("POST", "/api/mcp", b'{"tool": "list_pages"}', sent)
    assert (answer.status, answer.json) == (status, {"error": error})


##= docs/spec/notes.md#writing-rules
##% The tools `create_page`, `update_page`, `rename_page` and `delete_page` MUST NOT be callable by a reader.
@pytest.mark.parametrize("tool", ["create_page", "update_page", "rename_page", "delete_page"])
def test_a_reader_has_no_write_tools(writable: WebServer, tool: str) -> None:
    answer = call(writable.web.as_bearer(READER), tool, slug="x", title="x", version="x")
    assert (answer.status, answer.json) == (400, {"error": f"Unknown tool: {tool}"})


##= docs/spec/notes.md#get-page
##% A caller who may write MUST also get the `version` of a page, and a reader gets only the other five fields unless
##% something is left out.
def test_a_reader_gets_exactly_the_specified_fields(writable: WebServer) -> None:
    call(writable.web.as_bearer(ADMIN), "create_page", title="For Readers")
    page = call(writable.web.as_bearer(READER), "get_page", slug="for-readers").json["result"]
    assert set(page) == {"slug", "title", "content", "outlinks", "backlinks"}


##= docs/spec/notes.md#get-page
##% Links beyond the budget, or beyond 10,000 in the full form, MUST be left out, and `omitted` says how many.
##= docs/spec/notes.md#calls
##% An answer at `/api/mcp` MUST be complete unless the call asks for the concise form.
def test_a_page_with_too_many_links_reports_how_many_are_omitted(
    writable: WebServer,
) -> None:
    web = writable.web.as_bearer(ADMIN)
    targets = "".join(f"[[far-{number}]]\n" for number in range(10_003))
    call(web, "create_page", title="Hub", content=targets)
    for tool in ("get_page", "get_connections"):
        page = call(web, tool, slug="hub").json["result"]
        assert page["omitted"] == {"outlinks": 3}
        assert (len(page["outlinks"]), page["outlinks"][-1]) == (10_000, "far-9999")
        short = call(web, tool, slug="hub", detail="concise").json["result"]
        assert short["omitted"] == {"outlinks": 10_003 - len(short["outlinks"])}
        assert short["outlinks"] == page["outlinks"][: len(short["outlinks"])]
