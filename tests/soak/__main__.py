"""Run a stdio and an HTTP server under mixed load and check that nothing grows: `python -m tests.soak`.

`SOAK_SECONDS` is the duration (600). The load repeats the same pages, documents and queries, so only the votes should
grow, which the database keeps. The first fifth is a warm-up in which caches fill.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.durability.concurrent_load import WORDS, Server
from tests.packs.knowledge.repository import write_repository
from tests.processes import open_descriptors

from .slopes import ALLOWANCES, Allowance, Slope, slope_of

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
WARM_UP_SHARE = 0.2
SAMPLES = 60
PAGES = 20


class Load:
    """One server and the client that calls it all the time."""

    def __init__(self, name: str, root: Path, *, over_http: bool) -> None:
        self.name = name
        self._server = Server(root, over_http=over_http)
        self._took: list[float] = []
        self._lock = threading.Lock()
        self.calls = 0
        self.failure: BaseException | None = None

    def work(self, over: threading.Event) -> None:
        try:
            for step in self._round():
                if over.is_set():
                    return
                started = time.monotonic()
                step()
                with self._lock:
                    self._took.append(time.monotonic() - started)
                    self.calls += 1
        except BaseException as failure:
            self.failure = failure

    def _round(self) -> Iterator[Callable[[], Any]]:
        """Yield the same calls and changes again and again."""
        call = self._server.call
        for number in itertools.count():
            slug, query = f"{self.name}-{number % PAGES}", WORDS[number % len(WORDS)]
            if number < PAGES:
                yield lambda slug=slug: call("create_page", title=slug, content="Begun.\n")  # type: ignore[misc]
            yield lambda query=query: call("km-search", query=query)  # type: ignore[misc]
            yield lambda slug=slug, number=number: self._change(slug, number)  # type: ignore[misc]
            yield lambda: call("list_pages")
            yield lambda: call("search_requirements", query="level")
            yield lambda query=query: self._vote(query)  # type: ignore[misc]
            yield lambda: call("km-graph-search", term="siren")
            if number % 5 == 0:
                title = f"text {self.name} {number % 10}"
                content = f"The {number % 1000}th text of the siren.\n"
                yield lambda c=content, t=title: call("km-storetext", content=c, title=t, overwrite=True)  # type: ignore[misc]
            if number % 50 == 0:
                yield lambda: call("km-ingest-trigger")
            time.sleep(0.02)

    def _change(self, slug: str, number: int) -> None:
        page = self._server.call("get_page", slug=slug)
        self._server.call("update_page", slug=slug, version=page["version"], content=f"Change {number % 1000}.\n")

    def _vote(self, query: str) -> None:
        found = self._server.call("km-search", query=query, limit=3)
        if found["results"]:
            chunk = found["results"][0]["chunk"]["chunk_id"]
            request = found["metadata"]["request_id"]
            self._server.call("km-feedback-submit", request_id=request, chunk_id=chunk, vote=0.5)

    def sample(self) -> dict[str, float]:
        with self._lock:
            took, self._took = sorted(self._took), []
        pid = self._server.pid
        found: dict[str, float] = {"descriptors": open_descriptors(pid)}
        found |= {"private memory": memory_bytes(pid, "RssAnon"), "mapped files": memory_bytes(pid, "RssFile")}
        return found | ({"p99": took[int(len(took) * 0.99)]} if took else {})

    def stop(self) -> None:
        self._server.stop()


def memory_bytes(pid: int, kind: str) -> int:
    """Return resident memory of one kind: private memory, or mapped files shared with other processes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    [line] = [line for line in status.splitlines() if line.startswith(f"{kind}:")]
    return int(line.split()[1]) * 1024


def soak(root: Path, seconds: float) -> list[Slope]:
    """Run the load and return the growth of every sampled value."""
    loads = [Load("stdio", root, over_http=False), Load("http", root, over_http=True)]
    over = threading.Event()
    threads = [threading.Thread(target=load.work, args=(over,), daemon=True) for load in loads]
    seen: dict[str, list[float]] = defaultdict(list)
    log = root / ".contextive/index.db-wal"
    try:
        for thread in threads:
            thread.start()
        time.sleep(seconds * WARM_UP_SHARE)
        for load in loads:
            load.sample()
        for _ in range(SAMPLES):
            time.sleep(seconds * (1 - WARM_UP_SHARE) / SAMPLES)
            for load in loads:
                if load.failure is not None:
                    raise load.failure
                for what, value in load.sample().items():
                    seen[f"{load.name} {what}"].append(value)
            seen["write-ahead log"].append(log.stat().st_size if log.exists() else 0)
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
        for load in loads:
            load.stop()
    print(f"{sum(load.calls for load in loads)} calls in {seconds:.0f} s")
    for what, samples in sorted(seen.items()):
        print(f"{what}: {' '.join(f'{value:.4g}' for value in samples[::6])}")
    return [slope_of(what, samples, _allowance(what)) for what, samples in sorted(seen.items())]


def _allowance(what: str) -> Allowance:
    return next(allowance for name, allowance in ALLOWANCES.items() if what.endswith(name))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        slopes = soak(write_repository(Path(folder) / "station"), SECONDS)
    for slope in slopes:
        print(slope)
    return int(any(slope.is_too_steep for slope in slopes))


if __name__ == "__main__":
    sys.exit(main())
