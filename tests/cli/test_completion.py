"""Shell completion: generated from the parsers, and tried in a real bash."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from contextive.cli.completion import SHELLS, commands_of, completion_script
from contextive.cli.parser import ALIASES, COMMANDS, DUVET_COMMANDS, command_parser
from contextive.ops.clients import CLIENTS
from contextive.packs import BUILTIN, load_builtin

BASH = shutil.which("bash")


def complete(tmp_path: Path, *lines: str) -> list[list[str]]:
    """What bash offers at the end of each line, with words split as bash splits them."""
    assert BASH is not None
    script = tmp_path / "completion.bash"
    script.write_text(completion_script("bash"), encoding="utf-8")
    commands = [f"source {shlex.quote(str(script))}"]
    for line in lines:
        words = shlex.split(line) + ([""] if line.endswith(" ") else [])
        function = words[0].replace("-", "_")
        commands.append(f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _{function}")
        commands.append('echo "${COMPREPLY[@]}"')
    done = subprocess.run(
        [BASH, "--norc", "-u", "-c", "\n".join(commands)], cwd=tmp_path, capture_output=True, text=True, timeout=20
    )
    assert done.stderr == ""
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_commands_flags_and_values(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    found = complete(
        tmp_path,
        "contextive-mcp se",
        "contextive-mcp install ",
        "contextive-mcp install --scope ",
        "contextive-mcp install --scope user cl",
        "contextive-mcp search --l",
        "contextive-mcp call km-graph-s",
        "contextive-mcp serve --profile d",
        "contextive-mcp recipe ",
        "contextive-mcp status --project f",
        "contextive-mcp completion ",
        "contextive-mcp notes export ",
        "duvet re",
        "duvet report --re",
        "contextive-mcp --v",
        "contextive-mcp nonsense ",
    )
    assert found == [
        ["serve", "search"],
        [*CLIENTS],
        ["project", "user"],
        ["claude-code", "claude-desktop"],
        ["--limit", "--lang"],
        ["km-graph-subsystem", "km-graph-search"],
        ["duvet", "duskmantle"],
        ["list", "show", "validate", "run"],
        ["folder"],
        ["bash", "zsh", "fish"],
        [],
        ["report"],
        ["--require-citations", "--require-tests"],
        ["--version"],
        [],
    ]


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_offers_every_command_and_every_flag(tmp_path: Path) -> None:
    names = [*COMMANDS, *ALIASES]
    lines = ["contextive-mcp ", *(f"contextive-mcp {name} -" for name in names)]
    offered = complete(tmp_path, *lines)
    assert offered[0] == [*names, "--help", "--version"]
    for name, flags in zip(names, offered[1:], strict=True):
        actions = command_parser("contextive-mcp", ALIASES.get(name, name))._actions
        visible = [flag for action in actions if action.help != "==SUPPRESS==" for flag in action.option_strings]
        assert flags == visible


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_names_every_command_flag_and_tool(shell: str) -> None:
    script = completion_script(shell)
    for program, table in (("contextive-mcp", COMMANDS), ("duvet", DUVET_COMMANDS)):
        assert program in script
        for command in commands_of(program):
            assert command.name in ({*table} | {*ALIASES})
            for flag in command.flags:
                spelled = f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag
                assert spelled in script or (shell == "fish" and f"-s {flag[1:]}" in script)
    assert [t.name for pack in BUILTIN for t in load_builtin(pack).tools if t.name not in script] == []


def test_quotes_and_brackets_in_help_cannot_break_a_script(tmp_path: Path) -> None:
    for shell in ("zsh", "fish"):
        for line in completion_script(shell).splitlines():
            if line.startswith("#"):
                continue
            text = line.replace("\\'", "") if shell == "fish" else line.replace("'\\''", "")
            assert text.count("'") % 2 == 0, line
    for spec in re.findall(r"'--?[a-z-]+\[((?:[^\]\\]|\\.)*)\]", completion_script("zsh")):
        assert not re.search(r"(?<!\\)[\[:]", spec), spec
