"""A real server over a generated project, attacked over its transport, and the one check that follows every attack.

    with open_target("http", tmp_path) as target:             # or "stdio"
        shot = target.fire("get_page", {"slug": "../x"})     # one tool call; era="stateless" for the other era
        target.assert_unharmed(shot)                         # checks everything fired since the last check

`ask` sends any method, `raw` any bytes. `assert_unharmed` checks that the process is alive; a normal call is answered
within a second; every error has a known code; no reply contains an absolute path, a traceback, SQL, a token, a value of
the environment or the canary; the log has an entry for every shot; and the project and the files outside it have the
same hashes as before, except for the files that the test says may change.
"""

from __future__ import annotations

import base64
import contextlib
import fnmatch
import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from contextive.errors import all_error_types
from tests.raw_clients import (
    LATEST_HANDSHAKE,
    HttpClient,
    HttpResponse,
    Session,
    StdioClient,
    envelope,
    handshake,
    modern_headers,
    rpc,
    serving_http,
    wait_until,
)

Transport = Literal["stdio", "http"]
Era = Literal["handshake", "stateless"]
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")
FULL = os.environ.get("ATTACKS") == "full"
"""Whether to try every combination. Otherwise each attack is made, but not with each transport."""
ERAS: tuple[Era, ...] = ("handshake", "stateless")

READER = "target-reader-4f1c9a7be2d05836"
ADMIN = "target-admin-b7d2e8f4016c39a5"
ENVIRONMENT_SECRET = "target-environment-91c2f7d3"
CANARY = "target-canary-5be07a1d"
"""A word in every file outside the project. No reply may contain it."""

KNOWN_CODES = frozenset(kind.code for kind in all_error_types())
KNOWN_RPC_CODES = frozenset({-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022})
NORMAL_CALL = ("get_page", {"slug": "harbour"})
NORMAL_SECONDS = 1.0
START_SECONDS = 60.0
STATE = ".contextive"

PROJECT_FILES: Mapping[str, str] = {
    "notes/harbour.md": "# Harbour\n\nBoats rest here. See [[siren]].\n",
    "notes/siren.md": "# Siren\n\nIt sounds at high water.\n",
    "docs/gauge.md": "# The gauge\n\nThe water level is measured every minute.\n",
    "docs/spec/levels.md": "# Levels\n\n## Rate\n\nThe gauge MUST read the level once a minute.\n",
    "src/reader.py": '"""Reading."""\n\n\n#= docs/spec/levels.md#rate\n#% The gauge MUST read the level once a minute.\n'
    "def read_level() -> float:\n    return 1.0\n",
    "tests/test_reader.py": "from reader import read_level\n\n\ndef test_reads() -> None:\n    read_level()\n",
}
OUTSIDE_FILES: Mapping[str, str] = {
    "outside/secret.md": f"# Outside\n\n{CANARY}\n",
    "outside/deep/secret.md": f"# Deep\n\n{CANARY}\n",
    "kb_evil/x.md": f"# Evil twin\n\n{CANARY}\n",
    "kb_evil/x": f"{CANARY}\n",
    "home/.ssh/id_rsa": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n-----END OPENSSH PRIVATE KEY-----\n",
    "home/.env": f"KEY={CANARY}\n",
}
_INSIDES = re.compile(
    r"Traceback \(most recent call last\)|\bFile \"[^\"]+\", line \d+|site-packages|sqlite3?\.|OperationalError"
    r"|\bSELECT\b.{1,80}\bFROM\b|\bINSERT INTO\b|no such (table|column)|near \".*\": syntax error|root:x:0:0"
    r"|\bat 0x[0-9a-f]{8,}|pydantic|\[Errno ",
    re.DOTALL,
)

_STORED = re.compile(r"\bstored_path\\?\": *\\?\"([^\"\\]+)")


@dataclass(frozen=True)
class AttackResult:
    """The response to one request."""

    what: str
    reply: Any
    """The JSON-RPC message, or the body of a plain HTTP response; None without a response."""
    text: str
    """The whole response as text."""
    status: int = 200
    seconds: float = 0.0

    @property
    def result(self) -> Any:
        """The data of a tool that succeeded, or the result of a method."""
        result = self.reply["result"]
        return result.get("structuredContent", result)

    @property
    def code(self) -> str | None:
        """Contextive's error code, or the JSON-RPC number as text if there is only that; None for a success."""
        if not isinstance(self.reply, dict):
            return None
        error = self.reply.get("error")
        if isinstance(error, dict):
            data = error.get("data")
            own = data.get("code") if isinstance(data, dict) else None
            return str(own if own is not None else error.get("code"))
        result = self.reply.get("result")
        if isinstance(result, dict) and result.get("isError"):
            inner = json.loads(result["content"][0]["text"])["error"]
            return str(inner["code"])
        return None


