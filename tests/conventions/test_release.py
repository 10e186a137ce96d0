"""Version, changelog, version bounds and lock files of a release agree with each other."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from contextive import __version__

from .source_tree import ROOT

PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
RUNTIME_LOCK = (ROOT / "requirements-runtime.lock").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def locked() -> list[tuple[str, str, int]]:
    """Return name, version and number of hashes of every lock entry. A package may have an entry per Python version."""
    found: list[tuple[str, str, int]] = []
    for block in re.split(r"\n(?=\S)", LOCK):
        if match := re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", block):
            hashes = len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", block))
            found.append((canonicalize_name(match[1]), match[2], hashes))
    return found


def entries(lock: str) -> dict[str, str]:
    """Return the entries of a lock file with their hashes, by name and version."""
    found = {}
    for block in re.split(r"\n(?=\S)", lock.strip()):
        if match := re.match(r"[A-Za-z0-9._-]+==[^\s;\\]+", block):
            found[match[0]] = block
    return found


def needed_here(package: str) -> set[str]:
    """Return the canonical names of a package and its dependencies on this machine."""
    found: set[str] = set()
    waiting: list[tuple[str, frozenset[str]]] = [(package, frozenset())]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found.add(canonicalize_name(name))
        for requirement in map(Requirement, distribution(name).requires or ()):
            if requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in (extras or {""})):
                waiting.append((requirement.name, frozenset(requirement.extras)))
    return found


def test_the_runtime_lock_file_is_the_needed_part_of_the_full_one() -> None:
    everything, part = entries(LOCK), entries(RUNTIME_LOCK)
    assert part.items() <= everything.items()
    assert RUNTIME_LOCK.count("--hash=sha256:") >= len(part)
    lines = [line for line in RUNTIME_LOCK.splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.match(r"\s*--hash=sha256:[0-9a-f]{64}\b|[a-z0-9-]+==", line)] == []
    names = {canonicalize_name(entry.partition("==")[0]) for entry in part}
    assert needed_here("contextive-mcp") - {"contextive-mcp"} <= names
    assert {canonicalize_name(Requirement(text).name) for text in PYPROJECT["project"]["dependencies"]} <= names
    assert not names & {"pytest", "ruff", "mypy", "hypothesis", "schemathesis", "hatchling", "mkdocs-material"}


def bounds() -> list[Requirement]:
    project = PYPROJECT["project"]["dependencies"]
    return [Requirement(text) for text in (*project, *PYPROJECT["dependency-groups"]["dev"])]


def test_the_lock_file_names_no_index() -> None:
    lines = [line for line in LOCK.splitlines() if not line.startswith("#")]
    wrong = [line for line in lines if "://" in line or re.match(r"\s*--(?!hash=)|-[ifer]\b", line)]
    assert wrong == []


def test_every_locked_package_has_hashes() -> None:
    packages = locked()
    assert packages
    assert {name for name, _, hashes in packages if not hashes} == set()


def test_every_line_of_the_lock_file_is_parsed() -> None:
    starts = [line for line in LOCK.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(starts) == len(locked())


@pytest.mark.parametrize("requirement", bounds(), ids=str)
def test_the_lock_file_is_within_the_version_bounds(requirement: Requirement) -> None:
    versions = [version for name, version, _ in locked() if name == canonicalize_name(requirement.name)]
    assert versions
    assert all(requirement.specifier.contains(Version(version)) for version in versions)


def test_every_dependency_of_the_product_has_an_upper_bound() -> None:
    open_ended = [r.name for r in map(Requirement, PYPROJECT["project"]["dependencies"]) if "<" not in str(r.specifier)]
    assert open_ended == []


@pytest.mark.parametrize(
    "name",
    sorted({r.name for r in [*bounds(), *map(Requirement, PYPROJECT["project"]["optional-dependencies"]["otel"])]}),
)
def test_every_dependency_is_explained(name: str) -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert f"| `{name}` |" in page


def test_the_version_is_defined_in_one_place() -> None:
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "src/contextive/__init__.py"
    assert Version(__version__)


def test_the_changelog_has_the_version() -> None:
    """The newest release is this version, or the unreleased section names it as the next release."""
    sections = re.findall(r"^## \[([^\]]+)\]", CHANGELOG, re.MULTILINE)
    assert sections[0] == "Unreleased"
    unreleased = CHANGELOG.partition("## [Unreleased]")[2].partition("\n## [")[0]
    assert sections[1:2] == [__version__] or f"To be released as {__version__}." in unreleased


def test_the_changelog_uses_the_kinds_of_keep_a_changelog() -> None:
    kinds = set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
