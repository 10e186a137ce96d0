"""`make conformance`: run the official suite against a server with its fixtures, and against the product itself.

Needs npm once: `tests/node/toolchain.py` installs Node 22 and the suite into `.node/`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests.node.toolchain import ROOT, NodeUnavailable, ready_toolchain
from tests.processes import free_port, running_server

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
EXTENSIONS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest")
"""Scenarios of extensions, which belong to no version."""
_LINE = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
_NOT_SCORED = re.compile(r"^  [✓✗] ([\w-]+) \(", re.MULTILINE)


def find_suite() -> list[str]:
    """Return the command that runs the suite."""
    try:
        return ready_toolchain().program("@modelcontextprotocol/conformance", "conformance")
    except NodeUnavailable as reason:
        sys.exit(f"The conformance suite needs Node and its packages: {reason}.")


##= docs/spec/host.md#protocol-versions
##% The server MUST pass the scored scenarios of the official conformance suite for 2025-11-25 and 2026-07-28.
def scored_run(suite: list[str], url: str, version: str) -> list[str]:
    """Print the score with the fixtures and return the scored scenarios that failed."""
    done = subprocess.run(
        [*suite, "server", "--url", url, "--requirements", version], capture_output=True, text=True, timeout=600
    )
    not_scored = set(_NOT_SCORED.findall(done.stdout))
    verdicts = {
        name: mark == "✓" and int(passed) > 0
        for mark, name, passed, _ in _LINE.findall(done.stdout)
        if name not in not_scored
    }
    passed = sum(verdicts.values())
    print(f"{version}: {passed}/{SCORED[version]} scored scenarios pass", flush=True)
    failed = [name for name, ok in verdicts.items() if not ok]
    if done.returncode or len(verdicts) != SCORED[version]:
        failed.append(f"(exit {done.returncode}, {len(verdicts)} scenarios)")
    return failed


def product_run(suite: list[str], url: str, scenarios: Sequence[str], version: str | None = None) -> list[str]:
    """Return the scenarios without fixtures that failed against the product itself."""
    failed = []
    for scenario in scenarios:
        done = subprocess.run(
            [*suite, "server", "--url", url, "--scenario", scenario, *(["--spec-version", version] if version else [])],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            failed.append(scenario)
            print(done.stdout[-1500:], file=sys.stderr)
    passed = len(scenarios) - len(failed)
    print(f"{version or 'extensions'}: {passed}/{len(scenarios)} scenarios pass on the product", flush=True)
    return failed


def main() -> None:
    suite = find_suite()
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as project:
        port = free_port()
        with running_server([sys.executable, "-m", "tests.conformance.server", str(port)], port, cwd=ROOT):
            for version in SCORED:
                failed += scored_run(suite, f"http://127.0.0.1:{port}/mcp", version)
        port = free_port()
        command = [sys.executable, "-m", "contextive", "serve", "--http", "--port", str(port), "--project", project]
        with running_server(command, port, cwd=ROOT):
            url = f"http://127.0.0.1:{port}/mcp"
            for version, scenarios in FIXTURE_FREE.items():
                failed += product_run(suite, url, scenarios, version)
            failed += product_run(suite, url, EXTENSIONS)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