@dataclass
class AttackTarget:
    """One server, its project, and the requests sent since the last check."""

    transport: Transport
    folder: Path
    root: Path
    process: StdioClient
    web: HttpClient | None
    allowed_seconds: float
    secrets: Sequence[str]
    shots: list[AttackResult] = field(default_factory=list)
    _sessions: dict[str | None, Session] = field(default_factory=dict)
    _tree: dict[str, str] = field(default_factory=dict)
    _read_lines: int = 0
    _entries: int = 0
    _number: int = 0

    # -- firing ------------------------------------------------------------------------------------------------------

    def fire(
        self,
        tool: Any,
        arguments: Any = None,
        *,
        era: Era = "handshake",
        token: str | None = ADMIN,
        timeout: float = 20.0,
    ) -> AttackResult:
        """Call a tool. The token matters over HTTP only; the stdio caller is the owner."""
        params = {"name": tool, "arguments": {} if arguments is None else arguments}
        return self.ask("tools/call", params, era=era, token=token, timeout=timeout)

    def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        era: Era = "handshake",
        token: str | None = ADMIN,
        timeout: float = 20.0,
    ) -> AttackResult:
        """Send one request with any method."""
        what = f"{method} {str(dict(params or {}))[:200]}"
        self._number += 1
        started = time.monotonic()
        if self.web is None:
            message = rpc(method, envelope(params) if era == "stateless" else params, self._number)
            self.process.send(message)
            reply = self._reply(self._number, timeout)
            shot = AttackResult(what, reply, json.dumps(reply, ensure_ascii=False), 200, time.monotonic() - started)
        else:
            shot = self._over_http(method, params, era, token, what, timeout)
        self.shots.append(shot)
        return shot

    def _reply(self, number: int, timeout: float) -> Any:
        """Return the response to a request, or the one without an id that answers invalid JSON."""
        while True:
            reply = self.process.receive(timeout)
            if isinstance(reply, dict) and "method" not in reply:
                assert reply["id"] in (number, None), reply
                return reply

    def _over_http(
        self, method: str, params: Mapping[str, Any] | None, era: Era, token: str | None, what: str, timeout: float
    ) -> AttackResult:
        started = time.monotonic()
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if era == "stateless":
            headers |= {name: _header(value) for name, value in modern_headers(method, params).items()}
            body = rpc(method, envelope(params), self._number)
        else:
            headers |= self.session(token).headers
            body = rpc(method, params, self._number)
        answer = self.http_client(token).request("POST", "/mcp", json.dumps(body).encode(), headers, timeout)
        return self._shot(what, answer, time.monotonic() - started)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        token: str | None = ADMIN,
    ) -> AttackResult:
        """Send one plain HTTP request; a body that is not bytes is sent as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if data is not None else {}
        answer = self.http_client(token).request(method, path, data, {**sent, **(headers or {})})
        shot = self._shot(f"{method} {path}", answer, 0.0)
        self.shots.append(shot)
        return shot

    def raw(self, data: bytes, timeout: float = 3.0) -> str:
        """Send any bytes on a new HTTP connection and return the response. For stdio use `process.send_bytes`."""
        assert self.web is not None
        text = self.web.raw(data, timeout).decode("utf-8", "replace")
        self.shots.append(AttackResult(f"raw {data[:80]!r}", None, text))
        return text

    def lines(self, data: bytes, answers: int, what: str = "") -> list[Any]:
        """Send any bytes over stdio and read the expected number of responses."""
        self.process.send_bytes(data)
        found = [self.process.receive() for _ in range(answers)]
        self.shots += [
            AttackResult(what or f"raw {data[:80]!r}", reply, json.dumps(reply, ensure_ascii=False)) for reply in found
        ]
        return found

    def http_client(self, token: str | None = ADMIN) -> HttpClient:
        assert self.web is not None, "this target has no HTTP transport"
        return self.web.as_bearer(token)

    def session(self, token: str | None = ADMIN) -> Session:
        """The handshake session of a token, opened on first use."""
        if token not in self._sessions:
            self._sessions[token] = self.http_client(token).open_session(LATEST_HANDSHAKE)
        return self._sessions[token]

    @staticmethod
    def _shot(what: str, answer: HttpResponse, seconds: float) -> AttackResult:
        reply: Any = None
        with contextlib.suppress(ValueError, StopIteration):
            reply = answer.message if "event-stream" in (answer.headers["content-type"] or "") else answer.json
        return AttackResult(what, reply, answer.text, answer.status, seconds)

    # -- what is offered ---------------------------------------------------------------------------------------------

    def listed(self, method: str, key: str) -> list[dict[str, Any]]:
        """Return all items of a list method, as a maintainer sees them."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = self.ask(method, cursor).reply["result"]
            self.shots.pop()
            found += page[key]
            if not page.get("nextCursor"):
                return found
            cursor = {"cursor": page["nextCursor"]}

    # -- the check ---------------------------------------------------------------------------------------------------

    def assert_unharmed(
        self,
        *more: AttackResult,
        may_change: Sequence[str] = (),
        entries: int | None = None,
        allowed_texts: Sequence[str] = (),
    ) -> None:
        """Check everything that was sent since the last check.

        `may_change` are globs of project files that the attack may create or write; `entries` is how many log entries it
        must add at least, by default one per shot; `allowed_texts` are texts that replies may contain, such as a stored path.
        """
        shots = [*self.shots, *(shot for shot in more if shot not in self.shots)]
        self.shots.clear()
        before, self._tree = self._tree, fingerprints(self.folder)
        assert self.process.process.poll() is None, f"the server died: {self.process.log_text[-3000:]}"
        for shot in shots:
            self._check_reply(shot, allowed_texts)
        self._check_normal_call()
        self._check_log((len(shots) if entries is None else entries) + 1)
        self._check_tree(before, may_change)

    def _check_reply(self, shot: AttackResult, allowed_texts: Sequence[str]) -> None:
        if shot.code is not None:
            known = shot.code in KNOWN_CODES or (shot.code.lstrip("-").isdigit() and int(shot.code) in KNOWN_RPC_CODES)
            assert known, f"{shot.what}: an unknown code {shot.code}: {shot.text[:500]}"
            assert shot.code != "internal_error", (
                f"{shot.what}: {shot.text[:500]}; log: {self.process.log_text[-3000:]}"
            )
        # The only absolute path that answers may contain is that of a stored document or backup.
        stored = [] if shot.code is not None else _STORED.findall(shot.text)
        self.assert_no_leak(
            shot.text, shot.what, [*allowed_texts, *(path for path in stored if path.startswith(str(self.root)))]
        )

    def assert_no_leak(self, text: str, what: str = "", allowed_texts: Sequence[str] = ()) -> None:
        """Fail if a text contains internal details or secrets."""
        for harmless in sorted(allowed_texts, key=len, reverse=True):
            text = text.replace(harmless, "")
        private = [str(self.folder), str(Path(__file__).parents[2]), sys.prefix, *self.secrets]
        found = [word for word in private if word in text]
        assert not found, f"{what}: the reply contains {found[0]}: {text[:800]}"
        inside = _INSIDES.search(text)
        assert inside is None, f"{what}: the reply contains {inside.group()!r}: {text[:800]}"

    def _check_normal_call(self) -> None:
        """A normal call is answered in time. One slow call may be the machine's fault, three in a row are not."""
        name, arguments = NORMAL_CALL
        for is_last in (False, False, True):
            shot = self.fire(name, arguments)
            self.shots.pop()
            assert shot.code is None, f"the next normal call failed: {shot.text[:500]}"
            if shot.seconds < self.allowed_seconds:
                return
            assert not is_last, f"the next normal call took {shot.seconds} seconds"

    def _check_log(self, owed: int) -> None:
        before = self._entries
        wait_until(lambda: self.entries() >= before + owed, f"{owed} log entries after {before}", 15)

    def entries(self) -> int:
        """Return how many calls and refusals are in the log."""
        for line in self.process.log_since(self._read_lines):
            self._read_lines += 1
            if line.startswith((b'{"event":"call"', b'{"event":"refused"')):
                self._entries += 1
        return self._entries

    def _check_tree(self, before: Mapping[str, str], may_change: Sequence[str]) -> None:
        changed = {path for path in before.keys() | self._tree.keys() if before.get(path) != self._tree.get(path)}
        allowed = [f"kb/{pattern}" for pattern in may_change]
        wrong = sorted(path for path in changed if not any(fnmatch.fnmatchcase(path, glob) for glob in allowed))
        assert not wrong, f"changed: {wrong}"

    def record_state(self) -> None:
        """Record the files and the log as the state before the next attack."""
        self.shots.clear()
        self._tree = fingerprints(self.folder)
        self.entries()


