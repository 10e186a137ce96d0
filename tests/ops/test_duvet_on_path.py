"""A duvet that is already installed is reported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from contextive.ops.duvet_on_path import other_duvet_message


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A directory of programs with a duvet that is not ours."""
    folder = tmp_path / "cargo" / "bin"
    folder.mkdir(parents=True)
    program = folder / "duvet"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    return folder


@pytest.fixture
def ours() -> Path:
    return Path(sys.executable).parent


def _path(*folders: Path) -> str:
    return os.pathsep.join(map(str, folders))


##= docs/spec/commands.md#doctor
##= type=test
##% The doctor MUST report a `duvet` of another origin that is on the `PATH`, and which of the two runs.
def test_the_message_says_which_of_the_two_runs(original: Path, ours: Path, tmp_path: Path) -> None:
    hidden = other_duvet_message(_path(ours, original), tmp_path)
    assert hidden == "duvet is the command of this package. Another one comes later in the PATH: ~/cargo/bin/duvet."
    shadowing = other_duvet_message(_path(original, ours), tmp_path) or ""
    assert shadowing.startswith("duvet is another program: ~/cargo/bin/duvet. The command of this package is ")
    assert shadowing.endswith(", which comes later in the PATH.")
    assert (other_duvet_message(_path(original), tmp_path) or "").endswith("is not on the PATH.")


def test_there_is_no_message_without_another_duvet(ours: Path, tmp_path: Path) -> None:
    assert other_duvet_message(_path(ours, ours, tmp_path), tmp_path) is None
    assert other_duvet_message("", tmp_path) is None
