"""Everything public is documented: settings, variables, tools, prompts, commands, flags and error codes."""

from __future__ import annotations

import argparse
import ast
import contextlib
import re
from collections.abc import Iterator

import pytest

from contextive.cli.parser import COMMANDS, DUVET_COMMANDS, build_parser, parse
from contextive.config import env_aliases, list_settings
from contextive.errors import ContextiveError, UsageError, all_error_types
from contextive.packs import BUILTIN, load_builtin
from contextive.server.profiles import PROFILES
from contextive.trace.reports.findings import OPEN_REQUIREMENT_CODES

from .source_tree import ROOT, source_modules


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return the text of a section, up to the next heading of the same or a higher level."""
    level = heading.split(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"heading {heading!r} not found"
    return found[1]


def actions(program: str, command: str) -> list[argparse.Action]:
    """Return every argument of a command, from its parser."""
    parser = build_parser(program)
    with contextlib.suppress(UsageError):  # the flags of the command are added before the arguments are parsed
        parse(parser, [command, "--no-such-flag-anywhere"])
    groups = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return list(groups.choices[command]._actions)


def flags(program: str, command: str, *, hidden: bool) -> Iterator[str]:
    """Yield the flags that the help of a command shows, or those that it hides."""
    for action in actions(program, command):
        if (action.help == argparse.SUPPRESS) is hidden:
            yield from action.option_strings or re.findall(r"--[a-z]+|[A-Z]+", str(action.metavar))


def test_every_setting_and_variable_is_documented() -> None:
    text = page("docs/configuration.md")
    names = [*(setting.key for setting in list_settings()), *env_aliases(), "CONTEXTIVE_CONFIG", "CONTEXTIVE_PUBLIC_"]
    assert [name for name in names if f"`{name}" not in text] == []


@pytest.mark.parametrize("name", BUILTIN)
def test_every_tool_resource_and_prompt_is_documented(name: str) -> None:
    pack, text = load_builtin(name), page("docs/tools.md")
    assert [tool.name for tool in pack.tools if f"\n### {tool.name}\n" not in text] == []
    names = [*(prompt.name for prompt in pack.prompts), *(resource.uri for resource in pack.resources)]
    assert [name for name in names if f"| `{name}` |" not in text] == []
    assert f"`{pack.name}`" in page("docs/packs.md")


EVERY_COMMAND = pytest.mark.parametrize(
    ("program", "command"),
    [*(("contextive-mcp", name) for name in COMMANDS), *(("duvet", name) for name in DUVET_COMMANDS)],
)


def command_page(program: str, command: str) -> str:
    """Return the section of docs/cli.md on a command, and that of the command whose flags it shares."""
    text = section(page("docs/cli.md"), f"### {program} {command}")
    if same := re.search(r"Its flags are those of `(\S+ \S+)`", text):
        text += section(page("docs/cli.md"), f"### {same[1]}")
    return text


@EVERY_COMMAND
def test_every_command_and_flag_is_documented(program: str, command: str) -> None:
    text = command_page(program, command)
    known = list(flags(program, command, hidden=False))
    assert "--help" in known
    undocumented = [flag for flag in known if flag not in ("-h", "--help") and f"`{flag}" not in text]
    assert undocumented == []
    described = set(re.findall(r"^\| `(--[a-z0-9-]+) ?`?", text, re.MULTILINE)) - {"--lang-"}
    assert described <= set(known), "the page describes flags that do not exist"


@EVERY_COMMAND
def test_flags_hidden_from_help_are_documented(program: str, command: str) -> None:
    text = page("docs/cli.md")
    assert [flag for flag in flags(program, command, hidden=True) if f"`{flag}`" not in text] == []


def test_the_cli_page_lists_exactly_the_existing_commands() -> None:
    found = set(re.findall(r"^### (\S+ \S+)$", page("docs/cli.md"), re.MULTILINE))
    assert found == {f"contextive-mcp {name}" for name in COMMANDS} | {f"duvet {name}" for name in DUVET_COMMANDS}


def _problem_codes() -> set[str]:
    """Return the codes of problems and warnings that the trace package reports."""
    found: set[str] = set()
    for module in source_modules():
        for node in ast.walk(module.tree):
            match node:
                case ast.Call(
                    func=ast.Name(id="Problem" | "_error") | ast.Attribute(attr="_add_problem"),
                    args=[ast.Constant(value=str(code)), *_],
                ):
                    found.add(code)
    return found


def test_every_problem_and_warning_of_a_project_is_documented() -> None:
    text = page("docs/trace.md")
    described = set(
        re.findall(r"^\| `([a-z_]+)` \|", section(text, "## Warnings") + section(text, "## Problems"), re.MULTILINE)
    )
    assert described == _problem_codes()
    assert [code for code in OPEN_REQUIREMENT_CODES.values() if f"`{code}`" not in text] == []


def _public_errors() -> dict[str, type[ContextiveError]]:
    found: dict[str, type[ContextiveError]] = {}
    for kind in all_error_types():
        found.setdefault(kind.code, kind)  # a base class comes before subclasses with the same code
    return found


##= docs/spec/host.md#errors
##% Every error MUST have a stable code.
##= docs/spec/gateway.md#tool-results
##% The error codes `invalid_request`, `not_found`, `unauthorized`, `forbidden`, `upstream_error` and
##% `unsupported_operation` MUST have these names.
def test_every_error_code_is_documented_with_its_status() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (\d{3}) \|", page("docs/errors.md"), re.MULTILINE)
    assert dict(rows) == {code: str(kind.http_status) for code, kind in _public_errors().items()}
    assert len(rows) == len(dict(rows))


##= docs/spec/host.md#errors
##% Every error code MUST be documented with what to do about it.
@pytest.mark.parametrize("code", sorted(_public_errors()))
def test_every_error_code_says_what_to_do(code: str) -> None:
    row = re.search(rf"^\| `{code}` \| \d{{3}} \| (.+?) \| (.+?) \|$", page("docs/errors.md"), re.MULTILINE)
    assert row is not None
    assert row[1].endswith(".")
    assert row[2].endswith(".")


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_documented(name: str) -> None:
    assert f"| `{name}` |" in section(page("docs/protocol.md"), "## Profiles")


@pytest.mark.parametrize("target", re.findall(r"^([a-z]+):.*##", page("Makefile"), re.MULTILINE))
def test_every_make_target_is_documented(target: str) -> None:
    assert f"`make {target}`" in page("CONTRIBUTING.md")


_NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("name", ["SECURITY.md", "docs/security.md"])
def test_every_test_named_by_a_guarantee_exists(name: str) -> None:
    named = _NAMED_TEST.findall(page(name))
    assert named
    assert [path for path, _ in named if not (ROOT / path).is_file()] == []
    assert [f"{path}::{test}" for path, test in named if test and f"def {test}(" not in page(path)] == []


def test_every_guarantee_of_the_security_page_names_a_test() -> None:
    text = page("SECURITY.md").partition("## Guarantees")[2]
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    assert [row for row in rows if not _NAMED_TEST.search(row)] == []
