"""A client of a language server, which says where the declaration of a called name is."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

SERVERS: Final = {
    "python": "pyright-langserver --stdio",
    "go": "gopls",
    "rust": "rust-analyzer",
    "typescript": "typescript-language-server --stdio",
}
"""The commands that start the servers. None of them belongs to the project; each is installed by hand."""
_STATUS: Final = "status"
"""Instead of a token: rust-analyzer says when it has read the project."""
Place = tuple[str, int, int]
"""The path of a file in the project, a line and a column in UTF-16 units, both from 0."""


class LanguageServer:
    """One server for one project."""

    def __init__(self, command: str, language: str, root: Path) -> None:
        self._root = root.resolve()
        self._language = language
        self._process = subprocess.Popen(
            command.split(), cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._options = _rust_options(self._root) if language == "rust" else {}
        self._opened: set[str] = set()
        self._last_id = 0
        self._running: set[Any] = {_STATUS} if self._options else set()
        """The tokens of work in progress, such as indexing."""
        folder = {"uri": self._root.as_uri(), "name": self._root.name}
        self._request(
            "initialize",
            {
                "processId": None,
                "rootUri": folder["uri"],
                "workspaceFolders": [folder],
                "initializationOptions": self._options,
                "capabilities": {
                    "window": {"workDoneProgress": True},
                    "experimental": {"serverStatusNotification": True},
                    "workspace": {"configuration": True, "workspaceFolders": True},
                    "textDocument": {"definition": {"linkSupport": False}},
                },
            },
        )
        self._notify("initialized", {})

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def wait_until_ready(self, path: str, seconds: float) -> None:
        """Wait until the server has read the project. It reports its progress only while it has some."""
        end = time.monotonic() + seconds
        time.sleep(5)
        while time.monotonic() < end:
            self.definitions((path, 0, 0))
            if not self._running:
                return
            time.sleep(1)

    def definitions(self, place: Place) -> list[Place] | None:
        """The declarations of the name at a place that are in the project; None if the server knows none anywhere."""
        path, line, column = place
        self._open(path)
        found = None
        for _ in range(20):
            found = self._request(
                "textDocument/definition",
                {"textDocument": {"uri": self._uri(path)}, "position": {"line": line, "character": column}},
            )
            if found != "retry":
                break
            time.sleep(0.5)
        locations = found if isinstance(found, list) else [found] if isinstance(found, dict) else []
        places = []
        for location in locations:
            target = Path(unquote(urlsplit(location.get("uri") or location["targetUri"]).path))
            start = (location.get("range") or location["targetSelectionRange"])["start"]
            if target.is_relative_to(self._root):
                places.append((target.relative_to(self._root).as_posix(), start["line"], start["character"]))
        return places if locations else None

    def _open(self, path: str) -> None:
        if path not in self._opened:
            self._opened.add(path)
            text = (self._root / path).read_text(encoding="utf-8", errors="replace")
            language = "typescriptreact" if path.endswith("x") else self._language
            document = {"uri": self._uri(path), "languageId": language, "version": 1, "text": text}
            self._notify("textDocument/didOpen", {"textDocument": document})

    def _uri(self, path: str) -> str:
        return (self._root / path).as_uri()

    def _notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def _request(self, method: str, params: object) -> Any:
        """The result; "retry" if the server was not ready for the request."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" in message:
                self._answer(message)
            elif message.get("id") == self._last_id:
                is_busy = message.get("error", {}).get("code") in (-32801, -32802, -32800)
                return "retry" if is_busy else message.get("result")

    def _answer(self, message: dict[str, Any]) -> None:
        """Answer what the server asks, and follow its progress."""
        params = message.get("params") or {}
        if message["method"] == "$/progress":
            match params.get("value", {}).get("kind"):
                case "begin":
                    self._running.add(params["token"])
                case "end":
                    self._running.discard(params["token"])
        elif message["method"] == "experimental/serverStatus" and params.get("quiescent"):
            self._running.discard(_STATUS)
        if "id" in message:
            result = (
                [self._options for _ in params["items"]] if message["method"] == "workspace/configuration" else None
            )
            self._send({"id": message["id"], "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise SystemExit(f"the language server for {self._language} ended")
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message


def _rust_options(root: Path) -> dict[str, Any]:
    """All workspaces with all features, without build scripts and procedural macros, which would run code of the project."""
    manifests = [path for path in sorted(root.glob("**/Cargo.toml")) if "target" not in path.parts]
    workspaces = [path for path in manifests if "[workspace]" in path.read_text(encoding="utf-8")]
    return {
        "linkedProjects": [str(path) for path in workspaces or manifests[:1]],
        "cargo": {"features": "all", "allTargets": True, "buildScripts": {"enable": False}},
        "procMacro": {"enable": False},
        "checkOnSave": False,
    }