def _header(value: str) -> str:
    """Encode a value for a header as the stateless era does."""
    if value.isascii() and value.isprintable() and value == value.strip():
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="


def fingerprints(folder: Path) -> dict[str, str]:
    """Return type and content hash of every file by path. Links are not followed; the state directory is left out."""
    found: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if name != STATE]
        for name in (*files, *folders):
            path = here / name
            facts = path.lstat()
            mode = facts.st_mode
            key = path.relative_to(folder).as_posix()
            if stat.S_ISREG(mode) and facts.st_size > 64 * 1024**2:
                found[key] = f"{facts.st_size} bytes of {facts.st_mtime_ns}"  # too large to read after every attack
            elif stat.S_ISREG(mode) and not facts.st_size:
                found[key] = "empty"
            elif stat.S_ISREG(mode):
                found[key] = hashlib.sha256(path.read_bytes()).hexdigest()
            elif stat.S_ISLNK(mode):
                found[key] = f"-> {path.readlink()}"
            elif not stat.S_ISDIR(mode):
                found[key] = f"mode {stat.S_IFMT(mode)}"
    return found


def make_project(folder: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Write the project `kb`, and around it the files that must stay out of reach."""
    for name, text in {
        **OUTSIDE_FILES,
        **{f"kb/{n}": t for n, t in {**PROJECT_FILES, **(files or {})}.items()},
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "kb"


@contextlib.contextmanager
def open_target(
    transport: Transport,
    folder: Path,
    *,
    config: Mapping[str, Any] | None = None,
    files: Mapping[str, str | bytes] | None = None,
    env: Mapping[str, str] | None = None,
    prepare: Callable[[Path], None] | None = None,
    with_tokens: bool = True,
    use_config: bool = True,
    cwd: Path | None = None,
) -> Iterator[AttackTarget]:
    """Start a server over a generated project in `folder`; `prepare` gets the project's root before the start.

    With `use_config=False` the server only has the configuration that it finds in the project.
    """
    root = make_project(folder, files)
    if prepare is not None:
        prepare(root)
    values = {
        "knowledge": {"embeddingModel": "dummy"},
        "limits": {"rateRequests": 1_000_000, "authFailures": 100_000},
        **(config or {}),
    }
    given = (config or {}).get("toolPacks", {})
    all_listed = {
        name: {"tools": "all", **given.get(name, {})} for name in ("introspect", "trace", "notes", "knowledge")
    }
    values["toolPacks"] = {**given, **all_listed}  # every tool is attacked, also those that are not listed by default
    path = folder / "home" / "server.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    environment = {
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
        "TARGET_SECRET": ENVIRONMENT_SECRET,
        **({"KM_READER_TOKEN": READER, "KM_ADMIN_TOKEN": ADMIN} if with_tokens else {}),
        **(env or {}),
    }
    options = ("--config", str(path)) if use_config else ()
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        web: HttpClient | None = None
        if transport == "http":
            server = stack.enter_context(
                serving_http(*options, cwd=cwd or root, env=environment, timeout=START_SECONDS)
            )
            process, web = server.process, server.web
        else:
            process = stack.enter_context(StdioClient("serve", "--stdio", *options, cwd=cwd or root, env=environment))
            assert "result" in process.ask("initialize", handshake(), START_SECONDS)
            process.notify("notifications/initialized")
        # On a busy machine the limits grow by the same factor as the start, which takes 1.5 s on an idle one.
        slowness = max(1.0, (time.monotonic() - started) / 1.5)
        secrets = (READER, ADMIN, ENVIRONMENT_SECRET, CANARY)
        target = AttackTarget(transport, folder, root, process, web, NORMAL_SECONDS * slowness, secrets)
        name, arguments = NORMAL_CALL
        assert target.fire(name, arguments).code is None
        target.process.wait_for_log(lambda line: line.get("event") == "call")
        target.record_state()
        yield target
