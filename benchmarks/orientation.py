"""How many of the files that a developer opened for a task `orient` names.

    python -m benchmarks.orientation DIR … [--list]

The tasks are in benchmarks/judgements/orient.jsonl: each is what a commit of an open-source project did, in the words of somebody
who is about to do it, with the files that the commit changed. They were written down before the first answer was seen. Each
directory is a checkout with the name of its project and an index.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

TASKS: Final = Path(__file__).parent / "judgements" / "orient.jsonl"
HEADER: Final = "| project | task | files | named | tokens | ms |\n|---|---|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Task:
    """What somebody is about to do, and the files that this needs."""

    project: str
    task: str
    files: tuple[str, ...]


def read_tasks(project: str) -> list[Task]:
    """The tasks of one project."""
    rows = map(json.loads, TASKS.read_text(encoding="utf-8").splitlines())
    return [Task(row["project"], row["task"], tuple(row["files"])) for row in rows if row["project"] == project]


class Server:
    """A server of one project, over stdio."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-m", "contextive", "serve", "--project", str(root)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        client = {"name": "benchmark", "version": "1"}
        self._request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})
        self._last_id = 1

    def orient(self, **arguments: str) -> tuple[str, float]:
        """The answer as a model sees it, and the milliseconds that it took."""
        start = time.perf_counter()
        result = self._request("tools/call", {"name": "orient", "arguments": arguments})
        return result["content"][0]["text"], 1000 * (time.perf_counter() - start)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)

    def _request(self, method: str, params: object) -> dict[str, Any]:
        self._last_id = getattr(self, "_last_id", 0) + 1
        self._send({"id": self._last_id, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._last_id and "method" not in message:
                result: dict[str, Any] = message["result"]
                return result
        raise SystemExit("the server ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("projects", nargs="+", type=Path, metavar="DIR", help="an indexed project")
    parser.add_argument("--list", action="store_true", help="also list the files that were not named")
    arguments = parser.parse_args()
    print(HEADER)
    named_in_all = files_in_all = 0
    for root in arguments.projects:
        server = Server(root.resolve())
        server.orient()
        for task in read_tasks(root.resolve().name):
            server.orient(task=task.task)
            text, milliseconds = server.orient(task=task.task)
            named = [path for path in task.files if f'"{path}"' in text]
            named_in_all += len(named)
            files_in_all += len(task.files)
            counts = f"{len(task.files)} | {len(named)} | {len(text) // 4} | {milliseconds:.0f}"
            print(f"| {task.project} | {task.task} | {counts} |", flush=True)
            if arguments.list:
                print("\n".join(f"    not named: {path}" for path in task.files if path not in named))
        server.close()
    share = 100 * named_in_all / max(1, files_in_all)
    print(f"\n{named_in_all} of {files_in_all} files named ({share:.0f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
