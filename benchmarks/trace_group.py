"""The trace group: a complete report, and a call to a running server, compared with reading the same files.

If `$DUVET_RS` is the path of the real duvet, both run alternately on the same project. The budget of a cold report needs it.
The budgets are for an idle machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.clients import StdioServer, call, environment
from benchmarks.figures import Figure, Plan, alternate
from benchmarks.trace_project import generate_project

DUVET_BUDGET = 3.0
"""How many times as long as duvet a cold report may take, if duvet needs more than `SHORT_MS`."""
SHORT_MS = 200.0
SHORT_REPORT_LIMIT_MS = 300.0
"""How long a cold report may take if duvet needs at most `SHORT_MS`."""
WARM_LIMIT_MS = 20.0
EDIT_LIMIT_MS = 60.0
MEMORY_LIMIT_MB = 250.0
TOOL = "list_uncited_requirements"
_REPORT = (sys.executable, "-c", "from contextive.cli import duvet_main; duvet_main()", "report")


def measure(plan: Plan) -> Iterator[Figure]:
    """All figures of the group, on the generated project or on the one that `$TRACE_PROJECT` names."""
    rounds = max(3, plan.starts // 3)
    with tempfile.TemporaryDirectory(prefix="contextive-bench-") as folder:
        project = Path(folder) / "project"
        named = os.environ.get("TRACE_PROJECT")
        if named:
            shutil.copytree(named, project, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        else:
            generate_project(project)
        # A report takes half a second, and slow moments of a shared machine last longer, so many reports are measured.
        yield from _reports(project, rounds * 5)
        yield from _questions(project, rounds)


def _reports(project: Path, rounds: int) -> Iterator[Figure]:
    ours, read = alternate(rounds, lambda: _report_ms(_REPORT, project), lambda: _read_ms(project))
    yield Figure("duvet report, cold", "ms", ours, read, "reading the files")
    if duvet := os.environ.get("DUVET_RS"):
        ours, theirs = alternate(
            rounds, lambda: _report_ms(_REPORT, project), lambda: _report_ms((duvet, "report"), project)
        )
        is_long = median(theirs) > SHORT_MS
        yield Figure(
            "duvet report, cold, compared with duvet",
            "ms",
            ours,
            theirs,
            "the real duvet",
            budget=DUVET_BUDGET if is_long else None,
            limit=None if is_long else SHORT_REPORT_LIMIT_MS,
        )


def _questions(project: Path, rounds: int) -> Iterator[Figure]:
    command = (sys.executable, "-m", "contextive", "serve", "--stdio", "--profile", "duvet", "--project", str(project))
    with StdioServer(command, TOOL) as server:
        server.initialize_only()
        start = time.perf_counter()
        server.ask(call(1, TOOL))
        cold = (time.perf_counter() - start) * 1000
        yield Figure(f"{TOOL}, first call", "ms", [cold], [_read_ms(project)], "reading the files")
        warm, read = alternate(rounds * 5, lambda: _ask_ms(server), lambda: _read_ms(project))
        yield Figure(f"{TOOL}, warm", "ms", warm, read, "reading the files", limit=WARM_LIMIT_MS)
        source = next(iter(sorted((project / "src").rglob("*.rs"))))
        edited, read = alternate(rounds * 3, lambda: _edit_and_ask_ms(server, source), lambda: _read_ms(project))
        yield Figure(f"{TOOL}, after one edit", "ms", edited, read, "reading the files", limit=EDIT_LIMIT_MS)
        memory = server.peak_memory_mb()
        yield Figure("peak memory of the server", "MB", [memory], [MEMORY_LIMIT_MB], "the limit", limit=MEMORY_LIMIT_MB)


def _report_ms(command: tuple[str, ...], project: Path) -> float:
    # Move the output of the last run aside instead of deleting it: a file system that has just freed hundreds of inodes
    # creates files many times more slowly, which would distort the measurement.
    aside = project.parent / "aside"
    aside.mkdir(exist_ok=True)
    for name in ("requirements", "reports"):
        written = project / ".duvet" / name
        if written.exists():
            written.rename(aside / f"{name}-{len(list(aside.iterdir()))}")
    start = time.perf_counter()
    subprocess.run(command, cwd=project, env=environment(), check=True, capture_output=True)
    return (time.perf_counter() - start) * 1000


def _read_ms(project: Path) -> float:
    start = time.perf_counter()
    for folder in ("src", "specs"):
        for path in (project / folder).rglob("*"):
            if path.is_file():
                path.read_bytes()
    return (time.perf_counter() - start) * 1000


def _ask_ms(server: StdioServer) -> float:
    start = time.perf_counter()
    server.ask(call(2, TOOL))
    return (time.perf_counter() - start) * 1000


def _edit_and_ask_ms(server: StdioServer, source: Path) -> float:
    """Ask after an edit that moves all citations of a file, so that each of them has changed."""
    source.write_text("\n" + source.read_text(encoding="utf-8"), encoding="utf-8")
    return _ask_ms(server)
