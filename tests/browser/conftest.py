from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, serving_http

from .browser import REQUIRED, ROOT, chromium, node

PROJECT = "CONTEXTIVE_BROWSER_PROJECT"
"""Another project to test with, which is indexed in place."""


@pytest.fixture(scope="session")
def real_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of real size with requirements, code, tests and notes: this repository, as far as it is tracked."""
    if not os.environ.get(REQUIRED):
        pytest.skip("takes minutes: run make test-browser")
    chromium(), node()
    if os.environ.get(PROJECT):
        return Path(os.environ[PROJECT])
    target = tmp_path_factory.mktemp("browser") / "contextive"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    with (target / "docs/spec/trace.md").open("a", encoding="utf-8") as file:
        file.write("\nThe next one MUST be open.\n")  # all others are done
    (target / "notes").mkdir(exist_ok=True)
    (target / "notes" / "first.md").write_text("# First\n\nSee [[second]] and #site.\n", encoding="utf-8")
    (target / "notes" / "second.md").write_text("# Second\n\nBack to [[first]].\n", encoding="utf-8")
    return target


@pytest.fixture(scope="session")
def site(real_project: Path) -> Iterator[str]:
    """The address of a server for the project, with a complete index."""
    env = {"CONTEXTIVE_LIMITS__RATE_REQUESTS": "0", "CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL": "none"}
    arguments = ("--project", str(real_project))
    subprocess.run([*PROGRAM, "ingest", *arguments], env=clean_environment(env), check=True, stdout=subprocess.DEVNULL)
    with serving_http(*arguments, cwd=real_project, env=env) as running:
        yield f"http://127.0.0.1:{running.web.port}"
