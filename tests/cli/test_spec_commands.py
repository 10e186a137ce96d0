"""Requirements of the commands that no other test covers: their names, transports and profiles."""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from pathlib import Path

from contextive.cli import duvet_main, main
from tests.plugins.packages import write_config
from tests.processes import free_port, running_server
from tests.raw_clients import PROGRAM, HttpClient, StdioClient


##= docs/spec/host.md#commands
##% The package MUST install a command named `contextive-mcp`.
##= docs/spec/host.md#commands
##% The package MUST install a command named `duvet`.
def test_the_package_installs_two_commands() -> None:
    installed = distribution("contextive-mcp").entry_points.select(group="console_scripts")
    assert {entry.name: entry.load() for entry in installed} == {"contextive-mcp": main, "duvet": duvet_main}


##= docs/spec/host.md#commands
##% Without a transport flag, the setting `server.mode` MUST decide which transport is served.
def test_without_a_flag_the_setting_decides_which_transport_is_served(tmp_path: Path) -> None:
    write_config(tmp_path / "contextive.config.json", {"server": {"mode": "stdio"}})
    with StdioClient("serve", cwd=tmp_path) as pipe:
        pipe.initialize()
        assert pipe.call("contextive_server_info")["structuredContent"]["mode"] == "stdio"
    write_config(tmp_path / "contextive.config.json", {"server": {"mode": "http"}})
    port = free_port()
    with running_server([*PROGRAM, "serve", "--port", str(port)], port, cwd=tmp_path):
        answer = HttpClient(port).post("/api/v1/tools/contextive_server_info", {})
        assert answer.json["result"]["mode"] == "http"


##= docs/spec/host.md#commands
##% The command `duvet mcp` MUST serve the profile `duvet` over stdio.
def test_duvet_mcp_serves_the_duvet_profile(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "tea.md").write_text("# Tea\n\nThe pot MUST be warm.\n", encoding="utf-8")
    duvet = (sys.executable, "-c", "from contextive.cli import duvet_main; duvet_main()")
    with StdioClient("mcp", cwd=tmp_path, command=duvet) as pipe:
        assert pipe.initialize()["serverInfo"]["name"] == "duvet"
        assert "validate_citation" in [tool["name"] for tool in pipe.result("tools/list")["tools"]]
