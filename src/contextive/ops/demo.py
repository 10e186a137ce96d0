"""A short, real session on a copy of the example project: this server in its own process, and the SDK's client over stdio.

Everything shown comes from the server's answers. The demo fails if an answer is not the expected one.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from contextive.errors import NotFound, Unavailable
from contextive.ops.clients import CLIENTS
from contextive.ops.install import terminal_command

if TYPE_CHECKING:
    from mcp.client.client import Client

EXAMPLE = "parcel-locker"
KIRO_EXAMPLE = "parking-meter"
_QUESTION = "why is a stuck lock tried three times"
_TASK = "make a stuck lock try again"
_NOTE = "jammed-locks"
_CONFIG = "server:\n  logLevel: error\n"


def example_folder() -> Path:
    """The directory of the example project: inside an installed package, or `examples` in a clone."""
    package = Path(str(resources.files("contextive")))
    for folder in (package / "example_project", package.parents[1] / "examples" / EXAMPLE):
        if (folder / "docs" / "spec").is_dir():
            return folder
    raise NotFound("The example project is missing.", hint="Reinstall contextive-mcp.")


def kiro_example_folder() -> Path:
    """The directory of the example project in the format of Kiro."""
    package = Path(str(resources.files("contextive")))
    for folder in (package / "example_kiro_project", package.parents[1] / "examples" / KIRO_EXAMPLE):
        if (folder / ".kiro").is_dir():
            return folder
    raise NotFound("The example project is missing.", hint="Reinstall contextive-mcp.")


##= docs/spec/commands.md#demo
##% The command `demo` MUST show a real session of a real client, and change nothing in the example project.
def play_demo(console: Console | None = None) -> int:
    """Show what a connected agent sees. Returns 0 if every step gave the expected result."""
    console = console or Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    with tempfile.TemporaryDirectory(prefix="contextive-demo-") as folder:
        project = Path(folder) / EXAMPLE
        ignored = shutil.ignore_patterns("__pycache__", ".contextive", ".pytest_cache")
        shutil.copytree(example_folder(), project, ignore=ignored)
        (project / "contextive.config.yaml").write_text(_CONFIG, encoding="utf-8")
        console.rule("1. Index a project")
        console.print(
            "A copy of the example project: a specification, code and tests that cite it, documents and notes."
        )
        _index(console, project)
        asyncio.run(_session(console, project))
        _show_specifications(console, Path(folder) / KIRO_EXAMPLE)
    _print_install_commands(console)
    return 0


def _index(console: Console, project: Path) -> None:
    _prompt(console, "contextive-mcp ingest --wait")
    done = subprocess.run(
        [sys.executable, "-m", "contextive", "ingest", "--wait", "--project", str(project)],
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )  # the progress bar goes to our standard error
    if done.returncode != 0:
        raise Unavailable("The example project could not be indexed.", hint="Run contextive-mcp doctor.")
    console.print(escape(done.stdout.strip()))


def _show_specifications(console: Console, project: Path) -> None:
    console.rule("9. A project of Kiro: what is ticked, and what is in the code?")
    shutil.copytree(kiro_example_folder(), project, ignore=shutil.ignore_patterns("__pycache__", ".contextive"))
    for command in ("specs", "specs tickets"):
        _prompt(console, f"contextive-mcp {command}")
        done = subprocess.run(
            [sys.executable, "-m", "contextive", *command.split(), "--project", str(project)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != 0:
            raise Unavailable("The specifications of the example cannot be read.", hint="Run contextive-mcp doctor.")
        console.print(escape(done.stdout.rstrip()), soft_wrap=True)


async def _session(console: Console, project: Path) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "contextive", "serve", "--stdio", "--project", str(project)],
        env=_environment(),
    )
    async with Client(stdio_client(server)) as client:
        info = client.server_info
        assert info is not None
        console.rule("2. An agent connects")
        tools = (await client.list_tools()).tools
        console.print(f"{info.name} {info.version}, MCP version {client.protocol_version}, {len(tools)} tools.")
        await _show_orientation(console, client)
        await _show_uncited_requirements(console, client)
        await _show_a_search(console, client)
        await _show_a_note(console, client)
        await _fix_a_citation(console, client, project)


async def _show_orientation(console: Console, client: Client) -> None:
    console.rule("3. What should be read before a change?")
    found = await _call(console, client, "orient", task=_TASK)
    table = Table("kind", "location", "title", box=None, pad_edge=False)
    for kind in ("requirements", "code", "tests", "documents", "notes"):
        for place in found.get(kind, ())[:2]:
            location = f"{place['path']}:{place['lines']}" if "lines" in place else place["path"]
            table.add_row(kind, escape(location), escape(place["title"]))
    if not table.rows:
        raise Unavailable("The demo did not find what its task is about.")
    console.print(table)


async def _show_uncited_requirements(console: Console, client: Client) -> None:
    console.rule("4. Which requirements are not implemented yet?")
    found = await _call(console, client, "list_uncited_requirements")
    table = Table("level", "status", "requirement", box=None, pad_edge=False)
    for requirement in found["result"]:
        table.add_row(requirement["level"], requirement["status"], escape(requirement["text"]))
    console.print(table)
    following = await _call(console, client, "next_requirement")
    console.print(escape(following["why_next"]))


async def _show_a_search(console: Console, client: Client) -> None:
    console.rule("5. Search code, documents and notes with a question")
    found = await _call(console, client, "km-search", query=_QUESTION, limit=4)
    table = Table("location", "title", box=None, pad_edge=False)
    for result in found["results"]:
        chunk = result["chunk"]
        location = f"{chunk['artifact_path']}:{chunk['line_start']}"
        table.add_row(escape(location), escape(str(chunk.get("title") or "")))
    console.print(table)


async def _show_a_note(console: Console, client: Client) -> None:
    console.rule("6. What is the first result linked with?")
    found = await _call(console, client, "get_connections", slug=_NOTE)
    console.print(f"links to     {escape(', '.join(found['outlinks']))}")
    console.print(f"linked from  {escape(', '.join(found['backlinks']))}")
    cited = next(link for link in found["outlinks"] if link.startswith("req:"))
    requirement = await _call(console, client, "explain_requirement", req_identifier=cited.removeprefix("req:"))
    console.print(f"{escape(cited)} is: {escape(requirement['text'])}")


async def _fix_a_citation(console: Console, client: Client, project: Path) -> None:
    console.rule("7. Which comments quote a sentence that has changed?")
    (broken,) = (await _call(console, client, "list_invalid_citations"))["result"]
    console.print(f"{escape(broken['file_path'])}:{broken['line_number']}: {escape(broken['error'])}")
    quoted = " ".join(line[3:].strip() for line in broken["comment_text"].splitlines()[1:])
    console.print(f"  comment        {escape(quoted)}")
    console.print(f"  specification  {escape(broken['nearest'])}")
    (requirement,) = (await _call(console, client, "search_requirements", query=f'"{broken["nearest"]}"'))["result"]
    console.print(f"The requirement is [bold]{escape(requirement['status'])}[/].")
    console.rule("8. The agent applies the suggested comment")
    _replace_comment(project / broken["file_path"], broken)
    for line in broken["suggestion"].splitlines():
        console.print(f"  {line}", style="green", markup=False)
    left = await _call(console, client, "list_invalid_citations")
    after = await _call(console, client, "get_requirement_status", req_identifier=requirement["identifier"][:8])
    console.print(f"Invalid citations: {left['total']}. The requirement is [bold]{escape(after['status'])}[/].")
    if left["total"] or after["status"] == requirement["status"]:
        raise Unavailable("The demo did not end with the expected result.")


def _replace_comment(file: Path, broken: dict[str, Any]) -> None:
    """Replace the comment with the suggestion, as an agent would do with its editor."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    start = broken["line_number"] - 1
    old = lines[start]
    indent = old[: len(old) - len(old.lstrip())]
    end = start + len(broken["comment_text"].splitlines())
    lines[start:end] = [f"{indent}{line}\n" for line in broken["suggestion"].splitlines()]
    file.write_text("".join(lines), encoding="utf-8")


