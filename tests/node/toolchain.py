"""Node and the npm packages that the tests use, installed into `.node/` from the configured npm registry.

`package.json` next to this file lists them. They are installed once; later runs need neither npm nor a network.
Install scripts of packages are not run.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NODE_DIR = ROOT / ".node"
MODULES = NODE_DIR / "node_modules"
PACKAGE = Path(__file__).with_name("package.json")
_STAMP = ".installed"

OLDEST_NODE = (22, 19)
"""The oldest version that all packages support."""
_INSTALL_SECONDS = 600.0


class NodeUnavailable(Exception):
    """Node or a package is not available; the message says why."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Node that is new enough, with all packages installed."""

    node: str

    def program(self, package: str, binary: str) -> list[str]:
        """Return the command that runs a program of a package."""
        home = MODULES / package
        entry: str = _read_json(home / "package.json")["bin"][binary]
        return [self.node, str(home / entry)]

    def script(self, name: str) -> list[str]:
        """Return the command that runs a script of this directory.

        The script is copied to `.node`, because Node looks for packages in the parent directories of the script.
        """
        scripts = NODE_DIR / "scripts"
        scripts.mkdir(exist_ok=True)
        for script in Path(__file__).parent.glob("*.mjs"):
            shutil.copyfile(script, scripts / script.name)
        return [self.node, str(scripts / name)]


def ready_toolchain() -> Toolchain:
    """Return the toolchain; install it first if necessary. Raises `NodeUnavailable`."""
    install_packages(PACKAGE, NODE_DIR)
    return Toolchain(_find_node())


def install_packages(package: Path, folder: Path) -> None:
    """Install what a `package.json` lists, unless it is installed already. Raises `NodeUnavailable`."""
    if is_installed(package, folder):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise NodeUnavailable("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(package, folder / "package.json")
    quiet = [
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        "--fetch-retries=1",
        "--fetch-retry-maxtimeout=1000",
        "--fetch-retry-mintimeout=500",
    ]
    try:
        done = subprocess.run(
            [npm, "install", "--ignore-scripts", "--no-package-lock", *quiet],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NodeUnavailable(f"npm install took more than {_INSTALL_SECONDS:.0f} s") from None
    if done.returncode:
        errors = done.stderr.strip().splitlines()
        raise NodeUnavailable(f"npm install failed: {errors[0] if errors else f'exit {done.returncode}'}")
    shutil.copyfile(package, folder / _STAMP)


def is_installed(package: Path = PACKAGE, folder: Path = NODE_DIR) -> bool:
    """Whether the packages of the current `package.json` are completely installed."""
    stamp = folder / _STAMP
    return stamp.exists() and stamp.read_bytes() == package.read_bytes()


def _find_node() -> str:
    """Return the Node from npm if it exists for this machine, else the system's."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    packaged = MODULES / f"node-{platform.system().lower()}-{machine}" / "bin" / "node"
    node = str(packaged) if packaged.exists() else shutil.which("node")
    wanted = ".".join(map(str, OLDEST_NODE))
    if node is None:
        raise NodeUnavailable(f"Node {wanted} or newer is not installed")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if tuple(int(part) for part in version.lstrip("v").split(".")[:2]) < OLDEST_NODE:
        raise NodeUnavailable(f"Node {wanted} or newer is needed, this is {version}")
    return node


def _read_json(path: Path) -> Mapping[str, Any]:
    value: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
