"""The example of a third-party pack: installed with pip, enabled in a configuration, used over stdio and by `call`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugins.packages import python_path, write_config
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, StdioClient

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "third-party-pack"
CHANGELOG = """\
# Changelog

## [Unreleased]

## [1.2.0] - 2026-11-01
### Added
- A second thing
  over two lines.
- A third thing.
### Fixed
- What was broken.

## [1.1.0] - 2026-10-01
### Added
- The first thing.
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed by pip into a separate directory without an index."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(EXAMPLE)],
        check=True,
        env=clean_environment(),
        timeout=120,
    )
    return target


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "docs").mkdir()
    (folder / "docs" / "CHANGES.md").write_text(CHANGELOG, encoding="utf-8")
    settings = {"changelog": "docs/CHANGES.md"}
    write_config(folder / "config.json", {"toolPacks": {"release-notes": {"settings": settings}}})
    return folder


@pytest.fixture(scope="module")
def pipe(site: Path, project: Path) -> Iterator[StdioClient]:
    arguments = ("serve", "--stdio", "--config", str(project / "config.json"))
    with StdioClient(*arguments, cwd=project, env=python_path(site)) as running:
        running.initialize()
        yield running


def call(site: Path, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, "call", "--config", str(project / "config.json"), "release_notes", *arguments],
        cwd=project,
        env=clean_environment(python_path(site)),
        capture_output=True,
        text=True,
        timeout=30,
    )


##= docs/spec/host.md#startup
##% At every start, the server MUST register the packs, resources and prompts that the configuration enables.
##= docs/spec/host.md#discovery
##% Packs of installed packages MUST be found through entry points in the group `contextive.packs`.
##= docs/spec/host.md#discovery
##% Every enabled pack MUST be registered with the MCP server.
def test_the_tool_of_the_pack_is_listed_and_answers_over_stdio(pipe: StdioClient) -> None:
    assert "release_notes" in [tool["name"] for tool in pipe.result("tools/list")["tools"]]
    answer = pipe.call("release_notes", {"version": "1.2.0"})["structuredContent"]
    assert answer == {
        "version": "1.2.0",
        "date": "2026-11-01",
        "changes": {"Added": ["A second thing over two lines.", "A third thing."], "Fixed": ["What was broken."]},
        "other_versions": ["Unreleased", "1.1.0"],
    }


def test_its_resource_is_listed_read_and_completed(pipe: StdioClient) -> None:
    uris = [resource["uri"] for resource in pipe.result("resources/list")["resources"]]
    assert "release-notes:///1.1.0" in uris
    (content,) = pipe.result("resources/read", {"uri": "/1.1.0"})["contents"]
    assert "- The first thing." in content["text"]
    assert pipe.error("resources/read", {"uri": "release-notes:///9"})["code"] == -32002
    ref = {"type": "ref/resource", "uri": "release-notes:///{version}"}
    params = {"ref": ref, "argument": {"name": "version", "value": "1."}}
    assert pipe.result("completion/complete", params)["completion"]["values"] == ["1.2.0", "1.1.0"]


def test_its_prompt_quotes_the_release(pipe: StdioClient) -> None:
    params = {"name": "announce_release", "arguments": {"version": "1.2.0"}}
    (message,) = pipe.result("prompts/get", params)["messages"]
    assert "> - What was broken." in message["content"]["text"]


def test_its_error_messages_reach_the_caller_unchanged(pipe: StdioClient) -> None:
    result = pipe.call("release_notes", {"version": "9.9.9"})
    error = json.loads(result["content"][0]["text"])["error"]
    assert error["code"] == "not_found"
    assert error["hint"] == "Releases: Unreleased, 1.2.0, 1.1.0."


##= docs/spec/host.md#declaration
##% A tool MUST be declared once, and every transport offers it from that declaration.
def test_the_command_line_calls_it_in_its_own_process(site: Path, project: Path) -> None:
    done = call(site, project, "--version", "1.1.0")
    assert done.returncode == 0
    assert json.loads(done.stdout)["changes"] == {"Added": ["The first thing."]}
    missing = call(site, project, "--version", "9.9.9")
    assert missing.returncode == 1
    assert missing.stderr == (
        "contextive-mcp: The changelog has no such release. Releases: Unreleased, 1.2.0, 1.1.0.\n"
    )


def test_its_readme_names_its_tools_resources_and_prompts() -> None:
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    for name in ("release_notes", "release-notes:///{version}", "announce_release", "contextive.packs"):
        assert name in text
