"""The skills extension: the same skills in both eras and on both transports, as resources and as prompts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextive.notes.front_matter import parse_front_matter
from contextive.packs import BUILTIN, load_builtin
from contextive.packs.skills.catalog import all_skills
from contextive.registry import Registry, Scope
from contextive.server.profiles import PROFILES
from tests.raw_clients import StdioClient, envelope, serving_http
from tests.server.conftest import ServerFactory

EXTENSION = "io.modelcontextprotocol/skills"
NAMES = ["contextive-cite", "contextive-implement", "contextive-notes", "contextive-review"]
CANARY = "kingfisher"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a specification and a note, and a word that must not reach a skill."""
    folder = tmp_path_factory.mktemp(CANARY)
    for path, text in {
        "specs/tea.md": f"# {CANARY}\n\nThe {CANARY} MUST be hot.\n",
        "notes/tea.md": f"# {CANARY}\n\nAll about it.\n",
    }.items():
        (folder / path).parent.mkdir()
        (folder / path).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def running(project: Path) -> Iterator[StdioClient]:
    with StdioClient("serve", "--stdio", cwd=project) as pipe:
        pipe.initialize()
        yield pipe


def skills_of(client: StdioClient, era: str) -> dict[str, Any]:
    result: dict[str, Any] = client.result("skills/list", envelope() if era == "stateless" else {})
    return result


##= docs/spec/host.md#skills
##% The server MUST declare the extension `io.modelcontextprotocol/skills` to every caller who is offered a skill.
def test_the_extension_is_declared_in_both_eras(project: Path, running: StdioClient) -> None:
    with StdioClient("serve", "--stdio", cwd=project) as pipe:
        assert pipe.initialize()["capabilities"]["extensions"] == {EXTENSION: {}}
    assert running.result("server/discover", envelope())["capabilities"]["extensions"] == {EXTENSION: {}}


##= docs/spec/host.md#skills
##% The methods `skills/list` and `skills/get` MUST return the front matter of a skill, and the URI, digest and size of its
##% files.
@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_a_client_can_verify_every_file_of_a_listed_skill(running: StdioClient, era: str) -> None:
    listed = skills_of(running, era)
    assert [skill["frontmatter"]["name"] for skill in listed["skills"]] == NAMES
    assert ("ttlMs" in listed) == ("cacheScope" in listed) == (era == "stateless")
    for skill in listed["skills"]:
        params = {"uri": skill["uri"]}
        got = running.result("skills/get", envelope(params) if era == "stateless" else params)
        assert got["skill"] == skill
        [file] = skill["resources"]
        [body] = running.result("resources/read", {"uri": file["uri"]})["contents"]
        content = body["text"].encode()
        assert body["mimeType"] == "text/markdown"
        assert (file["size"], file["digest"]) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        assert parse_front_matter(body["text"]).values == skill["frontmatter"]
        assert skill["uri"] == f"skill://{skill['frontmatter']['name']}/SKILL.md"


##= docs/spec/host.md#skills
##% Each skill MUST also be a resource and a prompt with the same text.
def test_a_skill_is_also_a_listed_resource_and_a_prompt(running: StdioClient) -> None:
    resources = {entry["uri"]: entry for entry in running.result("resources/list")["resources"]}
    prompts = {prompt["name"]: prompt for prompt in running.result("prompts/list")["prompts"]}
    for skill in skills_of(running, "handshake")["skills"]:
        name, description = skill["frontmatter"]["name"], skill["frontmatter"]["description"]
        assert resources[skill["uri"]]["name"] == prompts[name]["name"] == name
        assert resources[skill["uri"]]["description"] == prompts[name]["description"] == description
        [body] = running.result("resources/read", {"uri": skill["uri"]})["contents"]
        [message] = running.result("prompts/get", {"name": name})["messages"]
        assert body["text"].endswith(message["content"]["text"])
        assert message["content"]["text"].startswith("# ")


##= docs/spec/host.md#skills
##% The text of a skill MUST NOT contain text from the project's files.
def test_a_skill_has_the_text_of_the_package(running: StdioClient) -> None:
    for skill in all_skills():
        [body] = running.result("resources/read", {"uri": skill.uri})["contents"]
        assert body["text"].encode() == skill.content
        assert CANARY not in body["text"]


def test_skills_work_over_http(project: Path) -> None:
    with serving_http(cwd=project) as server:
        assert len(server.web.modern("skills/list").message["result"]["skills"]) == len(NAMES)
        uri = all_skills()[0].uri
        assert server.web.modern("skills/get", {"uri": uri}).message["result"]["skill"]["uri"] == uri


def test_a_skill_that_is_not_listed_can_be_read(tmp_path: Path) -> None:
    with StdioClient("serve", "--stdio", cwd=tmp_path) as pipe:
        pipe.initialize()
        assert [skill["frontmatter"]["name"] for skill in skills_of(pipe, "handshake")["skills"]] == [
            "contextive-review"
        ]
        assert pipe.result("skills/get", {"uri": "skill://contextive-notes/SKILL.md"})["skill"]


@pytest.mark.parametrize("uri", ["skill://contextive-review", "skill://no/SKILL.md", "duvet:///requirements", ""])
def test_an_unknown_skill_is_an_invalid_parameter(running: StdioClient, uri: str) -> None:
    assert running.error("skills/get", {"uri": uri})["code"] == -32602
    assert running.error("skills/get", envelope({"uri": uri}))["code"] == -32602


def test_without_skills_there_is_neither_extension_nor_method(server_factory: ServerFactory, tmp_path: Path) -> None:
    for pipe in (
        server_factory.pipe({"toolPacks": {"skills": {"enabled": False}}}),
        StdioClient("serve", "--stdio", "--profile", "duvet", cwd=tmp_path),
    ):
        with pipe:
            assert "extensions" not in pipe.initialize()["capabilities"]
            assert pipe.error("skills/list")["code"] == -32601
            assert pipe.error("skills/get", {"uri": all_skills()[0].uri})["code"] == -32601


def test_skills_name_only_tools_that_exist() -> None:
    tools = Registry(map(load_builtin, BUILTIN)).surface(PROFILES["contextive"].packs, Scope.MAINTAINER).tools
    named = {word for skill in all_skills() for word in re.findall(r"`([a-z]+(?:[_-][a-z]+)+)`", skill.instructions)}
    assert named - set(tools) == set()
    assert named >= {"explain_requirement", "km-search", "create_page"}


def test_skills_are_short() -> None:
    assert all(len(skill.content) < 2_000 and len(skill.description) < 300 for skill in all_skills())
    assert [skill.name for skill in all_skills()] == NAMES
