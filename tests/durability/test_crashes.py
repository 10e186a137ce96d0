"""A process that dies at any of its writes leaves only faults that `verify` reports and another run fixes.

In CI some writes of each job are chosen; with `DURABILITY=full` all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.processes import clean_environment

from .conftest import outcomes_of
from .jobs import JOBS

POINTS = "all" if os.environ.get("DURABILITY") == "full" else os.environ.get("DURABILITY_POINTS", "3")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, hook: Path) -> Mapping[str, Any]:
    """The outcomes of all jobs, from one process: a short job spends most of its time on the start of the process."""
    return outcomes_of(tuple(JOBS), tmp_path_factory.mktemp("crashes"), hook, POINTS)


@pytest.mark.parametrize("job", JOBS)
##= docs/spec/knowledge.md#store
##% A process that dies during a write MUST leave only faults that `verify` reports and the next run fixes.
def test_a_job_killed_at_any_write_leaves_only_reported_faults(job: str, outcomes: Mapping[str, Any]) -> None:
    outcome = outcomes[job]
    print(f"\n{job}: {outcome['writes']} writes, killed at {outcome['faults']} of them")
    assert outcome["failures"] == []
    assert outcome["faults"] >= 3


def test_the_hook_kills_in_the_middle_of_a_write(tmp_path: Path, hook: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from tests.durability import fault\n"
        "root = Path(sys.argv[1]); fault.arm(root, 2)\n"
        "handle = os.open(root / 'file', os.O_WRONLY | os.O_CREAT)\n"
        "os.write(handle, b'first!'); os.write(handle, b'second'); os.write(handle, b'third!')"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env=clean_environment({"LD_PRELOAD": str(hook)}),
        timeout=60,
        check=False,
    )
    assert finished.returncode == -9
    assert (tmp_path / "file").read_bytes() == b"first!sec"
