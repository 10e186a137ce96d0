"""Many servers on one project, a client for each, and a thread that kills one of the servers every few seconds.

A client records all acknowledged writes. When its server dies during a write, that write may have happened or not;
the client asks the next server, and accepts nothing else.
"""

from __future__ import annotations

import http.client
import itertools
import json
import queue
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextive.store.protocol import Store
from tests.raw_clients import HttpClient, StdioClient, envelope, modern_headers, rpc

TOKEN = "a-token-for-tests-that-is-long-enough"
ENVIRONMENT = {
    "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "dummy",
    "CONTEXTIVE_LIMITS__RATE_REQUESTS": "0",
    "KM_ADMIN_TOKEN": TOKEN,
}
PATIENCE_SECONDS = 120.0
_QUIET_START_SECONDS = 4.0
"""How long a server needs at most from its start to its first response on an idle machine."""
WORDS = ("calibrate sensor", "siren", "threshold", "median of nine readings", "zeppelin", "harbour boats")
_MAX_STARTING = 1
_WEIGHTS = {
    "search": 30, "create": 12, "update": 14, "read": 12, "store": 8, "vote": 10, "trace": 6, "status": 5, "ingest": 3,
}  # fmt: skip


class ServerGone(Exception):
    """The server was killed during a call."""


class Refused(AssertionError):
    """A server answered with an error."""

    def __init__(self, tool: str, body: Any) -> None:
        super().__init__(f"{tool}: {body}")
        self.code = body.get("code") if isinstance(body, Mapping) else None


