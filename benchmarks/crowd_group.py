"""The crowd group: two hundred clients that search at once over HTTP, compared with eight, and how fast /healthz stays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.clients import HttpServer, free_port
from benchmarks.figures import Figure, Plan, percentile
from benchmarks.index_project import queries, write_repository
from contextive.ingest.settings import IngestRequest
from contextive.search.index import EmbeddingSettings, Index, IndexSettings

FEW, MANY = 8, 200
HEALTH_LIMIT_MS = 100.0
_SETTINGS = {
    "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none",
    "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false",
}


@dataclass(slots=True)
class Crowd:
    """What a number of concurrent clients measured."""

    seconds: float = 0.0
    searches: list[float] = field(default_factory=list)
    """Duration of each search in milliseconds."""
    health: list[float] = field(default_factory=list)
    """Duration of each /healthz request meanwhile, in milliseconds."""

    @property
    def rate(self) -> float:
        return len(self.searches) / self.seconds


def measure(plan: Plan) -> Iterator[Figure]:
    """All figures of the group."""
    rounds = 1 if plan.starts < 5 else 3
    each = max(FEW * 40, plan.calls)
    with tempfile.TemporaryDirectory(prefix="contextive-bench-") as folder:
        project = Path(folder) / "project"
        write_repository(project, 300)
        index = Index(IndexSettings(project, project / ".contextive", embedding=EmbeddingSettings("none")))
        index.ingest(IngestRequest())
        index.close()
        port = free_port()
        command = (
            sys.executable,
            "-m",
            "contextive",
            "serve",
            "--http",
            "--port",
            str(port),
            "--project",
            str(project),
        )
        with HttpServer(command, port, _SETTINGS):
            asyncio.run(_crowd(port, FEW, FEW * 5))
            few, many = [], []
            for _ in range(rounds):
                few.append(asyncio.run(_crowd(port, FEW, each)))
                many.append(asyncio.run(_crowd(port, MANY, 4 * each)))
    anchor_name = f"{FEW} clients"
    yield Figure(
        f"searches of {MANY} clients", "calls/s", [c.rate for c in many], [c.rate for c in few], anchor_name, 1.5
    )
    p99 = [percentile(c.searches, 99) for c in many]
    yield Figure(
        f"search, one of {MANY} clients, p99", "ms", p99, [percentile(c.searches, 99) for c in few], anchor_name
    )
    fair = [percentile(c.searches, 50) for c in many]
    yield Figure(f"search, {MANY} clients, p99 compared with p50", "ms", p99, fair, "its p50", 3.0)
    for share in (50, 95):
        health = [percentile(c.health, share) for c in many]
        calm = [percentile(c.health, share) for c in few]
        yield Figure(f"/healthz with {MANY} clients, p{share}", "ms", health, calm, anchor_name, limit=HEALTH_LIMIT_MS)
    slowest = [max(c.health) for c in many]
    yield Figure(f"/healthz with {MANY} clients, slowest", "ms", slowest, [max(c.health) for c in few], anchor_name)


async def _crowd(port: int, clients: int, searches: int) -> Crowd:
    crowd = Crowd()
    asked = iter(queries(searches))
    start = time.perf_counter()
    watcher = asyncio.create_task(_watch(port, crowd))
    try:
        await asyncio.gather(*(_search(port, asked, crowd) for _ in range(clients)))
    finally:
        crowd.seconds = time.perf_counter() - start
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher
    return crowd


async def _search(port: int, asked: Iterator[str], crowd: Crowd) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for query in asked:
        body = json.dumps({"query": query, "limit": 5}).encode()
        head = f"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        before = time.perf_counter()
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await _receive(reader)
        crowd.searches.append((time.perf_counter() - before) * 1000)
    writer.close()


async def _watch(port: int, crowd: Crowd) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while True:
            before = time.perf_counter()
            writer.write(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            await _receive(reader)
            crowd.health.append((time.perf_counter() - before) * 1000)
            await asyncio.sleep(0.02)
    finally:
        writer.close()


async def _receive(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the server refused: {head.decode()}")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))
