"""Real clients read the files that `install` writes. `make clients` runs these tests; they download the clients.

No client has an account here: each only lists its servers, and all but Codex start them for that.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.node.toolchain import NODE_DIR, install_packages

pytestmark = pytest.mark.skipif(
    os.environ.get("CLIENT_TESTS") != "1" or sys.platform != "linux", reason="make clients runs them: they download"
)

FOLDER = NODE_DIR / "clients"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
PROGRAMS = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Developer:
    """A user with an empty home directory, a project, and the clients."""

    home: Path
    project: Path

    def run(self, *command: str | Path) -> str:
        """Run a command in the project; return what it printed."""
        search_path = os.pathsep.join(
            [str(PROGRAMS), str(Path(shutil.which("node") or "node").parent), "/usr/bin", "/bin"]
        )
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.project,
            env={"HOME": str(self.home), "PATH": search_path, "TERM": "dumb", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def install(self, client: str, *options: str) -> None:
        self.run(PROGRAMS / "contextive-mcp", "install", client, "--write", *options)


@pytest.fixture(scope="session")
def packages() -> Path:
    install_packages(Path(__file__).with_name("package.json"), FOLDER)
    return FOLDER / "node_modules"


@pytest.fixture
def developer(tmp_path: Path, packages: Path) -> Developer:
    made = Developer(tmp_path / "home", tmp_path / "project")
    made.home.mkdir()
    made.project.mkdir()
    (made.project / "README.md").write_text("# A project\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", made.project], check=True)
    return made


def test_claude_code_connects_to_the_server_of_the_user(developer: Developer, packages: Path) -> None:
    developer.install("claude-code", "--scope", "user")
    claude = packages / "@anthropic-ai" / f"claude-code-linux-{MACHINE}" / "claude"
    assert "Connected" in developer.run(claude, "mcp", "list")


def test_claude_code_asks_before_it_starts_the_server_of_a_project(developer: Developer, packages: Path) -> None:
    developer.install("claude-code")
    claude = packages / "@anthropic-ai" / f"claude-code-linux-{MACHINE}" / "claude"
    assert "Pending approval" in developer.run(claude, "mcp", "list")


@pytest.mark.parametrize("scope", ["user", "project"])
def test_codex_lists_the_server(developer: Developer, packages: Path, scope: str) -> None:
    developer.install("codex", "--scope", scope)
    if scope == "project":
        config = developer.home / ".codex" / "config.toml"
        config.parent.mkdir()
        config.write_text(f'[projects."{developer.project}"]\ntrust_level = "trusted"\n', encoding="utf-8")
    servers = json.loads(_without_warnings(developer.run(packages / ".bin" / "codex", "mcp", "list", "--json")))
    assert [server["name"] for server in servers] == ["contextive"]
    assert servers[0]["enabled"]


def _without_warnings(printed: str) -> str:
    return printed[printed.index("[") : printed.rindex("]") + 1]


def test_gemini_connects_to_the_server_in_a_trusted_folder(developer: Developer, packages: Path) -> None:
    developer.install("gemini-cli")
    gemini = packages / ".bin" / "gemini"
    assert "Disabled" in developer.run(gemini, "mcp", "list")
    trusted = developer.home / ".gemini" / "trustedFolders.json"
    trusted.parent.mkdir(exist_ok=True)
    trusted.write_text(json.dumps({str(developer.project): "TRUST_FOLDER"}), encoding="utf-8")
    assert "contextive-mcp serve --stdio (stdio) - Connected" in developer.run(gemini, "mcp", "list")


def test_opencode_connects_to_the_server(developer: Developer, packages: Path) -> None:
    developer.install("opencode")
    printed = developer.run(packages / f"opencode-linux-{MACHINE}" / "bin" / "opencode", "mcp", "list")
    assert "✓ contextive" in printed
    assert "connected" in printed
