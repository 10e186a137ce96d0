"""Nothing gets dearer unnoticed: how many calls of functions an operation makes, and how many modules a start imports.

Where a change is worth its price, `make golden` writes the counts anew, and the diff shows it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.costs.operations import OPERATIONS
from tests.running import clean_environment

ROOT = Path(__file__).resolve().parents[2]
COUNTS = Path(__file__).with_name("counts.json")
SLACK = 1.1
OTHER_PYTHON_SLACK = 1.5
STARTS = {
    "help": "import contextive.cli as c; c.run(['--help'])",
    "version": "import contextive.cli as c; c.run(['--version'])",
    "report": "import contextive.cli as c; c.run(['report', '--ci=false'], program='duvet')",
    "serve": "import contextive.server.serve",
    "handshake": "from contextive.cli.parser import *; import contextive.cli.roots as r, contextive.server.host as h,"
    " contextive.server.serve, contextive.server.stdio;"
    " o = parse(build_parser(), ['serve', '--project', '.', '--stdio']);"
    " s = h.Host(r.config_loader(o)(), mode='stdio'); s.door('contextive').instructions(s.owner)",
}


def _python(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=clean_environment({"PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _compare(name: str, count: int) -> None:
    kept: dict[str, Any] = json.loads(COUNTS.read_text(encoding="utf-8"))
    version = ".".join(platform.python_version_tuple()[:2])
    if os.environ.get("CONTEXTIVE_GOLDEN") == "write":
        counts = dict(sorted({**kept["counts"], name: count}.items()))
        COUNTS.write_text(json.dumps({"python": version, "counts": counts}, indent=2) + "\n", encoding="utf-8")
        return
    slack = SLACK if kept["python"] == version else OTHER_PYTHON_SLACK
    allowed = kept["counts"][name] * slack
    assert count <= allowed, (
        f"{name} costs {count}, and was {kept['counts'][name]}; see the words at the top of this file"
    )


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_makes_no_more_calls_than_it_did(name: str, tmp_path: Path) -> None:
    _compare(name, int(_python("-m", "tests.costs.operations", name, str(tmp_path)).strip()))


@pytest.mark.parametrize("name", STARTS)
def test_a_start_imports_no_more_modules_than_it_did(name: str) -> None:
    quiet = "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):"
    code = f"import sys, contextlib, io\n{quiet}\n    {STARTS[name]}\nprint(len(sys.modules))"
    _compare(f"modules of {name}", int(_python("-c", code).strip()))
