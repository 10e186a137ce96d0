"""Editing one table of a TOML text preserves comments and the order of everything else."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.toml.editor import NotEditable, table_text, with_values, without_table

PATH = ("mcp_servers", "contextive")
ENTRY = {"command": "contextive-mcp", "args": ["serve", "--stdio"]}
CODEX = """\
# my settings
model = "o4"  # the usual one

[mcp_servers.other]
command = "x"
args = [
  "[not a table]",  # ]
]

# about profiles
[profiles.fast]
model = "mini"
"""


def test_a_table_is_appended_and_removed() -> None:
    changed = with_values(CODEX, PATH, ENTRY)
    assert changed == CODEX + "\n" + table_text(PATH, ENTRY)
    assert with_values(changed, PATH, ENTRY) == changed
    assert without_table(changed, PATH) == CODEX


def test_only_outdated_lines_are_replaced() -> None:
    text = """\
[mcp_servers.contextive]  # ours
command = "old"
args = [
  "serve",
]
startup_timeout_sec = 20

[mcp_servers.contextive.env]
A = "1"

# about b
[b]
x = 1
"""
    changed = with_values(text, PATH, ENTRY)
    assert "# ours" in changed
    found = tomllib.loads(changed)["mcp_servers"]["contextive"]
    assert found == {**ENTRY, "startup_timeout_sec": 20, "env": {"A": "1"}}
    assert without_table(changed, PATH) == "# about b\n[b]\nx = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "model = ",
        'mcp_servers = { other = { command = "x" } }\n',
        "mcp_servers = 3\n",
        "[mcp_servers]\ncontextive = 3\n",
    ],
)
def test_a_text_to_which_the_table_cannot_be_added_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        with_values(text, PATH, ENTRY)


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers.contextive = { command = "x", args = [] }\n',
        'text = """\n[mcp_servers.contextive]\n"""\nmcp_servers.contextive.command = "x"\n',
        "[a]\r\n[mcp_servers.contextive]\r\ncommand = 'x' # mine\r\n",
        "[mcp_servers.contextive.env]\nA = '1'\n",
    ],
)
def test_values_are_set_however_the_table_is_written(text: str) -> None:
    changed = with_values(text, PATH, ENTRY)
    found = tomllib.loads(changed)["mcp_servers"]["contextive"]
    assert {key: found[key] for key in ENTRY} == ENTRY
    assert ("\r\n" in text) == ("\r\n" in changed)
    assert changed.count("\n") == changed.count("\r\n") or "\r\n" not in text


def test_an_inline_table_is_not_removed() -> None:
    with pytest.raises(NotEditable):
        without_table('mcp_servers = { contextive = { command = "x" } }\n', PATH)


def test_a_text_over_the_length_limit_is_refused() -> None:
    with pytest.raises(NotEditable, match="characters"):
        with_values("#" * 300_000, PATH, ENTRY)


def test_a_parent_table_with_its_own_header_is_kept() -> None:
    text = "[mcp_servers]\n\n[mcp_servers.contextive]\ncommand = 'x'\n"
    assert tomllib.loads(without_table(text, PATH)) == {"mcp_servers": {}}


NAMES = st.text(min_size=1, max_size=12).filter(lambda name: name != "other")


@given(NAMES, st.text(max_size=20), st.lists(st.text(max_size=20), max_size=3))
def test_every_name_and_value_round_trips(name: str, command: str, arguments: list[str]) -> None:
    entry = {"command": command, "args": arguments}
    text = with_values(CODEX, ("mcp_servers", name), entry)
    found = tomllib.loads(text)
    assert found["mcp_servers"][name] == entry
    assert without_table(text, ("mcp_servers", name)) == CODEX
