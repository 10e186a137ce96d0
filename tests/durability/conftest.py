"""Compiles `fault.c`, the hook that makes writes fail, once, and runs jobs (see `jobs.py`) with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.processes import clean_environment

from . import fault

LIMIT_SECONDS = 4 * 3600


@pytest.fixture(scope="session")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not fault.CAN_BUILD:
        pytest.skip("the hook needs Linux and a C compiler")
    return fault.build(tmp_path_factory.mktemp("hook"))


def outcomes_of(
    jobs: Sequence[str], folder: Path, hook: Path, points: str, *more: int, program: str = "jobs"
) -> Mapping[str, Any]:
    """The outcome of each job with a fault at `points` of its writes (a number or "all"); `more` may be an errno."""
    finished = subprocess.run(
        [sys.executable, "-m", f"tests.durability.{program}", ",".join(jobs), str(folder), points, *map(str, more)],
        cwd=Path(__file__).parents[2],
        env=clean_environment({"LD_PRELOAD": str(hook)}),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    results = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith('{"job"')]
    return {outcome["job"]: outcome for outcome in results}
