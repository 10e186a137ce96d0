"""Runs jobs, and checks what is left on the disk when the power fails after any of their changes.

Run it with the hook of `power.c` loaded: `python -m tests.durability.power_cuts JOB,JOB FOLDER POINTS`. Each job runs
once and is recorded. Then, for one moment after another, its files are written as a disk could contain them if the
power failed at that moment. Prints a line of JSON for each job: how many changes there were, how many power cuts were
checked, and what did not survive.
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
from .jobs import JOBS, failure_of, in_child, on_acknowledge, prepared_template, spread

_ACKNOWLEDGED = "acknowledged"


def main(jobs: str, folder: Path, points: str) -> None:
    os.umask(0o077)
    template = prepared_template(folder)
    for job in jobs.split(","):
        print(json.dumps({"job": job, **_outcome(job, template, points)}), flush=True)


def _outcome(job: str, template: Path, points: str) -> dict[str, Any]:
    root = template.with_name(job) / "project"
    shutil.copytree(template, root, symlinks=True)
    disk, changes = _record_job(job, root)
    moments = _moments(changes, points)
    failures, replayed = [], 0
    for at, policy in moments:
        for change in changes[replayed:at]:
            disk.replay(change)
        replayed, acknowledged = at, at == len(changes)
        disk.write_to(root, policy, seed=at)
        if failure := failure_of(job, root, acknowledged):
            when = "after it was acknowledged" if acknowledged else f"after {at} of {len(changes)}"
            failures.append(f"{policy}, {when}: {failure}")
        shutil.rmtree(root)
    return {"writes": len(changes), "faults": len(moments), "failures": failures}


def _record_job(job: str, root: Path) -> tuple[power.Disk, list[power.Change]]:
    """The disk before the job, and every change of the job until it was acknowledged. Removes the files."""
    setup, work, _ = JOBS[job]
    if setup is not None:
        setup(root)
    before, after, record = power.Disk(root), power.Disk(root), root.with_name("record")

    def record_in_child() -> None:
        power.start_recording(root, record)
        on_acknowledge.append(lambda: power.mark(_ACKNOWLEDGED))
        work(root)

    code, output = in_child(record_in_child)
    assert (code, output[:4]) == (-signal.SIGKILL, b"done"), output.decode()
    changes = [*power.read_record(record)]
    for change in changes:
        after.replay(change)
    unexplained = [*after.differences()]
    assert not unexplained, unexplained
    shutil.rmtree(root)
    # Threads may have continued for a moment after the job was acknowledged.
    end = next(at for at, change in enumerate(changes) if change.kind == power.WORD)
    return before, changes[:end]


def _moments(changes: list[power.Change], points: str) -> list[tuple[int, str]]:
    """After how many changes the power fails, and how: around every sync, because that changes what is kept, and at
    the end."""
    syncs = [at for at, change in enumerate(changes) if change.kind in power.SYNCS]
    around = sorted({moment for at in syncs for moment in (at, at + 1)} - {0, len(changes)})
    chosen = around if points == "all" else [around[at - 1] for at in spread(len(around), int(points))]
    policies = power.POLICIES if points == "all" else power.POLICIES[-1:]
    at_end = [(len(changes), policy) for policy in power.POLICIES]
    return [(at, policy) for at in chosen for policy in policies] + at_end


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
