"""duvet's integration test cases, run with our `duvet` command. Skipped without the cases."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox import FOLDER, skip_without_cases
from tests.processes import clean_environment

CASES_FILE = FOLDER / "duvet_integration_cases.json"
CASES: list[dict[str, Any]] = json.loads(CASES_FILE.read_text(encoding="utf-8")) if FOLDER.is_dir() else []
NEEDS_NETWORK = {"init-quick-start"}
COMMAND = [sys.executable, "-c", "from contextive.cli import duvet_main; duvet_main()"]

pytestmark = skip_without_cases


def _run(case: dict[str, Any], folder: Path) -> tuple[int, str]:
    for name, text in case["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    code, error = 0, ""
    environment = clean_environment()
    for line in case["cmd"]:
        done = subprocess.run(
            [*COMMAND, *shlex.split(line)[1:]],
            cwd=folder / case["cwd"],
            capture_output=True,
            env=environment,
            timeout=60,
        )
        code, error = done.returncode, done.stderr.decode()
    return code, error


def _snapshot(folder: Path, case: dict[str, Any]) -> str:
    """The snapshot of the last report of the case, written by another run."""
    last = [shlex.split(line)[1:] for line in case["cmd"] if " report" in line][-1]
    options = (word.partition("=")[2] for word in last if word.startswith("--config-path="))
    config = folder / case["cwd"] / next(options, ".duvet/config.toml")
    text = config.read_text(encoding="utf-8")
    if "[report.snapshot]" not in text:
        config.write_text(text + "\n[report.snapshot]\nenabled = true\n", encoding="utf-8")
    environment = clean_environment()
    done = subprocess.run([*COMMAND, *last], cwd=folder / case["cwd"], capture_output=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    written: bytes = (folder / case["cwd"] / ".duvet" / "snapshot.txt").read_bytes()
    return written.decode()


##= docs/spec/trace.md#reports
##% The snapshot MUST be byte-for-byte the one that duvet writes for the same project.
@pytest.mark.parametrize("case", [c for c in CASES if "expected_snapshot" in c], ids=lambda c: c["name"])
def test_the_snapshot_is_the_one_that_duvet_writes(case: dict[str, Any], tmp_path: Path) -> None:
    if case["name"] in NEEDS_NETWORK:
        pytest.skip("needs a specification from the network")
    code, error = _run(case, tmp_path)
    assert code == 0, error
    assert _snapshot(tmp_path, case) == case["expected_snapshot"]


@pytest.mark.parametrize("case", [c for c in CASES if "expected_stderr" in c], ids=lambda c: c["name"])
def test_an_error_has_the_message_location_and_exit_code_of_duvet(case: dict[str, Any], tmp_path: Path) -> None:
    expected = case["expected_stderr"]
    code, error = _run(case, tmp_path)
    assert code == int(re.findall(r"EXIT: Some\((\d+)\)", expected)[-1])
    for location in re.findall(r"╭─\[([^\]]+)\]", expected):
        assert f"[{location}]" in error
    messages = [line.split("×")[-1].strip() for line in expected.splitlines() if "×" in line]
    messages += [line.split("╰─▶")[-1].strip() for line in expected.splitlines() if "╰─▶" in line]
    for message in messages:
        assert message in error, os.linesep + error
