"""The wheel, and the tools with which users install it, for tests that run as a user with an empty home directory."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A user with an empty home directory, uv, pipx, and the wheel, next to that of the embedding model."""

    home: Path
    tools: Path
    wheel: Path

    def environment(self) -> dict[str, str]:
        """The environment: only what downloads need, and the user's own directory of programs on the PATH."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("PIP_", "UV_", "SSL_CERT")) or name.endswith(("_proxy", "_PROXY"))
        }
        index = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
        ).stdout.strip()
        if index:
            kept |= {"PIP_INDEX_URL": index, "UV_DEFAULT_INDEX": index}
        kept |= {"PIP_FIND_LINKS": str(self.wheel.parent), "UV_FIND_LINKS": str(self.wheel.parent)}
        path = os.pathsep.join([str(self.home / ".local" / "bin"), str(self.tools), "/usr/bin", "/bin"])
        return {**kept, "HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "UV_PYTHON": sys.executable}

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """Run a command; return what it printed."""
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd or self.home,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def install(self, *options: str, extra: str = "", name: str) -> Path:
        """Install the wheel in a new environment; return the environment's directory."""
        folder = self.home / name
        self.run("uv", "venv", "--quiet", folder)
        self.run("uv", "pip", "install", "--quiet", "--python", folder, *options, f"{self.wheel}{extra}")
        return folder


@pytest.fixture(scope="session")
def downloaded_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "uv", "pipx"], check=True)
    programs = folder / "programs"  # the environment's other programs, such as python, stay off the PATH
    programs.mkdir()
    for name in ("uv", "uvx", "pipx"):
        (programs / name).symlink_to(folder / "bin" / name)
    return programs


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    model = ROOT / "packages" / "contextive-minilm"
    subprocess.run([*command, "-w", str(folder), str(model), str(ROOT)], check=True)
    (file,) = folder.glob("contextive_mcp-*.whl")
    return file


@pytest.fixture
def newcomer(tmp_path: Path, downloaded_tools: Path, wheel: Path) -> Newcomer:
    home = tmp_path / "home"
    home.mkdir()
    return Newcomer(home, downloaded_tools, wheel)
