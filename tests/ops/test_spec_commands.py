"""What the commands for people promise and no other test shows alone."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.conftest import InProcessCli, in_process_cli

__all__ = ["in_process_cli"]

PATH = {"PATH": str(Path(sys.executable).parent)}


##= docs/spec/commands.md#install
##% The command `install` MUST write nothing unless `--write` is given.
def test_a_client_is_not_told_unless_that_is_asked_for(in_process_cli: InProcessCli) -> None:
    shown = in_process_cli.run("install", "cursor", env=PATH).stdout
    assert "contextive" in shown
    assert list(in_process_cli.folder.iterdir()) == []
    in_process_cli.run("install", "cursor", "--write", env=PATH)
    assert (in_process_cli.folder / ".cursor" / "mcp.json").is_file()
