"""The files of this repository that the convention tests check."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "contextive"
GENERATED = (
    "requirements.lock",
    "requirements-runtime.lock",
    "docs/config.schema.json",
    "package-lock.json",
    "src/contextive/web/assets/site.js",
    "src/contextive/web/assets/graph.js",
    "tests/golden/snapshots/",
)
"""Generated files: exempt from rules about length and wording."""


@dataclass(frozen=True)
class Module:
    """One Python file and its syntax tree, which is only parsed if a test uses it."""

    path: Path
    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def __str__(self) -> str:
        return relative_path(self.path)


def relative_path(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def repository_files() -> tuple[Path, ...]:
    """Return every tracked file and every new file that is not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / name for name in listed.stdout.decode("utf-8").split("\0") if name]
    else:  # an unpacked source archive
        found = [path for folder in ("src", "docs", "examples", "tests") for path in (ROOT / folder).rglob("*")]
        found += [path for path in ROOT.iterdir() if path.is_file()]
    return tuple(sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts))


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every text file of the repository with its text."""
    for path in repository_files():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def written_by_hand(path: Path) -> bool:
    name = relative_path(path)
    return not any(name == mark or name.endswith(f"/{mark}") or name.startswith(mark) for mark in GENERATED)


@cache
def python_files() -> tuple[Path, ...]:
    return tuple(path for path in repository_files() if path.suffix == ".py")


@cache
def source_modules() -> tuple[Module, ...]:
    """Return every module of the package."""
    return tuple(
        Module(path, module_name(path), path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
        if "__pycache__" not in path.parts
    )


def module_name(path: Path) -> str:
    parts = ["contextive", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
