"""All modules import and the reader tools work without `fcntl`, inotify, `fork` and directory handles."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conventions.source_tree import ROOT, source_modules
from tests.processes import clean_environment
from tests.raw_clients import StdioClient, handshake

BARE = {"PYTHONPATH": str(Path(__file__).with_name("bare"))}
WRITERS = {"create_page", "update_page", "rename_page", "delete_page"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "parcel-locker", folder)
    secret = tmp_path / "outside.md"
    secret.write_text("# Quillfeather\n\nNobody may read this.\n", encoding="utf-8")
    (folder / "notes" / "leads-out.md").symlink_to(secret)
    (folder / "docs" / "leads-out.md").symlink_to(secret)
    return folder


def test_the_removed_parts_are_really_missing() -> None:
    code = (
        "import os, sys; print(hasattr(os, 'O_NOFOLLOW'), hasattr(os, 'fork'), len(os.supports_dir_fd)); import fcntl"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment(BARE), capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["False", "False", "0"]
    assert "fcntl" in done.stderr


def test_every_module_can_be_imported() -> None:
    names = [module.name for module in source_modules() if not module.name.endswith("__main__")]
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", code, *names], env=clean_environment(BARE), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def call(server: StdioClient, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = server.result("tools/call", {"name": name, "arguments": arguments})
    return result


def test_the_reader_tools_of_the_default_profile_work_and_follow_no_link_outside(project: Path) -> None:
    with StdioClient("serve", "--stdio", "--project", str(project), cwd=project, env=BARE) as server:
        server.result("initialize", handshake())
        server.notify("notifications/initialized")
        offered = {tool["name"]: tool for tool in server.result("tools/list")["tools"]}
        requirement = call(server, "next_requirement", {})["structuredContent"]
        page = call(server, "list_pages", {})["structuredContent"]["pages"][0]["slug"]
        found = call(server, "km-search", {"query": "parcel locker door opens"})["structuredContent"]
        assert found["results"]
        assert requirement
        arguments: dict[str, dict[str, Any]] = {
            "get_page": {"slug": page},
            "get_connections": {"slug": page},
            "search": {"query": "Quillfeather"},
            "km-search": {"query": "Quillfeather"},
            "search_requirements": {"query": "door"},
            "km-graph-search": {"term": "locker"},
        }
        for name, tool in offered.items():
            if name in WRITERS or (name not in arguments and tool["inputSchema"].get("required")):
                continue
            answer = call(server, name, arguments.get(name, {}))
            text = str(answer)
            assert "failed with an internal error" not in text, (name, text[:500])
            assert "Nobody may read this" not in text, name
            if name in arguments:
                assert not answer.get("isError"), (name, text[:500])
        log = server.log_text
    assert "Traceback" not in log, log[-3000:]


def test_writing_is_refused_with_a_reason(project: Path) -> None:
    environment = {**BARE, "KM_ADMIN_TOKEN": "w4-9Xk2-mQ7z-Tt51-pL"}
    with StdioClient("serve", "--stdio", "--project", str(project), cwd=project, env=environment) as server:
        server.result("initialize", handshake())
        server.notify("notifications/initialized")
        answer = call(server, "create_page", {"title": "New", "content": "x"})
    assert answer["isError"]
    assert "cannot be written safely on this system" in str(answer)
    assert not list((project / "notes").glob("new*"))
