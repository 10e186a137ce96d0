"""The wheel as users install it, in an empty home directory. `make wheel` runs these tests; they download packages."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from contextive import __version__
from tests.installed.conftest import Newcomer
from tests.raw_clients import StdioClient

pytestmark = pytest.mark.skipif(os.environ.get("WHEEL_TESTS") != "1", reason="make wheel runs them: they download")

LIGHT_MEGABYTES = 70
HEAVY = {"numpy", "onnxruntime", "simsimd", "tantivy", "contextive_minilm"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "pot"
    (folder / "docs").mkdir(parents=True)
    text = "# Pot\n\n## Brewing\n\nThe pot MUST refuse to brew when it holds tea.\n"
    (folder / "docs" / "pot.md").write_text(text, encoding="utf-8")
    return folder


def _packages(environment: Path) -> Path:
    (folder,) = environment.glob("lib/python*/site-packages")
    return folder


def _vectors(project: Path) -> int:
    (index,) = project.glob(".contextive/**/index.db")
    with sqlite3.connect(index) as connection:
        row = connection.execute("SELECT count(*) FROM vector").fetchone()
    connection.close()
    return int(row[0])


def test_the_light_installation_is_small_and_has_no_embeddings(newcomer: Newcomer) -> None:
    packages = _packages(newcomer.install(name="light"))
    assert not HEAVY & {path.name for path in packages.iterdir()}
    size = sum(path.stat().st_size for path in packages.rglob("*") if "__pycache__" not in path.parts)
    assert size / 1e6 <= LIGHT_MEGABYTES


def test_the_light_installation_searches_words_and_says_how_to_add_embeddings(
    newcomer: Newcomer, project: Path
) -> None:
    program = newcomer.install(name="light") / "bin" / "contextive-mcp"
    newcomer.run(program, "ingest", cwd=project)
    printed = newcomer.run(program, "search", "brew tea", cwd=project)
    assert "docs/pot.md" in printed
    assert "contextive-mcp[vectors]" in printed


def test_an_index_keeps_its_embeddings_while_a_light_installation_uses_it(newcomer: Newcomer, project: Path) -> None:
    full = newcomer.install(name="full", extra="[vectors]") / "bin" / "contextive-mcp"
    light = newcomer.install(name="light") / "bin" / "contextive-mcp"
    newcomer.run(full, "ingest", "--wait", cwd=project)
    computed = _vectors(project)
    assert computed > 0
    newcomer.run(light, "ingest", cwd=project)
    assert "docs/pot.md" in newcomer.run(light, "search", "brew tea", cwd=project)
    assert _vectors(project) == computed
    assert "0 new vectors" in newcomer.run(full, "ingest", "--wait", cwd=project)


def test_uvx_runs_the_wheel(newcomer: Newcomer) -> None:
    assert __version__ in newcomer.run("uvx", "--from", newcomer.wheel, "contextive-mcp", "--version")


def test_pipx_installs_commands_that_serve_a_client(newcomer: Newcomer, project: Path) -> None:
    newcomer.run("pipx", "install", "--quiet", newcomer.wheel)
    programs = newcomer.home / ".local" / "bin"
    assert {"contextive-mcp", "duvet"} <= {path.name for path in programs.iterdir()}
    with StdioClient(
        "serve", "--stdio", cwd=project, command=[str(programs / "contextive-mcp")], env={"HOME": str(newcomer.home)}
    ) as client:
        assert client.initialize()["serverInfo"]["version"] == __version__


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_oldest_and_the_newest_allowed_versions_serve_a_client(
    newcomer: Newcomer, project: Path, resolution: str
) -> None:
    """This covers the SDK's pin, too: the oldest and the newest version that it allows."""
    environment = newcomer.install("--resolution", resolution, name=resolution)
    command = [str(environment / "bin" / "contextive-mcp")]
    with StdioClient("serve", "--stdio", cwd=project, command=command, env={"HOME": str(newcomer.home)}) as client:
        client.initialize()
        tools = client.result("tools/list")["tools"]
        assert "orient" in [tool["name"] for tool in tools]
        found = client.call("km-search", {"query": "brew tea"})
        assert found["structuredContent"]["results"]
