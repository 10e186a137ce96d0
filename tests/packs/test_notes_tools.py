"""The notes pack over MCP and the command line, and answers written by the model of the client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import InvalidCursor, InvalidRequest
from contextive.ingest.notes_privacy import may_send_to_model
from contextive.ingest.notes_service import NotesService
from contextive.packs.notes import tools
from contextive.packs.notes.schemas import ConnectionsInput, PageInput, PagesInput
from contextive.registry import OWNER_AS_READER, Context, Services
from contextive.registry.budget import estimated_tokens
from tests.ingest.test_notes_service import write
from tests.plugins.packages import write_config
from tests.processes import clean_environment
from tests.raw_clients import StdioClient, envelope, rpc

ADMIN = "admin-token-fedcba9876543210"
SAMPLING: dict[str, Any] = {"sampling": {}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "notes/tokens.md", "---\ntitle: Tokens\n---\nTokens expire daily.\nSee [[missing]].\n")
    write(tmp_path, "notes/private/plans.md", "Tokens of mine expire never.\n")
    write(tmp_path, ".gitignore", "notes/private/\n")
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture
def pipe(folder: Path) -> Iterator[StdioClient]:
    config = write_config(folder / "own.json", {"notes": {"askClientModel": True}})
    with StdioClient("serve", "--stdio", "--config", str(config), cwd=folder, env={"KM_ADMIN_TOKEN": ADMIN}) as running:
        yield running


def call(pipe: StdioClient, tool: str, **arguments: Any) -> Any:
    return pipe.result("tools/call", {"name": tool, "arguments": arguments})


def test_pages_are_written_and_read_over_mcp(pipe: StdioClient, folder: Path) -> None:
    pipe.initialize()
    created = call(pipe, "create_page", title="New Page", content="[[tokens]]")["structuredContent"]
    page = call(pipe, "get_page", slug="Tokens")["structuredContent"]
    assert page["backlinks"] == ["new-page"]
    assert (folder / "notes/new-page.md").is_file()
    conflict = call(pipe, "update_page", slug="new-page", version="0" * 16, content="x")
    assert conflict["isError"] is True
    assert "conflict" in conflict["content"][0]["text"]
    assert call(pipe, "update_page", slug="new-page", version="", content="x")["isError"] is True
    call(pipe, "update_page", slug="new-page", version=created["version"], content="changed by mcp")
    assert "changed by mcp" in (folder / "notes/new-page.md").read_text(encoding="utf-8")


##= docs/spec/notes.md#list-pages
##% Problems with the files of notes MUST be reported in `problems`.
def test_two_notes_with_the_same_slug_are_reported(pipe: StdioClient, folder: Path) -> None:
    write(folder, "notes/z/tokens.md", "another")
    pipe.initialize()
    listed = call(pipe, "list_pages")["structuredContent"]
    assert listed["problems"] == [
        "notes/z/tokens.md: the slug 'tokens' is used by notes/tokens.md; the note is shown as 'notes-z-tokens'"
    ]
    assert {page["slug"] for page in listed["pages"]} == {"tokens", "plans", "notes-z-tokens"}


def _sampling_reply(request: dict[str, Any], text: str) -> dict[str, Any]:
    content = {
        "role": "assistant",
        "content": {"type": "text", "text": text},
        "model": "theirs",
        "stopReason": "endTurn",
    }
    return {"jsonrpc": "2.0", "id": request["id"], "result": content}


def test_the_clients_model_answers_during_a_call(pipe: StdioClient) -> None:
    pipe.initialize(capabilities=SAMPLING)
    pipe.send(rpc("tools/call", {"name": "ask", "arguments": {"question": "When do tokens expire?"}}, 7))
    question = pipe.receive()
    assert question["method"] == "sampling/createMessage"
    prompt = json.dumps(question["params"])
    assert "Tokens expire daily." in prompt
    assert "of mine" not in prompt, "ignored files are not sent"
    pipe.send(_sampling_reply(question, "Daily [1], or never [2] [[plans]]."))
    answer = pipe.reply_to(7)["result"]["structuredContent"]
    assert answer["answer"] == "Daily [1], or never plans."
    assert answer["sources"] == [
        {"number": 1, "slug": "tokens", "title": "Tokens", "path": "notes/tokens.md", "lines": [4, 5]}
    ]
    assert answer["model"] == "theirs"


def test_a_stateless_client_gets_the_question_as_the_result(pipe: StdioClient) -> None:
    arguments = {"name": "ask", "arguments": {"question": "When do tokens expire?"}}
    first = pipe.ask("tools/call", envelope(arguments, capabilities=SAMPLING))["result"]
    assert first["resultType"] == "input_required"
    (key,) = first["inputRequests"]
    reply = {"role": "assistant", "content": {"type": "text", "text": "Daily [1]."}, "model": "theirs"}
    again = {**arguments, "inputResponses": {key: reply}, "requestState": first.get("requestState")}
    again = {name: value for name, value in again.items() if value is not None}
    second = pipe.ask("tools/call", envelope(again, capabilities=SAMPLING))["result"]
    assert second["structuredContent"]["answer"] == "Daily [1]."


def test_ask_without_any_model_is_an_error(pipe: StdioClient) -> None:
    pipe.initialize()
    answer = call(pipe, "ask", question="When do tokens expire?")
    assert answer["isError"] is True
    assert "AI search is not available" in answer["content"][0]["text"]


def test_the_model_is_not_called_without_relevant_notes(pipe: StdioClient) -> None:
    pipe.initialize(capabilities=SAMPLING)
    answer = call(pipe, "ask", question="Where do zebras sleep?")["structuredContent"]
    assert answer == {"answer": "No relevant information found in the knowledge base.", "sources": []}


def test_the_command_line_calls_the_same_tools(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "contextive", "call", "get_page", "--slug", "tokens"],
        cwd=folder,
        env=clean_environment({"XDG_CONFIG_HOME": str(folder)}),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert "Tokens expire daily." in done.stdout


##= docs/spec/notes.md#list-pages
##% Pages beyond the budget, or beyond 10,000 in the full form, MUST be returned in parts, with a cursor for the next
##% part.
def test_a_long_list_is_paged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_MAX_PAGES", 2)
    write(folder, "notes/third.md", "x")
    ctx = Context(OWNER_AS_READER, Services(NotesService(folder)), "1", "test")
    first = tools.list_pages(PagesInput(cursor=None), ctx)
    second = tools.list_pages(PagesInput(cursor=first.next_cursor), ctx)
    assert len({page["slug"] for page in first.pages + second.pages}) == 3
    assert second.next_cursor is None
    with pytest.raises(InvalidCursor):
        tools.list_pages(PagesInput(cursor="made up"), ctx)


def test_a_page_of_the_list_has_as_many_pages_as_fit(folder: Path) -> None:
    for number in range(200):
        write(
            folder, f"notes/a-page-with-a-rather-long-name-{number}.md", f"# A page with a rather long title {number}"
        )
    ctx = Context(OWNER_AS_READER, Services(NotesService(folder)), "1", "test")
    first = tools.list_pages(PagesInput(), ctx)
    assert estimated_tokens(first.model_dump(exclude_none=True)) <= 2_500
    second = tools.list_pages(PagesInput(cursor=first.next_cursor), ctx)
    full = tools.list_pages(PagesInput(detail="full"), ctx)
    assert first.pages + second.pages == full.pages[: len(first.pages) + len(second.pages)]
    assert (first.total, full.total, full.next_cursor) == (len(full.pages), None, None)


##= docs/spec/notes.md#get-page
##% A page of more than 4,000 tokens MUST be returned in parts, with the `next_offset` of the next part.
def test_a_long_page_comes_in_parts(folder: Path) -> None:
    text = "".join(f"Sentence {number} of a long page.\n" for number in range(1_000))
    write(folder, "notes/long.md", text)
    ctx = Context(OWNER_AS_READER, Services(NotesService(folder)), "1", "test")
    parts, offset = [], 0
    while True:
        page = tools.get_page(PageInput(slug="long", offset=offset), ctx)
        assert estimated_tokens(page.model_dump(exclude_none=True)) <= 4_000
        parts.append(page.content)
        if page.next_offset is None:
            break
        offset = page.next_offset
    assert len(parts) > 1
    assert "".join(parts) == text == tools.get_page(PageInput(slug="long", detail="full"), ctx).content
    with pytest.raises(InvalidRequest):
        tools.get_page(PageInput(slug="long", offset=len(text) + 1), ctx)


def test_the_graph_around_a_busy_page_has_its_best_connected_neighbours(folder: Path) -> None:
    slugs = [f"a-neighbour-with-a-rather-long-name-{number}" for number in range(120)]
    write(folder, "notes/hub.md", "".join(f"[[{slug}]]\n" for slug in slugs))
    for slug in slugs:
        write(folder, f"notes/{slug}.md", f"[[{slugs[7]}]]")
    ctx = Context(OWNER_AS_READER, Services(NotesService(folder)), "1", "test")
    answer = tools.get_connections(ConnectionsInput(slug="hub"), ctx)
    assert estimated_tokens(answer.model_dump(exclude_none=True)) <= 2_500
    graph = answer.localGraph
    assert [node["id"] for node in graph["nodes"][:2]] == ["hub", slugs[7]]
    shown = {node["id"] for node in graph["nodes"]}
    assert {end for edge in graph["edges"] for end in edge.values()} <= shown
    assert len(graph["nodes"]) + graph["omitted"] == 121


##= docs/spec/notes.md#data-sent-to-models
##% A note that git or `.contextiveignore` ignores MUST NOT be sent to a model.
def test_ignored_files_and_files_named_like_secrets_are_not_sent(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    root = tmp_path / "inner"
    write(tmp_path, ".gitignore", "inner/notes/a.md\n")
    write(root, "notes/.gitignore", "b*\n!bb.md\n")
    write(root, ".contextiveignore", "c.md\n!a.md\n")
    answers = {
        name: may_send_to_model(root, f"notes/{name}") for name in ("a.md", "b.md", "bb.md", "c.md", "d.md", "id_rsa")
    }
    assert answers == {"a.md": True, "b.md": False, "bb.md": True, "c.md": False, "d.md": True, "id_rsa": False}


##= docs/spec/notes.md#list-pages
##% With `tag` or `folder`, only the pages with this tag, or below this folder, MUST be listed.
##= docs/spec/notes.md#get-page
##% Except in the profile `nexus`, a page MUST have its path, tags, aliases and dates.
def test_pages_have_path_tags_and_dates_and_are_filtered_by_them(tmp_path: Path) -> None:
    write(tmp_path, "notes/a.md", "---\naliases: [Alpha]\ncreated_at: 2026-03-01\n---\n#history/computing\n")
    write(tmp_path, "notes/deep/b.md", "---\ntags: [pump]\n---\nB\n")
    ctx = Context(OWNER_AS_READER, Services(NotesService(tmp_path)), "request", "test")
    page = tools.get_page(PageInput(slug="a"), ctx)
    assert (page.path, page.tags, page.aliases) == ("notes/a.md", ["history/computing"], ["Alpha"])
    assert page.created_at == "2026-03-01"
    assert page.updated_at is not None

    def slugs(**filters: Any) -> list[str]:
        return [entry["slug"] for entry in tools.list_pages(PagesInput(**filters), ctx).pages]

    assert slugs(tag="#History") == ["a"]
    assert slugs(tag="hist") == []
    assert slugs(folder="notes/deep/") == ["b"]
    nexus = Context(OWNER_AS_READER, ctx.services, "request", "test", profile="nexus")
    assert tools.list_pages(PagesInput(tag="pump"), nexus).pages == [{"slug": "b", "title": "b"}]


##= docs/spec/notes.md#search
##% Pages found by words MUST come before pages that an index with embeddings finds by meaning alone.
##= docs/spec/notes.md#search
##% If no page is relevant, a search MUST return an empty array and name the best weak match in `nearest`.
def test_a_search_finds_pages_by_words_and_says_when_there_is_none(folder: Path) -> None:
    with StdioClient("serve", "--stdio", "--profile", "nexus", cwd=folder) as pipe:
        pipe.initialize()
        found = call(pipe, "search", query="tokens expire")["structuredContent"]["results"]
        nothing = call(pipe, "search", query="zxqv wvutq")["structuredContent"]
    assert found[0]["slug"] == "tokens"
    assert nothing["results"] == []


##= docs/spec/notes.md#search
##% An empty answer MUST say what else to try, and name only tools that the caller has.
def test_an_empty_answer_names_no_tool_that_the_caller_lacks(folder: Path) -> None:
    with StdioClient("serve", "--stdio", "--profile", "nexus", cwd=folder) as pipe:
        pipe.initialize()
        answer = call(pipe, "search", query="zxqv wvutq")
    assert "km-search" not in str(answer)
