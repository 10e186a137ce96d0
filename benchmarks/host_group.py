"""The host group: how fast the server starts and how much it adds to a call, compared with a bare server on the same SDK."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.clients import HttpClient, HttpServer, StdioServer, discover, environment, free_port, initialize
from benchmarks.figures import Figure, Plan, alternate, percentile

START_BUDGET = 1.3
CALL_BUDGET = 1.5
DEPTH = 32

TOOL, ANCHOR_TOOL = "contextive_server_info", "echo"
OURS = (sys.executable, "-m", "contextive", "serve", "--project", "{project}")
ANCHOR = (sys.executable, "-m", "benchmarks.anchor")


def measure(plan: Plan) -> Iterator[Figure]:
    """All figures of the group, one after the other."""
    yield from _short_commands(plan)
    yield from _cold_starts(plan)
    yield from _stdio_calls(plan)
    yield from _http_calls(plan)


def _short_commands(plan: Plan) -> Iterator[Figure]:
    pairs = (
        ("--version", ["-m", "contextive", "--version"], "python -c pass", ["-c", "pass"]),
        (
            "imports for serving stdio",
            ["-c", "import contextive.server.host, contextive.server.serve, contextive.server.stdio"],
            "imports of the bare SDK",
            ["-c", "import mcp.server.lowlevel, mcp.server.stdio"],
        ),
    )
    for name, ours, anchor_name, anchor in pairs:
        yield Figure(name, "ms", *alternate(plan.starts, _timed(ours), _timed(anchor)), anchor_name)


def _cold_starts(plan: Plan) -> Iterator[Figure]:
    for name, first in (("initialize", initialize()), ("server/discover", discover())):
        ours, anchor = alternate(
            plan.starts,
            lambda first=first: _cold_start_ms((*OURS, "--stdio"), first),  # type: ignore[misc]
            lambda first=first: _cold_start_ms((*ANCHOR, "stdio"), first),  # type: ignore[misc]
        )
        yield Figure(f"cold start to {name}, stdio", "ms", ours, anchor, "bare SDK", START_BUDGET)


def _stdio_calls(plan: Plan) -> Iterator[Figure]:
    with StdioServer((*OURS, "--stdio"), TOOL) as ours, StdioServer((*ANCHOR, "stdio"), ANCHOR_TOOL) as anchor:
        for server in (ours, anchor):
            server.initialize_session()
            server.latencies_ms(plan.calls)
        anchor_name = "bare SDK, its stdio"
        yield from _latencies(plan, "stdio", ours.latencies_ms, anchor.latencies_ms, anchor_name)
        rates = alternate(
            plan.rounds,
            lambda: ours.calls_per_second(plan.calls, DEPTH),
            lambda: anchor.calls_per_second(plan.calls, DEPTH),
        )
        yield Figure(f"tools/call, stdio, {DEPTH} at once", "calls/s", *rates, anchor_name, CALL_BUDGET)


def _http_calls(plan: Plan) -> Iterator[Figure]:
    anchor_name = "bare SDK, its HTTP app"
    for json_response, eras in ((False, ("session, SSE", "2026-07-28")), (True, ("session, JSON",))):
        with contextlib.ExitStack() as stack:
            ours, anchor = (stack.enter_context(server) for server in _http_servers(json_response))
            for era in eras:
                modern = era == "2026-07-28"
                client = HttpClient(ours.port, TOOL, modern=modern)
                anchor_client = HttpClient(anchor.port, ANCHOR_TOOL, modern=modern)
                for warmed in (client, anchor_client):
                    warmed.latencies_ms(plan.calls)
                where = f"HTTP {era}"
                yield from _latencies(plan, where, client.latencies_ms, anchor_client.latencies_ms, anchor_name)
                rates = alternate(
                    plan.rounds,
                    lambda client=client: client.calls_per_second(plan.calls),  # type: ignore[misc]
                    lambda client=anchor_client: client.calls_per_second(plan.calls),  # type: ignore[misc]
                )
                yield Figure(f"tools/call, {where}, 8 at once", "calls/s", *rates, anchor_name, CALL_BUDGET)


def _latencies(
    plan: Plan,
    where: str,
    ours: Callable[[int], list[float]],
    anchor: Callable[[int], list[float]],
    anchor_name: str,
) -> Iterator[Figure]:
    taken, taken_by_anchor = alternate(plan.rounds, lambda: ours(plan.calls), lambda: anchor(plan.calls))
    for percent in (50, 99):
        values = [percentile(latencies, percent) for latencies in taken]
        anchor_values = [percentile(latencies, percent) for latencies in taken_by_anchor]
        yield Figure(f"tools/call, {where}, p{percent}", "ms", values, anchor_values, anchor_name, CALL_BUDGET)


def _http_servers(json_response: bool) -> Iterator[HttpServer]:
    port = free_port()
    answer = {"CONTEXTIVE_SERVER__JSON_RESPONSE": str(json_response).lower()}
    yield HttpServer((*OURS, "--http", "--port", str(port)), port, answer)
    port = free_port()
    yield HttpServer((*ANCHOR, "http", str(port), *(["json"] if json_response else [])), port)


def _cold_start_ms(command: tuple[str, ...], first: dict[str, Any]) -> float:
    with StdioServer(command, "") as server:
        server.ask(first)
        return (time.perf_counter() - server.started) * 1000


def _timed(arguments: list[str]) -> Callable[[], float]:
    def run() -> float:
        before = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment())
        return (time.perf_counter() - before) * 1000

    return run
