"""Writing without a token: what `--allow-writes` gives to the owner of a pipe, and what it does not."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from contextive.config import ConfigRequest, TrustStore, load_config
from contextive.packs import BUILTIN, load_builtin
from contextive.registry import Registry, Scope
from contextive.registry.registry import Surface
from tests.ingest.test_notes_service import write
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, StdioClient

WRITE_TOOLS = {
    "create_page", "update_page", "rename_page", "delete_page",
    "km-storetext", "km-upload", "km-ingest-trigger", "km-ingest-status", "km-ingest-list",
    "km-feedback-submit", "km-feedback-batch",
}  # fmt: skip


@cache
def offered_to(scope: Scope) -> Surface:
    packs = ("introspect", "trace", "notes", "knowledge", "workflows")
    return Registry(load_builtin(name) for name in BUILTIN).surface(packs, scope)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def call(pipe: StdioClient, tool: str, **arguments: Any) -> Any:
    return pipe.result("tools/call", {"name": tool, "arguments": arguments})


##= docs/spec/host.md#permissions
##% The setting `server.allowWrites` and the flag `--allow-writes` MUST allow the owner to change pages and documents,
##% to vote and to ingest.
def test_the_owner_of_a_pipe_that_allows_writes_writes_pages_and_documents(tmp_path: Path) -> None:
    write(tmp_path, "Ideas.md", "# Ideas\n")
    (tmp_path / "contextive.config.json").write_text('{"notes": {"paths": ["**/*.md"]}}', encoding="utf-8")
    with StdioClient("serve", "--stdio", "--allow-writes", cwd=tmp_path) as pipe:
        pipe.initialize()
        call(pipe, "create_page", title="First", content="one")
        first = call(pipe, "get_page", slug="first")["structuredContent"]
        call(pipe, "update_page", slug="first", version=first["version"], content="two")
        stored = call(pipe, "km-storetext", content="We chose SQLite.", title="Decision")["structuredContent"]
        refused = call(pipe, "km-backup-trigger")
    assert (tmp_path / "first.md").read_text(encoding="utf-8").endswith("two")
    assert (tmp_path / stored["relative_path"]).is_file()
    assert "needs the maintainer scope" in refused["content"][0]["text"]
    lines = [json.loads(line) for line in (tmp_path / ".contextive/audit/pages.log").read_text("utf-8").splitlines()]
    assert [line["action"] for line in lines] == ["create", "update"]
    assert {line["client"] for line in lines} == {"wires"}


##= docs/spec/host.md#permissions
##% Backups, queries of the graph, recipes and uploads from outside the project MUST require the maintainer scope.
def test_the_writer_scope_has_the_writing_tools_and_no_others() -> None:
    offered = {scope: set(offered_to(scope).tools) for scope in Scope}
    assert offered[Scope.WRITER] - offered[Scope.READER] == WRITE_TOOLS
    assert {"km-backup-trigger", "km-graph-query", "km-recipe-run"} <= offered[Scope.MAINTAINER] - offered[Scope.WRITER]


def test_uploads_from_outside_the_project_need_a_token(tmp_path: Path) -> None:
    project, shared = tmp_path / "project", tmp_path / "shared"
    write(project, "inside.md", "inside")
    write(shared, "outside.md", "outside")
    env = {"KM_UPLOAD_ROOTS": str(shared)}
    with StdioClient("serve", "--stdio", "--allow-writes", cwd=project, env=env) as pipe:
        pipe.initialize()
        refused = call(pipe, "km-upload", source_path=str(shared / "outside.md"))
        accepted = call(pipe, "km-upload", source_path="inside.md")
    assert "from outside the project" in refused["content"][0]["text"]
    assert accepted["structuredContent"]["status"] == "success"


##= docs/spec/host.md#permissions
##% A refusal MUST name the setting or the token that allows the call.
@pytest.mark.parametrize(
    ("tool", "named"), [("create_page", "--allow-writes"), ("km-backup-trigger", "KM_ADMIN_TOKEN")]
)
def test_a_refusal_names_what_allows_the_call(tool: str, named: str) -> None:
    assert named in offered_to(Scope.READER).refusal(tool).full_message()


##= docs/spec/host.md#permissions
##% A server that is started with `--http` MUST refuse `--allow-writes`.
def test_over_http_the_flag_is_refused(tmp_path: Path) -> None:
    done = run("serve", "--http", "--allow-writes", cwd=tmp_path)
    assert done.returncode != 0
    assert "token create" in done.stderr


##= docs/spec/host.md#trust
##% An untrusted file MUST NOT allow writes.
def test_a_file_of_the_project_cannot_switch_writing_on_unless_it_is_trusted(tmp_path: Path) -> None:
    file = tmp_path / "contextive.config.json"
    file.write_text('{"server": {"allowWrites": true}}', encoding="utf-8")
    trust = TrustStore(tmp_path / "trust.json")
    request = ConfigRequest(project=tmp_path, environ={}, trust=trust)
    assert load_config(request).config.server.allow_writes is False
    trust.trust(file)
    assert load_config(request).config.server.allow_writes is True


##= docs/spec/notes.md#page-changes
##% The command `notes restore` MUST write a kept text back to its page.
def test_a_deleted_page_is_listed_and_restored_on_the_command_line(tmp_path: Path) -> None:
    write(tmp_path, "notes/plan.md", "# Plan\n\nwater the plants\n")
    assert run("call", "--allow-writes", "delete_page", "--slug", "plan", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "notes/plan.md").exists()
    assert "notes/plan.md" in run("notes", "restore", cwd=tmp_path).stdout
    assert run("notes", "restore", "plan", cwd=tmp_path).returncode == 0
    assert (tmp_path / "notes/plan.md").read_text(encoding="utf-8") == "# Plan\n\nwater the plants\n"
    assert run("notes", "restore", "nothing", cwd=tmp_path).returncode != 0
