"""What the commands for people promise and no other test shows alone."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.conftest import Desk, desk

__all__ = ["desk"]

PATH = {"PATH": str(Path(sys.executable).parent)}


##= docs/spec/care.md#install
##% The command `install` MUST write nothing unless `--write` is given.
def test_a_client_is_not_told_unless_that_is_asked_for(desk: Desk) -> None:
    shown = desk.run("install", "cursor", env=PATH).stdout
    assert "contextive" in shown
    assert list(desk.folder.iterdir()) == []
    desk.run("install", "cursor", "--write", env=PATH)
    assert (desk.folder / ".cursor" / "mcp.json").is_file()
