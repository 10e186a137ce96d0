"""Runs one job, and looks at what is left when the power fails after any of its changes.

Started with the hook of `power.c` loaded: `python -m tests.durability.power_cuts JOB,JOB FOLDER POINTS`. A job is done once and
written down; then, for one moment after the other, its files are put back as a disk would hold them that lost its power just
then. Prints a line of JSON for each job: how many changes there were, how many outages were looked at, and what did not survive.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from . import power
from .jobs import JOBS, at_the_end, failure_of, in_child, prepared, spread

_ACKNOWLEDGED = "acknowledged"


def main(jobs: str, folder: Path, points: str) -> None:
    os.umask(0o077)
    template = prepared(folder)
    for job in jobs.split(","):
        print(json.dumps({"job": job, **_outcome(job, template, points)}), flush=True)


def _outcome(job: str, template: Path, points: str) -> dict[str, Any]:
    root = template.with_name(job) / "project"
    shutil.copytree(template, root, symlinks=True)
    disk, changes = _recorded(job, root)
    moments = _moments(changes, points)
    failures, done = [], 0
    for at, policy in moments:
        for change in changes[done:at]:
            disk.follow(change)
        done, acknowledged = at, at == len(changes)
        disk.write_to(root, policy, seed=at)
        if failure := failure_of(job, root, acknowledged):
            when = "after it was acknowledged" if acknowledged else f"after {at} of {len(changes)}"
            failures.append(f"{policy}, {when}: {failure}")
        shutil.rmtree(root)
    return {"writes": len(changes), "faults": len(moments), "failures": failures}


def _recorded(job: str, root: Path) -> tuple[power.Disk, list[power.Change]]:
    """The disk before the job, and every change that the job made until it was acknowledged. The files are gone."""
    setup, work, _ = JOBS[job]
    if setup is not None:
        setup(root)
    before, after, record = power.Disk(root), power.Disk(root), root.with_name("record")

    def recorded() -> None:
        power.start_recording(root, record)
        at_the_end.append(lambda: power.mark(_ACKNOWLEDGED))
        work(root)

    code, told = in_child(recorded)
    assert (code, told[:4]) == (-signal.SIGKILL, b"done"), told.decode()
    changes = [*power.read_record(record)]
    for change in changes:
        after.follow(change)
    unexplained = [*after.differences()]
    assert not unexplained, unexplained
    shutil.rmtree(root)
    # Threads may have gone on for a moment after the job was acknowledged.
    end = next(at for at, change in enumerate(changes) if change.kind == power.WORD)
    return before, changes[:end]


def _moments(changes: list[power.Change], points: str) -> list[tuple[int, str]]:
    """After how many changes the power fails, and how: around every sync, because what is kept changes there, and at the end."""
    syncs = [at for at, change in enumerate(changes) if change.kind in power.SYNCS]
    around = sorted({moment for at in syncs for moment in (at, at + 1)} - {0, len(changes)})
    chosen = around if points == "all" else [around[at - 1] for at in spread(len(around), int(points))]
    policies = power.POLICIES if points == "all" else power.POLICIES[-1:]
    return [(at, policy) for at in chosen for policy in policies] + [(len(changes), one) for one in power.POLICIES]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
