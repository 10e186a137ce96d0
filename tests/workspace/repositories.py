"""Real git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *arguments: str, time: int | None = None) -> str:
    """Run git in a folder and return its output. Commits have the given time."""
    environment = ENVIRONMENT
    if time is not None:
        environment = ENVIRONMENT | {"GIT_AUTHOR_DATE": f"@{time} +0000", "GIT_COMMITTER_DATE": f"@{time} +0000"}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environment, capture_output=True, check=True, timeout=30
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def init(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def commit(folder: Path, files: dict[str, str], time: int) -> str:
    """Write files, commit everything, and return the id of the commit."""
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x", time=time)
    return git(folder, "rev-parse", "HEAD")
