"""How often search_requirements puts the right requirement among the first three, and how long it takes.

    python -m benchmarks.requirement_questions PROJECT [FILE]

PROJECT must have the specifications of the questions, by default RFC 9000 to 9002. FILE has one JSON object per line: `query`,
and `relevant`, the identifiers of the requirements that answer it. If the project has an index with embeddings, they are used.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Final

from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN
from contextive.registry import OWNER_AS_READER
from contextive.server.host import Host
from contextive.server.profiles import PROFILES

QUESTIONS: Final = Path(__file__).parent / "judgements" / "requirements" / "rfc9000-9002.jsonl"
FIRST: Final = 3
ROUNDS: Final = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("project", type=Path)
    parser.add_argument("questions", nargs="?", type=Path, default=QUESTIONS, metavar="FILE")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.questions.read_text(encoding="utf-8").splitlines()]
    environ = {**os.environ, "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"}
    request = ConfigRequest(
        project=arguments.project.resolve(), explicit=None, builtin_packs=frozenset(BUILTIN), environ=environ
    )
    host = Host(load_config(request), mode="in-process")
    try:
        return _report(host, rows)
    finally:
        host.close()


def _report(host: Host, rows: list[dict[str, Any]]) -> int:
    found, seconds = 0, []
    _identifiers(host, "warm up")
    for row in rows:
        identifiers = _identifiers(host, row["query"])
        for _ in range(ROUNDS):
            started = time.perf_counter()
            _identifiers(host, row["query"])
            seconds.append(time.perf_counter() - started)
        ranks = [identifiers.index(one) + 1 for one in row["relevant"] if one in identifiers]
        found += bool(ranks) and min(ranks) <= FIRST
        print(f"{min(ranks, default='-'):>3}  {row['query']}")
    slow = statistics.quantiles(seconds, n=20)[-1]
    print(f"{found} of {len(rows)} among the first {FIRST}")
    print(f"{1000 * statistics.median(seconds):.1f} ms in the median, {1000 * slow:.1f} ms at the 95th percentile")
    return 0 if found >= 0.8 * len(rows) else 1


def _identifiers(host: Host, query: str) -> list[str]:
    """The identifiers of the requirements that the tool returns."""
    surface = host.widest_surface(PROFILES["duvet"])
    context = host.context(OWNER_AS_READER, door="benchmark", profile=PROFILES["duvet"], request_id="0" * 32)
    arguments = {"query": query}
    answer = asyncio.run(host.dispatcher.call(surface, "search_requirements", arguments, context))
    return [entry["identifier"] for entry in answer.data["result"]]


if __name__ == "__main__":
    sys.exit(main())
