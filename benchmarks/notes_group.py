"""The notes group: 10,000 notes on a real server over stdio: reading, searching, saving and writing them."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.clients import StdioServer, request
from benchmarks.figures import Figure, Plan
from benchmarks.index_project import Prose

NOTES = 10_000
WARM_LIMIT_MS = 10.0
WRITE_LIMIT_MS = 200.0
_SETTINGS = {"KM_ADMIN_TOKEN": "bench-admin-token-0123456789", "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"}
"""Writing needs the maintainer scope. Automatic ingest is off, because the index group measures it."""
_ANCHOR = "reading the notes' files"
_FOLDERS = 40


def measure(plan: Plan) -> Iterator[Figure]:
    """All figures of the group."""
    with tempfile.TemporaryDirectory(prefix="contextive-bench-") as folder:
        root = Path(folder)
        write_notes(root, NOTES)
        yield from _questions(root, plan.calls)


def write_notes(root: Path, count: int) -> None:
    """Write notes of about two kilobytes with a few links each, and code in some. They are always the same."""
    prose, rng = Prose(3), random.Random(3)
    for number in range(count):
        path = _path(root, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        paragraphs = [" ".join(prose.words(60)) for _ in range(4)]
        links = [f"[[note-{rng.randrange(count)}]]" for _ in range(4)] + [f"[[Note {rng.randrange(count)}|label]]"]
        code = "\n\n```python\nx = [[1], [2]]\n```\n" if number % 5 == 0 else "\n\nUse `x` here.\n"
        head = f"---\ntitle: Note {number}\ntags: [bench]\ncreated_at: 2024-01-{1 + number % 28:02}T00:00:00Z\n---\n"
        text = f"{head}# Note {number}\n\n" + "\n\n".join(paragraphs) + f"\n\nSee {', '.join(links)}.{code}"
        path.write_text(text, encoding="utf-8")


def _questions(root: Path, calls: int) -> Iterator[Figure]:
    read = [_timed(partial(_read_all, root)) for _ in range(3)]
    command = (sys.executable, "-m", "contextive", "serve", "--stdio", "--profile", "nexus", "--project", str(root))
    with StdioServer(command, "get_page", _SETTINGS) as server:
        server.initialize_only()
        first = _timed(lambda: _call(server, "get_page", slug="note-1"))
        yield Figure("get_page, first call", "ms", [first], read, _ANCHOR)
        first = _timed(lambda: _call(server, "search", query="first of all"))
        yield Figure("search, first call", "ms", [first], read, _ANCHOR)
        rng, words = random.Random(9), Prose(9)
        asked: tuple[tuple[str, Callable[[], dict[str, str]]], ...] = (
            ("get_page", lambda: {"slug": f"note-{rng.randrange(NOTES)}"}),
            ("get_connections", lambda: {"slug": f"Note {rng.randrange(NOTES)}"}),
            ("search", lambda: {"query": words.words(1)[0]}),
            ("search for two words", lambda: {"query": " ".join(words.words(2))}),
            ("search for rare text", lambda: {"query": f"Note {rng.randrange(NOTES)}\n\n"}),
            ("search for missing text", lambda: {"query": f"nowhere {words.words(1)[0]} to be found"}),
        )
        for name, arguments in asked:
            tool = name.partition(" ")[0]
            taken = [_timed(partial(_call, server, tool, **arguments())) for _ in range(calls)]
            yield Figure(f"{name}, warm, p50", "ms", taken, read, _ANCHOR, limit=WARM_LIMIT_MS)
        saved = [_timed(partial(_save_and_read, server, root, number)) for number in range(20)]
        yield Figure("get_page of a note just saved", "ms", saved, read, _ANCHOR, limit=WRITE_LIMIT_MS)
        created = [_timed(partial(_create, server, words, number)) for number in range(10)]
        yield Figure("create_page, with similar pages", "ms", created, read, _ANCHOR, limit=WRITE_LIMIT_MS)
        memory = server.peak_memory_mb()
        yield Figure("peak memory of the server", "MB", [memory], [memory], "itself")


def _save_and_read(server: StdioServer, root: Path, number: int) -> None:
    path = _path(root, number)
    path.write_text(path.read_text(encoding="utf-8") + f"saved{number}\n", encoding="utf-8")
    page = _call(server, "get_page", slug=f"note-{number}")
    if not page["content"].endswith(f"saved{number}\n"):
        raise RuntimeError("the server returned the note as it was before it was saved")


def _create(server: StdioServer, words: Prose, number: int) -> None:
    _call(server, "create_page", title=f"Written {number}", content=" ".join(words.words(200)))


def _call(server: StdioServer, tool: str, **arguments: Any) -> Any:
    answer = server.ask(request(1, "tools/call", {"name": tool, "arguments": arguments}))
    return answer["result"]["structuredContent"]


def _path(root: Path, number: int) -> Path:
    return root / "notes" / f"part{number % _FOLDERS}" / f"note-{number}.md"


def _read_all(root: Path) -> None:
    for path in (root / "notes").rglob("*.md"):
        path.read_bytes()


def _timed(action: Any) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000
