"""`completion`: shell scripts that complete commands, flags and values, generated from the parsers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from contextive.cli.parser import ALIASES, COMMANDS, DUVET_COMMANDS, command_parser
from contextive.cli.printing import print_data
from contextive.ops.clients import CLIENTS
from contextive.packs import BUILTIN, load_builtin

SHELLS = ("bash", "zsh", "fish")
_FOLDERS, _FILES = {"DIR"}, {"FILE", "PATH", "ARCHIVE", "TARGET"}

Kind = Literal["none", "words", "files", "folders", "text"]


_SUGGESTED = {"client": tuple(CLIENTS)}
"""Words for arguments that also take others."""


def configure_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")
    parser.set_defaults(run=run_completion)


def run_completion(options: argparse.Namespace) -> int:
    print_data(completion_script(options.shell), end="")
    return 0


@dataclass(frozen=True, slots=True)
class Argument:
    """A flag with all its spellings, or a positional argument, and the kind of its value."""

    flags: tuple[str, ...]
    help: str
    kind: Kind
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a program."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]

    @property
    def flags(self) -> list[str]:
        return [flag for argument in self.arguments for flag in argument.flags]

    @property
    def positionals(self) -> list[Argument]:
        return [argument for argument in self.arguments if not argument.flags]


def commands_of(program: str) -> list[Command]:
    """The commands of a program with the arguments of their parsers."""
    table = COMMANDS if program == "contextive-mcp" else DUVET_COMMANDS
    found = [Command(name, summary, tuple(_arguments(program, name))) for name, (_, summary) in table.items()]
    aliases = {alias: name for alias, name in ALIASES.items() if name in table}
    return found + [Command(a, c.summary, c.arguments) for a, name in aliases.items() for c in found if c.name == name]


def completion_script(shell: str) -> str:
    """The completion script for `contextive-mcp` and `duvet`."""
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return make({program: commands_of(program) for program in ("contextive-mcp", "duvet")})


def _arguments(program: str, command: str) -> Iterator[Argument]:
    for action in command_parser(program, command)._actions:
        if action.help == argparse.SUPPRESS:
            continue
        words = tuple(str(choice) for choice in action.choices or _SUGGESTED.get(action.dest, ()))
        kind: Kind = "text"
        if action.metavar == "TOOL":
            words = tuple(tool.name for pack in BUILTIN for tool in load_builtin(pack).tools)
        if words:
            kind = "words"
        elif action.nargs == 0:
            kind = "none"
        elif action.metavar in _FOLDERS:
            kind = "folders"
        elif action.metavar in _FILES:
            kind = "files"
        elif action.metavar == "BOOL":
            kind, words = "words", ("true", "false")
        yield Argument(tuple(action.option_strings), str(action.help or ""), kind, words)


# -- bash --------------------------------------------------------------------------------------------------------------


def _bash(programs: dict[str, list[Command]]) -> str:
    parts = ["# Completion for bash. Load it with: source <(contextive-mcp completion bash)\n"]
    for program, commands in programs.items():
        values = [line for command in commands for line in _bash_values(command)]
        names = " ".join([*(command.name for command in commands), "--help", "--version"])
        flags = "\n".join(f'        {c.name}) words="{" ".join(c.flags)}" ;;' for c in commands)
        positionals = "\n".join(line for command in commands for line in _bash_positionals(command))
        parts.append(f"""\
