"""Python in the documentation works: blocks marked `run` run, and the plugin of docs/packs.md is a real package."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.processes import clean_environment

from .pages import Block, blocks, blocks_of


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_blocks_compile(block: Block) -> None:
    ast.parse(block.text)


@pytest.mark.parametrize("block", [block for block in blocks("python") if "run" in block.info.split()], ids=str)
def test_marked_python_blocks_run(block: Block, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(block.text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def test_there_are_python_blocks_that_run() -> None:
    assert {block.page for block in blocks("python") if "run" in block.info.split()} >= {"docs/architecture.md"}


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The package of docs/packs.md, laid out as an installer would do it."""
    site = tmp_path / "site"
    site.mkdir()
    files = {block.file: block.text for block in blocks_of("docs/packs.md") if block.file}
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    for name, text in files.items():
        if name.endswith(".py"):
            (site / name).write_text(text, encoding="utf-8")
        else:
            (tmp_path / name).write_text(text, encoding="utf-8")
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *map(_entry, entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8"
    )
    return tmp_path


def _entry(item: tuple[str, str]) -> str:
    return f"{item[0]} = {item[1]}"


def _contextive(plugin: Path, *arguments: str, trusted: bool = True) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(plugin / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "contextive", *arguments, *(["--config", "contextive.config.yaml"] if trusted else [])],
        cwd=plugin,
        env=clean_environment({"PYTHONPATH": path, "XDG_CONFIG_HOME": str(plugin / "user")}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_the_plugin_of_the_packs_page_is_loaded(plugin: Path) -> None:
    checked = _contextive(plugin, "check", "--json")
    assert checked.returncode == 0, checked.stderr
    report = json.loads(checked.stdout)
    assert report["plugins"] == {"loaded": ["glossary"], "left_out": {}}
    assert "glossary_define" in report["tools"]


def test_the_plugin_of_the_packs_page_answers(plugin: Path) -> None:
    answer = subprocess.run(
        [
            sys.executable,
            "-m",
            "contextive",
            "call",
            "--config",
            "contextive.config.yaml",
            "glossary_define",
            "--term",
            "Pack",
        ],
        cwd=plugin,
        env=clean_environment({"PYTHONPATH": str(plugin / "site"), "XDG_CONFIG_HOME": str(plugin / "user")}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == {"term": "pack", "meaning": "A set of tools, resources and prompts."}


def test_the_plugin_of_the_packs_page_is_not_loaded_by_an_untrusted_file(plugin: Path) -> None:
    checked = _contextive(plugin, "check", "--json", trusted=False)
    assert checked.returncode == 0, checked.stderr
    report = json.loads(checked.stdout)
    assert report["plugins"]["loaded"] == []
    assert [item["key"] for item in report["ignored"]] == ["toolPacks.glossary"]
