"""Faulty plugins are reported, and the server keeps running."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.packages import install, install_odd_pack, python_path, write_config
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, StdioClient, serving_http

PACK = "from contextive.registry import Context, NoInput, Pack, ToolOutput\npack = Pack({name!r}, title='T', description='D')\n"
TOOL = """
class Out(ToolOutput):
    ok: bool = True

@pack.tool({name!r}, title='T', description='D')
async def handler(given: NoInput, ctx: Context) -> Out:
    return Out()
"""


def good(name: str, tool: str | None = None) -> str:
    return PACK.format(name=name) + (TOOL.format(name=tool) if tool else "")


FAULTY: dict[str, tuple[str, str]] = {
    "raises": ("raise RuntimeError('/secret/path')", "fails to load (RuntimeError)"),
    "misspelt": ("import no_such_module", "fails to load (ModuleNotFoundError)"),
    "broken": ("def (", "fails to load (SyntaxError)"),
    "interrupts": ("raise KeyboardInterrupt", "fails to load (KeyboardInterrupt)"),
    "hangs": ("import time; time.sleep(600)", "did not load within 1 seconds"),
    "prints": ("print('hello')\n" + good("prints"), "prints while it loads"),
    "exits": ("import sys; sys.exit(0)", "tries to end the process while it loads"),
    "takes-tool": (good("takes-tool", "contextive_health"), "already in use: tool contextive_health"),
    "no-pack": ("pack = {'tools': []}", "is not a Pack but dict"),
    "misnamed": (good("another"), "names its pack 'another'"),
    "bad-tool": (good("bad-tool", "not a name!"), "fails to load (ValueError)"),
    "no-attribute": ("x = 1", "fails to load (AttributeError)"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with every kind of plugin."""
    folder = tmp_path_factory.mktemp("site")
    for name, (source, _) in FAULTY.items():
        install(folder, name, source)
    install(folder, "twice", good("twice"), distribution="twice-one")
    install(folder, "twice", good("twice"), distribution="twice-two")
    install(folder, "fine", good("fine", "fine_tool"))
    install(folder, "called", good("called", "called_tool") + "\ndef make():\n    return pack\n", target="make")
    install(folder, "rival", good("rival", "fine_tool"))
    install(folder, "writes", "import os\nos.write(1, b'junk on descriptor 1\\n')\n" + good("writes", "writes_tool"))
    install_odd_pack(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path


def config_of(project: Path, packs: dict[str, Any]) -> Path:
    return write_config(project / "config.json", {"toolPacks": packs, "limits": {"pluginLoadSeconds": 1}})


def run(project: Path, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=project,
        env=clean_environment(python_path(site)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )


def check(project: Path, site: Path, packs: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Run `check --json` and return its exit code and report."""
    done = run(project, site, "check", "--json", "--config", str(config_of(project, packs)))
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def names(tools: Sequence[dict[str, Any]]) -> set[str]:
    return {tool["name"] for tool in tools}


##= docs/spec/host.md#broken-plugins
##% A plugin that raises an exception, ends the process, prints, or hangs while it loads MUST be left out.
##= docs/spec/host.md#broken-plugins
##% A plugin that declares a name already in use MUST be left out.
##= docs/spec/host.md#broken-plugins
##% A plugin that two installed packages claim MUST be left out.
def test_every_fault_is_reported_and_affects_no_other_plugin(project: Path, site: Path) -> None:
    wanted = [*FAULTY, "twice", "absent", "fine", "rival", "called"]
    code, report = check(project, site, {name: {} for name in wanted})
    left_out = report["plugins"]["left_out"]
    for name, (_, reason) in FAULTY.items():
        assert reason in left_out[name], name
    assert "claimed by more than one package: twice-one, twice-two" in left_out["twice"]
    assert "is not installed" in left_out["absent"]
    assert "already in use: tool fine_tool" in left_out["rival"]
    assert report["plugins"]["loaded"] == ["fine", "called"]
    assert {"fine_tool", "called_tool", "contextive_health"} <= set(report["tools"])
    assert code == 1
    assert "/secret/path" not in json.dumps(report)


##= docs/spec/host.md#broken-plugins
##% A plugin that is left out MUST be reported in the log, by `check` and in the health of the server.
def test_check_also_reports_faults_as_text(project: Path, site: Path) -> None:
    done = run(project, site, "check", "--config", str(config_of(project, {"raises": {}})))
    assert done.returncode == 1
    assert "not loaded     plugin raises fails to load (RuntimeError)" in done.stdout
    assert "The configuration is valid." in done.stdout


##= docs/spec/host.md#broken-plugins
##% A plugin that is left out MUST NOT prevent the rest of the server from working.
##= docs/spec/host.md#health
##% The server MUST report whether it is healthy, degraded or unhealthy, and why.
def test_the_server_runs_with_faulty_plugins_and_reports_that_it_is_degraded(project: Path, site: Path) -> None:
    packs: dict[str, Any] = {name: {} for name in ("raises", "prints", "exits", "takes-tool", "absent", "fine")}
    arguments = ("serve", "--stdio", "--config", str(config_of(project, packs)))
    with StdioClient(*arguments, cwd=project, env=python_path(site)) as pipe:
        pipe.initialize()
        assert pipe.call("fine_tool")["structuredContent"] == {"ok": True}
        health = pipe.call("contextive_health")["structuredContent"]
        assert health["status"] == "degraded"
        (plugins,) = (check for check in health["checks"] if check["name"] == "plugins")
        assert plugins["ok"] is False
        for name in ("raises", "prints", "exits", "takes-tool", "absent"):
            assert name in plugins["detail"]
            pipe.wait_for_log(lambda line, name=name: f"plugin {name} was not loaded" in line["event"])  # type: ignore[misc]
        assert "/secret/path" not in json.dumps(health)


def test_a_degraded_server_reports_it_at_its_health_path(project: Path, site: Path) -> None:
    config = str(config_of(project, {"absent": {}}))
    with serving_http("--config", config, cwd=project, env=python_path(site)) as running:
        health = running.web.get("/healthz")
        assert health.status == 200
        assert health.json["status"] == "degraded"
        assert running.web.get("/readyz").status == 200


def test_a_plugin_that_hangs_blocks_neither_start_nor_end_of_the_server(project: Path, site: Path) -> None:
    arguments = ("serve", "--stdio", "--config", str(config_of(project, {"hangs": {}, "fine": {}})))
    with StdioClient(*arguments, cwd=project, env=python_path(site)) as pipe:
        pipe.initialize()
        assert pipe.call("fine_tool")["structuredContent"] == {"ok": True}
        pipe.close_stdin()
        assert pipe.end_within(2) == 0


##= docs/spec/host.md#standard-output
##% Output printed by a tool, a plugin or a library MUST go to standard error.
def test_output_of_a_plugin_while_it_loads_is_not_sent_to_the_client(project: Path, site: Path) -> None:
    config = str(config_of(project, {"writes": {}}))
    with StdioClient("serve", "--stdio", "--config", config, cwd=project, env=python_path(site)) as pipe:
        pipe.initialize()
        assert pipe.call("writes_tool")["structuredContent"] == {"ok": True}
    called = run(project, site, "call", "--config", config, "writes_tool")
    assert json.loads(called.stdout) == {"ok": True}
    assert "junk on descriptor 1" in called.stderr


##= docs/spec/host.md#discovery
##% A plugin MUST be loaded only when the configuration names it.
def test_a_plugin_is_loaded_only_if_it_is_configured(project: Path, site: Path) -> None:
    code, report = check(project, site, {})
    assert code == 0
    assert report["plugins"] == {"loaded": [], "left_out": {}}
    code, report = check(project, site, {"raises": {"enabled": False}})
    assert (code, report["plugins"]["left_out"]) == (0, {})


##= docs/spec/host.md#trust
##% An untrusted file MUST NOT enable a plugin.
def test_an_untrusted_project_file_cannot_load_a_plugin(project: Path, site: Path) -> None:
    write_config(project / "contextive.config.json", {"toolPacks": {"fine": {}}})
    environment = clean_environment({**python_path(site), "XDG_CONFIG_HOME": str(project / "xdg")})

    def tools() -> str:
        return subprocess.run(
            [*PROGRAM, "check", "--json"], cwd=project, env=environment, capture_output=True, text=True, timeout=30
        ).stdout

    before = json.loads(tools())
    assert "fine_tool" not in before["tools"]
    assert before["ignored"][0]["key"] == "toolPacks.fine"
    subprocess.run([*PROGRAM, "trust"], cwd=project, env=environment, check=True, capture_output=True, timeout=30)
    assert "fine_tool" in json.loads(tools())["tools"]


##= docs/spec/host.md#sections
##% The section `toolPacks` MUST enable and disable packs and hold the settings of each pack.
##= docs/spec/host.md#discovery
##% A tool in `blockedTools` MUST NOT be offered.
##= docs/spec/host.md#discovery
##% If `allowedTools` is set, a tool that it does not name MUST NOT be offered.
##= docs/spec/host.md#discovery
##% In a read-only pack, a tool that changes something MUST NOT be offered.
##= docs/spec/host.md#discovery
##% A plugin without a mode MUST be read-only.
@pytest.mark.parametrize(
    ("rules", "offered"),
    [
        ({}, {"odd_echo", "odd_print"}),
        ({"mode": "read-only"}, {"odd_echo", "odd_print"}),
        ({"mode": "read-write"}, {"odd_echo", "odd_print", "odd_write"}),
        ({"allowedTools": ["odd_echo"]}, {"odd_echo"}),
        ({"allowedTools": []}, set()),
        ({"blockedTools": ["odd_echo"]}, {"odd_print"}),
        ({"allowedTools": ["odd_echo", "odd_print"], "blockedTools": ["odd_echo"]}, {"odd_print"}),
        ({"allowedTools": ["odd_write"]}, set()),
        ({"allowedTools": ["odd_write"], "mode": "read-write"}, {"odd_write"}),
        ({"enabled": False}, set()),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_the_rules_of_a_pack_select_its_tools(odd_host: Any, rules: dict[str, Any], offered: set[str]) -> None:
    surface = odd_host(rules)
    assert {"odd_echo", "odd_print", "odd_write"} & set(surface.tools) == offered
    assert not {"odd_maintain", "odd_destroy"} & set(surface.tools), "no rule gives a reader a maintainer tool"
    assert "contextive_health" in surface.tools


@pytest.fixture
def odd_host(site: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function from pack rules to the surface of a reader, with the plugin found by its entry point."""
    from contextive.config.schema import parse_values
    from contextive.packs import BUILTIN
    from contextive.registry import Scope
    from contextive.server.host import assemble

    monkeypatch.syspath_prepend(str(site))

    def surface(rules: dict[str, Any]) -> Any:
        assembly = assemble(parse_values({"toolPacks": {"odd": rules}}))
        return assembly.registry.surface([*BUILTIN, "odd"], Scope.READER)

    return surface


##= docs/spec/host.md#discovery
##% A name in `allowedTools` or `blockedTools` that the pack does not have MUST be an error.
def test_check_fails_on_an_unknown_tool_in_the_rules_and_lists_the_known_ones(project: Path, site: Path) -> None:
    for key in ("allowedTools", "blockedTools"):
        done = run(project, site, "check", "--config", str(config_of(project, {"fine": {key: ["fine_tol"]}})))
        assert done.returncode == 1
        assert f"toolPacks.fine.{key}: the pack has no tool 'fine_tol'. Its tools: fine_tool." in done.stderr
