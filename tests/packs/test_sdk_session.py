"""Sessions of the SDK client with a real server process of the profile duvet, in both eras."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, ResourceTemplateReference, TextContent, TextResourceContents

from tests.ingest.projects import BREW, MILK, WARM, Project, cite, configured
from tests.packs.duvet_host import BREWING
from tests.packs.test_acceptance import NAMES
from tests.processes import clean_environment
from tests.workspace.repositories import commit, init

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
SESSION_SECONDS = 60


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return configured(tmp_path)


@asynccontextmanager
async def session(project: Project, mode: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "contextive", "serve", "--stdio", "--profile", "duvet", "--project", str(project.root)],
        env=clean_environment(),
    )
    async with asyncio.timeout(SESSION_SECONDS), Client(stdio_client(server), mode=mode) as client:
        yield client


def data(result: CallToolResult) -> Any:
    assert not result.is_error, result
    first = result.content[0]
    assert isinstance(first, TextContent)
    return json.loads(first.text)


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri, cache_mode="bypass")).contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "application/json"
    return json.loads(content.text)


##= docs/spec/host.md#tests-of-the-project
##= type=implication
##% The project MUST have a test of a whole session over stdio.
@ERAS
def test_a_session_leads_from_the_specification_to_the_code(mode: str, project: Project) -> None:
    async def run() -> None:
        async with session(project, mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools][:8] == NAMES
            specifications = await read(client, "duvet:///specifications")
            assert [entry["id"] for entry in specifications] == ["specs-coffee", "specs-tea"]
            assert specifications == await read(client, "/specifications")
            sections = await read(client, "/specifications/specs-coffee/sections")
            assert [section["id"] for section in sections] == ["coffee", "brewing", "serving"]
            (first, _) = await read(client, "/specifications/specs-coffee/sections/brewing/requirements")
            path = f"/specifications/specs-coffee/sections/brewing/requirements/{first['identifier']}"
            assert (await read(client, path))["status"] == "needs tests"
            assert await read(client, f"{path}/citations") == [{"id": "src/coffee.rs:1", "type": "implementation"}]
            assert (await read(client, f"{path}/citations/src/coffee.rs:1"))["line_number"] == 1

            found = data(await client.call_tool("search_requirements", {"query": "brew"}))
            assert (found[0]["full_path"], found[0]["text"]) == (path, BREW)
            project.write("tests/coffee.rs", cite(BREWING, BREW))
            status = data(await client.call_tool("get_requirement_status", {"req_identifier": first["identifier"]}))
            assert status["status"] == "done"

    asyncio.run(run())


##= docs/spec/host.md#tool-calls
##% A successful result MUST contain its data as structured content and the same data as text.
@ERAS
def test_every_result_matches_its_output_schema(mode: str, project: Project) -> None:
    """The SDK client validates structured results against the published schemas."""
    project.write("src/bad.rs", cite("specs/none.md#x", "Y."))
    commit(init(project.root), {}, time=1_700_000_000)

    async def run() -> None:
        async with session(project, mode) as client:
            tools = (await client.list_tools()).tools
            identifier = (await read(client, "/requirements"))[0]["identifier"]
            arguments: dict[str, dict[str, Any]] = {
                "validate_citation": {"citation": cite(BREWING, MILK)},
                "search_requirements": {"query": "pot"},
                "get_requirement_status": {"req_identifier": identifier},
                "get_citation_context": {"citation_id": "src/coffee.rs:1", "context_lines": 1},
                "resolve_spec_id": {"url": "specs/tea.md"},
                "review_changes": {"base": "HEAD"},
                "explain_requirement": {"req_identifier": identifier},
                "get_section": {"spec": "specs-tea", "section": "steeping"},
            }
            for tool in tools:
                result = await client.call_tool(tool.name, arguments.get(tool.name, {}))
                assert not result.is_error, tool.name
                assert result.structured_content is not None
                assert tool.output_schema is not None
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint is True

    asyncio.run(run())


@ERAS
def test_not_found_is_data_and_invalid_arguments_are_an_error(mode: str, project: Project) -> None:
    async def run() -> None:
        async with session(project, mode) as client:
            unknown = await client.call_tool("get_requirement_status", {"req_identifier": "0" * 64})
            assert (unknown.is_error, data(unknown)) == (False, {"error": "Requirement not found"})
            wrong = await client.call_tool("get_requirement_status", {"nonsense": 1})
            assert wrong.is_error is True
            for uri in ("/specifications/none", "file:///etc/passwd"):
                with pytest.raises(MCPError) as caught:
                    await client.read_resource(uri)
                assert str(project.root) not in str(caught.value)
            with pytest.raises(MCPError):
                await client.get_prompt("no_such_prompt")
            with pytest.raises(MCPError):
                await client.call_tool("no_such_tool")
            assert await read(client, "/citations")

    asyncio.run(run())


@ERAS
def test_templates_complete_and_prompts_render(mode: str, project: Project) -> None:
    async def run() -> None:
        async with session(project, mode) as client:
            templates = (await client.list_resource_templates()).resource_templates
            longest = max((template.uri_template for template in templates), key=len)
            reference = ResourceTemplateReference(uri=longest, type="ref/resource")
            filled: dict[str, str] = {}
            for name, expected in (("spec_id", "specs-coffee"), ("section_id", "coffee")):
                proposed = await client.complete(reference, {"name": name, "value": ""}, dict(filled) or None)
                assert proposed.completion.values[0] == expected
                filled[name] = "brewing" if name == "section_id" else expected
            proposed = await client.complete(reference, {"name": "req_identifier", "value": ""}, filled)
            assert len(proposed.completion.values) == 2
            filled["req_identifier"] = proposed.completion.values[0]
            cited = await client.complete(reference, {"name": "citation_id", "value": "src/"}, filled)
            assert cited.completion.values == ["src/coffee.rs:1"]
            names = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert names == ["implement_requirement", "cite_requirement", "review_coverage"]
            rendered = await client.get_prompt("implement_requirement", {"req_identifier": filled["req_identifier"]})
            content = rendered.messages[0].content
            assert isinstance(content, TextContent)
            assert BREW in content.text

    asyncio.run(run())


@ERAS
def test_ten_concurrent_calls_get_the_same_answer(mode: str, project: Project) -> None:
    async def run() -> None:
        async with session(project, mode) as client:
            listings = await asyncio.gather(*(client.list_resources(cache_mode="bypass") for _ in range(10)))
            assert len({tuple(resource.uri for resource in listing.resources) for listing in listings}) == 1
            answers = await asyncio.gather(*(client.call_tool("get_prioritized_requirements") for _ in range(10)))
            assert len({json.dumps(data(answer)) for answer in answers}) == 1

    asyncio.run(run())


def test_a_broken_configuration_fails_the_call_until_it_is_fixed(project: Project) -> None:
    async def run() -> None:
        async with session(project, "auto") as client:
            text = (project.root / ".duvet/config.toml").read_text(encoding="utf-8")
            project.write(".duvet/config.toml", "[")
            broken = await client.call_tool("get_prioritized_requirements")
            assert broken.is_error is True
            assert ".duvet/config.toml" in str(broken.content)
            assert str(project.root) not in str(broken.content)
            project.write(".duvet/config.toml", text)
            assert len(data(await client.call_tool("get_prioritized_requirements"))) == 4

    asyncio.run(run())


##= docs/spec/host.md#resources-and-prompts
##= type=test
##% Resources that cannot be listed MUST NOT prevent the others from being listed; the result reports what is
##% missing and why.
def test_a_broken_configuration_removes_only_its_own_resources_from_the_list(project: Project) -> None:
    async def run() -> None:
        async with session(project, "auto") as client:
            whole = await client.list_resources(cache_mode="bypass")
            text = (project.root / ".duvet/config.toml").read_text(encoding="utf-8")
            project.write(".duvet/config.toml", "[")
            rest = await client.list_resources(cache_mode="bypass")
            uris = [resource.uri for resource in rest.resources]
            assert [resource.uri for resource in whole.resources if resource.uri in uris] == uris
            assert "duvet:///requirements" in uris
            assert not any("/sections/" in uri for uri in uris)
            assert rest.meta is not None
            [error] = rest.meta["contextive/missing"]
            assert ".duvet/config.toml" in error["message"]
            project.write(".duvet/config.toml", text)
            fixed = await client.list_resources(cache_mode="bypass")
            assert fixed.resources == whole.resources
            assert "contextive/missing" not in (fixed.meta or {})

    asyncio.run(run())


def test_a_stateless_subscriber_is_notified_of_a_new_status(project: Project) -> None:
    async def run() -> None:
        async with session(project, "auto") as client:
            paths = {entry["text"]: entry["full_path"] for entry in await read(client, "/requirements")}
            uri = f"duvet://{paths[WARM]}"
            async with client.listen(resource_subscriptions=[uri]) as events:
                project.write("src/warm.rs", cite(BREWING, WARM))
                async for event in events:
                    assert getattr(event, "uri", None) == uri
                    break

    asyncio.run(run())
