"""Requirements of commands for people that no other test covers."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.conftest import InProcessCli, in_process_cli

__all__ = ["in_process_cli"]

PATH = {"PATH": str(Path(sys.executable).parent)}


##= docs/spec/commands.md#install
##% The command `install` MUST write nothing unless `--write` is given.
def test_install_writes_nothing_without_the_write_flag(in_process_cli: InProcessCli) -> None:
    shown = in_process_cli.run("install", "cursor", env=PATH).stdout
    assert "contextive" in shown
    assert list(in_process_cli.folder.iterdir()) == []
    in_process_cli.run("install", "cursor", "--write", env=PATH)
    assert (in_process_cli.folder / ".cursor" / "mcp.json").is_file()