class Server:
    """One server process, over stdio or HTTP, called with the stateless form of MCP."""

    def __init__(self, root: Path, *, over_http: bool) -> None:
        self._ids = itertools.count(1)
        self.start_seconds: float | None = None
        """The duration of the first call. It includes the start if the server is called immediately."""
        self._web: HttpClient | None = None
        if over_http:
            self.pipe = StdioClient(
                "serve", "--http", "--port", "0",
                cwd=root, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            line = self.pipe.wait_for_log(lambda found: found["event"] == "serving", PATIENCE_SECONDS)
            self._web = HttpClient(int(line["url"].rsplit(":", 1)[1].split("/")[0]), TOKEN)
        else:
            self.pipe = StdioClient("serve", cwd=root, env=ENVIRONMENT)

    @property
    def pid(self) -> int:
        return self.pipe.process.pid

    @property
    def is_alive(self) -> bool:
        return self.pipe.process.poll() is None

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        called_at = time.monotonic()
        response = self._over_http(params) if self._web else self._over_pipe(params)
        if self.start_seconds is None:
            self.start_seconds = time.monotonic() - called_at
        if "error" in response:
            raise Refused(tool, response["error"])
        result = response["result"]
        if result.get("isError"):
            raise Refused(tool, result.get("structuredContent", {}).get("error", result))
        data: dict[str, Any] = result["structuredContent"]
        return data

    def _over_pipe(self, params: Mapping[str, Any]) -> dict[str, Any]:
        request_id = next(self._ids)
        try:
            self.pipe.send(rpc("tools/call", envelope(params), request_id))
            while True:
                message: dict[str, Any] = self.pipe.receive(PATIENCE_SECONDS)
                if message.get("id") == request_id and "method" not in message:
                    return message
        except (OSError, AssertionError, queue.Empty):
            self._raise_if_killed()
            raise

    def _over_http(self, params: Mapping[str, Any]) -> dict[str, Any]:
        assert self._web is not None
        try:
            headers = {
                **modern_headers("tools/call", params),
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            }
            body = json.dumps(rpc("tools/call", envelope(params))).encode()
            response = self._web.request("POST", "/mcp", body, headers, PATIENCE_SECONDS)
            assert response.status == 200, response.text
            message: dict[str, Any] = response.message
            return message
        except (OSError, http.client.HTTPException, StopIteration):
            self._raise_if_killed()
            raise

    def _raise_if_killed(self) -> None:
        """Raise `ServerGone` if the server was killed, and did not fail by itself."""
        with suppress(subprocess.TimeoutExpired):
            self.pipe.process.wait(5)
        if self.pipe.process.returncode == -signal.SIGKILL:
            raise ServerGone

    def kill(self) -> None:
        self.pipe.process.send_signal(signal.SIGKILL)

    def stop(self) -> None:
        if self._web is not None:
            self.pipe.process.terminate()
        self.pipe.stop()


@dataclass
class Client:
    """Calls one server at a time, and records what was acknowledged."""

    name: str
    root: Path
    over_http: bool
    seed: int
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Content and version of each acknowledged page, by slug."""
    texts: dict[str, str] = field(default_factory=dict)
    votes: dict[tuple[str, str], float] = field(default_factory=dict)
    interrupted: set[str] = field(default_factory=set)
    """Slugs of pages whose write was interrupted by a kill; it may have happened or not."""
    done: Counter[str] = field(default_factory=Counter)
    seconds: list[tuple[float, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    restarts: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._count = 0
        self.server = Server(self.root, over_http=self.over_http)

    def work(self, stop_event: threading.Event) -> None:
        """Make one call after another until stopped. A killed server is replaced."""
        kinds, weights = list(_WEIGHTS), list(_WEIGHTS.values())
        while not (stop_event.is_set() or self.failures):
            [kind] = self._random.choices(kinds, weights)
            started = time.monotonic()
            try:
                getattr(self, f"_{kind}")()
            except ServerGone:
                self._restart()
                continue
            except Exception as failure:
                self.failures.append(f"{self.name} {kind}: {type(failure).__name__}: {str(failure)[:1500]}")
                continue
            self.seconds.append((time.monotonic() - started, kind))
            self.done[kind] += 1

    def _restart(self) -> None:
        self.restarts += 1
        self.server.stop()
        while True:
            self.server = Server(self.root, over_http=self.over_http)
            try:
                self._check_interrupted_writes()
            except ServerGone:
                self.server.stop()
                continue
            return

    def _check_interrupted_writes(self) -> None:
        """A page whose change was interrupted must have its old or its new content; remember which."""
        for slug in [slug for slug in self.pages if slug in self.interrupted]:
            page = self.server.call("get_page", slug=slug)
            old, new = self.pages[slug][0], self._new_content
            if page["content"] not in (old, new):
                self.failures.append(f"{slug} has neither content: {page['content']!r}")
            self.pages[slug] = (page["content"], page["version"])
            self.interrupted.discard(slug)

    def ensure_server(self) -> None:
        """Make sure that there is a running server at the end, and that interrupted writes are checked."""
        if not self.server.is_alive:
            self._restart()

    # Operations

    def _next(self) -> str:
        self._count += 1
        return f"{self.name}x{self._count}"

    def _create(self) -> None:
        word = self._next()
        self.interrupted.add(f"page-{word}")
        content = f"All about {word} and the siren.\n"
        page = self.server.call("create_page", title=f"Page {word}", content=content)
        self.pages[page["slug"]] = (content, page["version"])
        self.interrupted.discard(f"page-{word}")

    def _update(self) -> None:
        if not self.pages:
            return self._create()
        slug = self._random.choice(sorted(self.pages))
        self._new_content = f"Changed by {self._next()}.\n"
        self.interrupted.add(slug)
        changed = self.server.call("update_page", slug=slug, version=self.pages[slug][1], content=self._new_content)
        self.pages[slug] = (self._new_content, changed["version"])
        self.interrupted.discard(slug)
        return None

    def _store(self) -> None:
        word = self._next()
        content = f"What {word} says about the threshold.\n"
        stored = self.server.call("km-storetext", title=f"Text {word}", content=content)
        self.texts[stored["relative_path"]] = content

    def _vote(self) -> None:
        found = self.server.call("km-search", query=self._random.choice(WORDS), limit=3)
        if not found["results"]:
            return
        request, chunk = found["metadata"]["request_id"], found["results"][0]["chunk"]["chunk_id"]
        vote = round(self._random.uniform(-1, 1), 2)
        self.server.call("km-feedback-submit", request_id=request, chunk_id=chunk, vote=vote)
        self.votes[request, chunk] = vote

    def _search(self) -> None:
        self.server.call("km-search", query=self._random.choice(WORDS), limit=5)

    def _read(self) -> None:
        """Every server returns acknowledged writes immediately."""
        if not self.pages:
            self.server.call("list_pages")
            return
        slug = self._random.choice(sorted(self.pages))
        page = self.server.call("get_page", slug=slug)
        if (page["content"], page["version"]) != self.pages[slug]:
            self.failures.append(f"{slug} is {page['content']!r}, acknowledged was {self.pages[slug]}")

    def _trace(self) -> None:
        self.server.call("search_requirements", query="level")

    def _status(self) -> None:
        self.server.call("km-ingest-status")

    def _ingest(self) -> None:
        self.server.call("km-ingest-trigger")


@dataclass
class ConcurrentLoad:
    """Runs the clients, a thread that kills servers, and a thread that counts file watchers."""

    root: Path
    store: Store
    clients: list[Client]
    kill_seconds: float
    kills: int = 0
    takeovers: list[float] = field(default_factory=list)
    """How long it took until another server kept the index up to date, after the one that did was killed."""
    most_watchers: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self, operations: int, kills: int) -> float:
        """Run until there were that many calls in total, and kills; returns the duration in seconds."""
        started = time.monotonic()
        stop_event = threading.Event()
        killer = threading.Thread(target=self._kill_now_and_then, args=(stop_event,))
        watcher = threading.Thread(target=self._count_watchers, args=(stop_event,))
        workers = [
            threading.Thread(target=client.work, args=(stop_event,), name=client.name) for client in self.clients
        ]
        for thread in (*workers, killer, watcher):
            thread.start()
        while not (self.done().total() >= operations and self.kills >= kills) and not self._has_failed():
            time.sleep(0.05)
        stop_event.set()
        killer.join()
        watcher.join()
        for thread in workers:
            thread.join()
        for client in self.clients:
            client.ensure_server()
        return time.monotonic() - started

    def _has_failed(self) -> bool:
        return bool(self.failures) or any(client.failures for client in self.clients)

    @property
    def slowness(self) -> float:
        """How much slower this machine is than an idle one, measured by the start of its servers."""
        starts = [client.server.start_seconds or 0.0 for client in self.clients]
        return max(1.0, max(starts) / _QUIET_START_SECONDS)

    def done(self) -> Counter[str]:
        return sum((client.done for client in self.clients), Counter())

    def _kill_now_and_then(self, stop_event: threading.Event) -> None:
        rng = random.Random(7)
        while not stop_event.wait(self.kill_seconds):
            # On a slow machine servers would be killed faster than they start, and none would be left to take over.
            if sum(client.server.start_seconds is None for client in self.clients) > _MAX_STARTING:
                continue
            holder = self.store.lease_holder("keeper")
            keeper = next((c.server for c in self.clients if holder and _has_pid(holder, c.server.pid)), None)
            # Every second kill hits the server that keeps the index up to date, because others have to notice that.
            other = rng.choice(self.clients).server
            victim = keeper if keeper is not None and self.kills % 2 == 0 else other
            victim.kill()
            self.kills += 1
            if victim is keeper and holder is not None:
                self._await_takeover(holder)

    def _await_takeover(self, holder: str) -> None:
        died = time.monotonic()
        while self.store.lease_holder("keeper") in (None, holder):
            if time.monotonic() > died + PATIENCE_SECONDS:
                self.failures.append("nobody took over the index")
                return
            time.sleep(0.02)
        self.takeovers.append(time.monotonic() - died)

    def _count_watchers(self, stop_event: threading.Event) -> None:
        while not stop_event.wait(0.2):
            watching = sum(watches_files(client.server.pid) for client in self.clients)
            self.most_watchers = max(self.most_watchers, watching)


def watches_files(pid: int) -> bool:
    """Whether a process watches the files of the project: then it has a thread of the watcher library."""
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                if (thread / "comm").read_text(encoding="utf-8").startswith("notify-rs"):
                    return True
    return False


def _has_pid(holder: str, pid: int) -> bool:
    return str(pid) in holder.replace(":", " ").replace("-", " ").split()
