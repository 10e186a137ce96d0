"""A short, real session: this server in a process of its own, and the SDK's client talking to it over a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from contextive.ops.clients import client_snippets

_CONFIG = "server:\n  profile: {profile}\n  logLevel: error\n"


def play() -> int:
    """Show what an agent sees when it attaches. 0 when every step gave what it should."""
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="contextive-demo-") as folder, console.status("Starting the server…"):
        asyncio.run(_session(console, Path(folder)))
    console.rule("Attach it")
    for snippet in client_snippets():
        console.print(f"[bold]{snippet.client}[/] [dim]({snippet.where})[/]")
        console.print(escape(snippet.text), style="cyan", soft_wrap=True)
    return 0


async def _session(console: Console, project: Path) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    (project / "contextive.config.yaml").write_text(_CONFIG.format(profile="contextive"), encoding="utf-8")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "contextive", "serve", "--stdio", "--project", str(project)],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    async with Client(stdio_client(server)) as client:
        info = client.server_info
        assert info is not None
        console.rule("1. An agent attaches")
        console.print(f"{info.name} {info.version} speaks protocol {client.protocol_version}.")
        console.print(
            Panel(escape(client.instructions or ""), title="what the server tells the agent", border_style="dim")
        )
        console.rule("2. It looks at the tools")
        for tool in (await client.list_tools()).tools:
            console.print(f"[bold]{tool.name}[/]  {escape(tool.description or '')}")
        console.rule("3. It calls one")
        answer = await client.call_tool("contextive_server_info", {})
        console.print_json(data=answer.structured_content)
        console.rule("4. It makes a mistake, and is told how to mend it")
        mistake = await client.call_tool("contextive_health", {"verbose": True})
        console.print(escape(getattr(mistake.content[0], "text", "")))
        console.rule("5. It reads a resource")
        resource = await client.read_resource("contextive:///tools/contextive_health")
        console.print(escape(getattr(resource.contents[0], "text", ""))[:400] + "…")
        (project / "contextive.config.yaml").write_text(
            _CONFIG.format(profile="contextive") + _BLOCKED, encoding="utf-8"
        )
        console.rule("6. The configuration changes while it works")
        console.print("The tool contextive_health is blocked in the file; the server takes it over:")
        async with asyncio.timeout(10):
            while True:
                names = [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]
                if "contextive_health" not in names:
                    break
                await asyncio.sleep(0.1)
        console.print(", ".join(names))


_BLOCKED = "toolPacks:\n  introspect:\n    blockedTools: [contextive_health]\n"
