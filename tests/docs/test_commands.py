"""Commands in the documentation work as shown.

In a `console` block every line `$ contextive-mcp …` or `$ duvet …` is run, one after the other in a new project. It must
exit with 0, or with the code in a comment such as `# exit 2` at its end. A block marked `console files` runs in a
project with the files that the page shows above it in blocks marked `file=name`. A block marked `console review` runs in a
repository with a commit of the first text of each file, and the last text in the working tree. In a `sh` block commands are only
parsed; use it for commands that run until they are stopped.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from contextive.cli.parser import build_parser, parse
from tests.processes import run_in_process
from tests.workspace.repositories import commit, init

from .pages import Block, blocks, blocks_of

PROGRAMS = ("contextive-mcp", "duvet")
COMMAND_LINE = re.compile(rf"^\$ (?P<command>(?:{'|'.join(PROGRAMS)})\b.*?)(?:\s+# exit (?P<code>\d+))?$")


def commands(block: Block) -> list[tuple[list[str], int]]:
    """Return the arguments and the expected exit code of each Contextive command in a block."""
    found = []
    for line in block.text.splitlines():
        if match := COMMAND_LINE.match(line):
            found.append((shlex.split(match["command"]), int(match["code"] or 0)))
    return found


def shown_output(block: Block) -> list[str]:
    """Return the output lines of a block: no commands, comments, empty lines or ellipses."""
    return [line for line in block.text.splitlines() if not line.startswith(("$ ", "#")) and line not in ("", "…")]


def files_above(block: Block) -> dict[str, str]:
    """Return the files shown above a block, each with its last text, if the block is marked `files` or `review`."""
    if not {"files", "review"} & set(block.info.split()):
        return {}
    return {above.file: above.text for above in blocks_of(block.page) if above.file and above.line < block.line}


def commit_first_texts(block: Block, project: Path) -> None:
    """Commit the first text of each file shown above a block that is marked `review`."""
    first = {above.file: above.text for above in reversed(blocks_of(block.page)) if above.file}
    commit(init(project), first, 1_700_000_000)


@pytest.mark.parametrize("block", [block for block in blocks("console") if commands(block)], ids=str)
def test_console_blocks_run_and_print_the_output_shown(block: Block, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    if "review" in block.info.split():
        commit_first_texts(block, tmp_path / "project")
    for name, text in files_above(block).items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    printed: list[str] = []
    for arguments, expected in commands(block):
        environment = {"XDG_CONFIG_HOME": str(tmp_path / "user")}
        ended = run_in_process(*arguments[1:], cwd=tmp_path / "project", env=environment, program=arguments[0])
        assert ended.returncode == expected, f"{shlex.join(arguments)}\n{ended.stdout}{ended.stderr}"
        printed += [line.rstrip() for line in (ended.stdout + ended.stderr).splitlines()]
    assert [line for line in shown_output(block) if line not in printed] == []


def test_only_blocks_with_contextive_commands_show_output() -> None:
    assert [str(block) for block in blocks("console") if shown_output(block) and not commands(block)] == []


@pytest.mark.parametrize("block", blocks("sh"), ids=str)
def test_commands_that_are_not_run_can_be_parsed(block: Block) -> None:
    for line in block.text.splitlines():
        arguments = shlex.split(line, comments=True)
        while arguments and re.match(r"[A-Z_]+=", arguments[0]):
            arguments.pop(0)
        if arguments and arguments[0] in PROGRAMS:
            parse(build_parser(arguments[0]), arguments[1:])
