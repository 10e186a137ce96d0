"""Many servers on one project, a client for each, and somebody who kills one of them every few seconds.

A client writes down what was acknowledged to it. When its server dies in the middle of a write, that write may have happened or
not; the client asks the next server which, and only the two are allowed.
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
"""How long a server takes at most from its start to its first answer when nobody else needs the machine."""
WORDS = ("calibrate sensor", "siren", "threshold", "median of nine readings", "zeppelin", "harbour boats")
_FEWEST_KILLS = 4
_MOST_STARTING = 1
_WEIGHTS = {
    "search": 30, "create": 12, "update": 14, "read": 12, "store": 8, "vote": 10, "trace": 6, "status": 5, "ingest": 3,
}  # fmt: skip


class ServerGone(Exception):
    """The server was killed while it was asked."""


class Refused(AssertionError):
    """A server answered with an error."""

    def __init__(self, tool: str, body: Any) -> None:
        super().__init__(f"{tool}: {body}")
        self.code = body.get("code") if isinstance(body, Mapping) else None


class Server:
    """One server process, over stdio or HTTP, asked in the stateless way."""

    def __init__(self, root: Path, *, over_http: bool) -> None:
        self._ids = itertools.count(1)
        self.start_seconds: float | None = None
        """From the first question to its answer; for one that is asked at once, the time of its start."""
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
        asked_at = time.monotonic()
        answer = self._over_http(params) if self._web else self._over_pipe(params)
        if self.start_seconds is None:
            self.start_seconds = time.monotonic() - asked_at
        if "error" in answer:
            raise Refused(tool, answer["error"])
        result = answer["result"]
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
            self._gone()
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
            answer = self._web.request("POST", "/mcp", body, headers, PATIENCE_SECONDS)
            assert answer.status == 200, answer.text
            message: dict[str, Any] = answer.message
            return message
        except (OSError, http.client.HTTPException, StopIteration):
            self._gone()
            raise

    def _gone(self) -> None:
        """Tell a killed server from one that misbehaves."""
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
    """Asks one server at a time, and knows what it was told."""

    name: str
    root: Path
    over_http: bool
    seed: int
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Content and version of each acknowledged page, by slug."""
    texts: dict[str, str] = field(default_factory=dict)
    votes: dict[tuple[str, str], float] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    """Words of writes that a kill cut off; they may be there or not."""
    done: Counter[str] = field(default_factory=Counter)
    seconds: list[tuple[float, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    restarts: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._count = 0
        self.server = Server(self.root, over_http=self.over_http)

    def work(self, over: threading.Event) -> None:
        """Ask one thing after the other until it is enough; a server that was killed is replaced."""
        kinds, weights = list(_WEIGHTS), list(_WEIGHTS.values())
        while not (over.is_set() or self.failures):
            [kind] = self._random.choices(kinds, weights)
            started = time.monotonic()
            try:
                getattr(self, f"_{kind}")()
            except ServerGone:
                self._start_again()
                continue
            except Exception as failure:
                self.failures.append(f"{self.name} {kind}: {type(failure).__name__}: {str(failure)[:1500]}")
                continue
            self.seconds.append((time.monotonic() - started, kind))
            self.done[kind] += 1

    def _start_again(self) -> None:
        self.restarts += 1
        self.server.stop()
        while True:
            self.server = Server(self.root, over_http=self.over_http)
            try:
                self._settle_doubts()
            except ServerGone:
                self.server.stop()
                continue
            return

    def _settle_doubts(self) -> None:
        """A page whose change was cut off has its old content or its new one; from here on it has that."""
        for slug in [slug for slug in self.pages if slug in self.doubtful]:
            page = self.server.call("get_page", slug=slug)
            old, new = self.pages[slug][0], self._wanted
            if page["content"] not in (old, new):
                self.failures.append(f"{slug} has neither content: {page['content']!r}")
            self.pages[slug] = (page["content"], page["version"])
            self.doubtful.discard(slug)

    def be_served(self) -> None:
        """See that there is a living server at the end, which knows what became of a write that was cut off."""
        if not self.server.is_alive:
            self._start_again()

    # What clients do

    def _next(self) -> str:
        self._count += 1
        return f"{self.name}x{self._count}"

    def _create(self) -> None:
        word = self._next()
        self.doubtful.add(f"page-{word}")
        content = f"All about {word} and the siren.\n"
        made = self.server.call("create_page", title=f"Page {word}", content=content)
        self.pages[made["slug"]] = (content, made["version"])
        self.doubtful.discard(f"page-{word}")

    def _update(self) -> None:
        if not self.pages:
            return self._create()
        slug = self._random.choice(sorted(self.pages))
        self._wanted = f"Changed by {self._next()}.\n"
        self.doubtful.add(slug)
        changed = self.server.call("update_page", slug=slug, version=self.pages[slug][1], content=self._wanted)
        self.pages[slug] = (self._wanted, changed["version"])
        self.doubtful.discard(slug)
        return None

    def _store(self) -> None:
        word = self._next()
        content = f"What {word} says of the threshold.\n"
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
        """What was acknowledged to this client is what any server shows at once."""
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
    """The clients, who kills, and who watches."""

    root: Path
    store: Store
    clients: list[Client]
    kill_seconds: float
    kills: int = 0
    takeovers: list[float] = field(default_factory=list)
    """How long nobody kept the index after the death of who did."""
    most_watchers: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self, operations: int) -> float:
        """Have the clients do that much together; how many seconds it took."""
        started = time.monotonic()
        over = threading.Event()
        killer = threading.Thread(target=self._kill_now_and_then, args=(over,))
        watcher = threading.Thread(target=self._count_watchers, args=(over,))
        workers = [threading.Thread(target=client.work, args=(over,), name=client.name) for client in self.clients]
        for thread in (*workers, killer, watcher):
            thread.start()
        while not (self.done().total() >= operations and self.kills >= _FEWEST_KILLS) and not self._has_failed():
            time.sleep(0.05)
        over.set()
        killer.join()
        watcher.join()
        for thread in workers:
            thread.join()
        for client in self.clients:
            client.be_served()
        return time.monotonic() - started

    def _has_failed(self) -> bool:
        return bool(self.failures) or any(client.failures for client in self.clients)

    @property
    def slowness(self) -> float:
        """How much slower than a quiet machine this one is: by how long its servers needed to start."""
        starts = [client.server.start_seconds or 0.0 for client in self.clients]
        return max(1.0, max(starts) / _QUIET_START_SECONDS)

    def done(self) -> Counter[str]:
        return sum((client.done for client in self.clients), Counter())

    def _kill_now_and_then(self, over: threading.Event) -> None:
        chance = random.Random(7)
        while not over.wait(self.kill_seconds):
            # On a slow machine servers would die faster than they start, and nobody would be left to take over.
            if sum(client.server.start_seconds is None for client in self.clients) > _MOST_STARTING:
                continue
            holder = self.store.lease_holder("keeper")
            keeper = next((c.server for c in self.clients if holder and _is(holder, c.server.pid)), None)
            # Every other victim is the one that keeps the index: its death is the one that others have to notice.
            other = chance.choice(self.clients).server
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

    def _count_watchers(self, over: threading.Event) -> None:
        while not over.wait(0.2):
            watching = sum(watches_files(client.server.pid) for client in self.clients)
            self.most_watchers = max(self.most_watchers, watching)


def watches_files(pid: int) -> bool:
    """Whether a process follows the files of the whole project, by the thread that its watcher has."""
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                if (thread / "comm").read_text(encoding="utf-8").startswith("notify-rs"):
                    return True
    return False


def _is(holder: str, pid: int) -> bool:
    return str(pid) in holder.replace(":", " ").replace("-", " ").split()