async def _call(console: Console, client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    arguments_text = "" if not arguments else f" {json.dumps(arguments, ensure_ascii=False)}"
    _prompt(console, f"{tool}{arguments_text}")
    answer = await client.call_tool(tool, arguments)
    data = answer.structured_content
    if answer.is_error or not isinstance(data, dict):
        raise Unavailable(f"The demo's call of {tool} failed.", hint="Run contextive-mcp doctor.")
    return data


def _prompt(console: Console, text: str) -> None:
    console.print(f"> {text}", style="cyan", markup=False, soft_wrap=True)


def _print_install_commands(console: Console) -> None:
    console.rule("Use it in your own project")
    command = terminal_command()
    console.print(f"[cyan]{escape(command)} install --write[/]", soft_wrap=True)
    titles = ", ".join(client.title for client in CLIENTS.values())
    console.print(f"adds the server to each of these clients that you have: {titles}.", soft_wrap=True)
    console.print(
        f"\nBefore that, {escape(command)} init writes a configuration with your specifications, notes and sources.",
        soft_wrap=True,
    )


def _environment() -> dict[str, str]:
    """The environment without Contextive settings, and with the module path of this process."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("KM_", "CONTEXTIVE_"))}
    return {**environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONIOENCODING": "utf-8"}