_{_shell_function_name(program)}() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="" position=0 words="" index word
    local takes_value=""
    COMPREPLY=()
    for ((index = 1; index < COMP_CWORD; index++)); do
        word="${{COMP_WORDS[index]}}"
        if [[ -z $command ]]; then
            [[ $word == -* ]] || command="$word"
        elif [[ $word == -* ]]; then
            case "$command $word" in
                {_bash_flags_with_value(commands)}) takes_value=yes ;;
                *) takes_value="" ;;
            esac
        elif [[ -n $takes_value ]]; then
            takes_value=""
        else
            position=$((position + 1))
        fi
    done
    if [[ -z $command ]]; then
        COMPREPLY=($(compgen -W "{names}" -- "$current"))
        return
    fi
    case "$command $before" in
{chr(10).join(values)}
    esac
    if [[ -n $takes_value ]]; then
        return
    fi
    if [[ $current == -* ]]; then
        case "$command" in
{flags}
        esac
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        return
    fi
    case "$command $position" in
{positionals}
    esac
}}
complete -o default -F _{_shell_function_name(program)} {program}
""")
    return "\n".join(parts)


def _bash_flags_with_value(commands: list[Command]) -> str:
    found = [f'"{c.name} {flag}"' for c in commands for a in c.arguments if a.kind != "none" for flag in a.flags]
    return "|".join(found) or '""'


def _bash_values(command: Command) -> Iterator[str]:
    for argument in command.arguments:
        if argument.flags and argument.kind in ("words", "folders"):
            cases = "|".join(f'"{command.name} {flag}"' for flag in argument.flags)
            yield f"        {cases}) {_bash_reply(argument)}; return ;;"


def _bash_positionals(command: Command) -> Iterator[str]:
    for position, argument in enumerate(command.positionals):
        if argument.kind in ("words", "folders"):
            yield f'        "{command.name} {position}") {_bash_reply(argument)} ;;'


def _bash_reply(argument: Argument) -> str:
    option = "-d" if argument.kind == "folders" else f'-W "{" ".join(argument.words)}"'
    return f'COMPREPLY=($(compgen {option} -- "$current"))'


# -- zsh ---------------------------------------------------------------------------------------------------------------


def _zsh(programs: dict[str, list[Command]]) -> str:
    parts = [
        f"#compdef {' '.join(programs)}",
        "# Completion for zsh. Put it into a directory of $fpath as _contextive-mcp, or load it after compinit with:",
        "# source <(contextive-mcp completion zsh)\n",
    ]
    for program, commands in programs.items():
        names = "\n".join(f"        {_quoted(f'{c.name}:{_zsh_text(c.summary)}')}" for c in commands)
        cases = "\n".join(_zsh_case(command) for command in commands)
        parts.append(f"""\
_{_shell_function_name(program)}() {{
    local -a names
    local context state line
    typeset -A opt_args
    names=(
{names}
    )
    _arguments -C '(- *)'{{-h,--help}}'[show the help]' '(- *)'{{-v,--version}}'[show the version]' \\
        '1: :->command' '*:: :->rest'
    case $state in
        command) _describe command names ;;
        rest)
            case $line[1] in
{cases}
            esac ;;
    esac
}}
(( $+functions[compdef] )) && compdef _{_shell_function_name(program)} {program}
""")
    functions = " ".join(f"{program}) _{_shell_function_name(program)} ;;" for program in programs)
    parts.append(f"if [[ $funcstack[1] == _contextive-mcp ]]; then\n    case $service in {functions} esac\nfi\n")
    return "\n".join(parts)


def _zsh_case(command: Command) -> str:
    specs: list[str] = []
    position = 0
    for argument in command.arguments:
        value = _zsh_value(argument)
        if not argument.flags:
            position += 1
            specs.append(_quoted(f"{position}{value}"))
            continue
        specs += [_quoted(f"{flag}[{_zsh_text(argument.help)}]{value}") for flag in argument.flags]
    return f"                {command.name}) _arguments {' '.join(specs)} ;;"


def _zsh_value(argument: Argument) -> str:
    match argument.kind:
        case "none":
            return ""
        case "words":
            return f":value:({' '.join(argument.words)})"
        case "folders":
            return ":directory:_files -/"
        case "files":
            return ":file:_files"
        case _:
            return ":value: "


def _zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


# -- fish --------------------------------------------------------------------------------------------------------------


def _fish(programs: dict[str, list[Command]]) -> str:
    lines = ["# Completion for fish. Put it into ~/.config/fish/completions/contextive-mcp.fish."]
    for program, commands in programs.items():
        lines.append(f"complete -c {program} -f")
        lines.append(f"complete -c {program} -n __fish_use_subcommand -l help -s h -d 'show the help'")
        lines.append(f"complete -c {program} -n __fish_use_subcommand -l version -s v -d 'show the version'")
        for command in commands:
            summary = _fish_text(command.summary)
            lines.append(f"complete -c {program} -n __fish_use_subcommand -a {command.name} -d {summary}")
            seen = _fish_text(f"__fish_seen_subcommand_from {command.name}")
            for argument in command.arguments:
                spelled = [f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in argument.flags]
                rest = " ".join([*spelled, *_fish_value(argument), f"-d {_fish_text(argument.help)}"])
                lines.append(f"complete -c {program} -n {seen} {rest}")
    return "\n".join(lines) + "\n"


def _fish_value(argument: Argument) -> list[str]:
    needs = ["-r"] if argument.flags else []
    match argument.kind:
        case "words":
            return [*needs, "-f", f"-a {_fish_text(' '.join(argument.words))}"]
        case "folders":
            return [*needs, "-f", "-a '(__fish_complete_directories)'"]
        case "files":
            return [*needs, "-F"]
        case "text" if argument.flags:
            return [*needs, "-f"]
        case _:
            return []


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _shell_function_name(program: str) -> str:
    return program.replace("-", "_")
