"""The browser and the Node packages of `web/`. Tests are skipped with a reason if they are missing, unless they are required."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
REQUIRED = "CONTEXTIVE_BROWSER_TESTS"
"""Set by `make test-browser`: a missing browser is then a failure."""
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 600.0


def missing(reason: str) -> None:
    """Skip the test, or fail if browser tests are required."""
    if os.environ.get(REQUIRED):
        pytest.fail(reason)
    pytest.skip(reason)


def node() -> str:
    found = shutil.which("node")
    if found is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        missing("needs Node and the packages of web/: run make test-browser")
    assert found is not None
    return found


def chromium() -> str:
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        missing("needs chromium")
    assert found is not None
    return found


def check(base: str, what: str) -> Any:
    """Run one of the checks of check.mjs on a running server."""
    script = Path(__file__).with_name("check.mjs")
    done = subprocess.run(
        [node(), str(script), base, chromium(), what], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)
