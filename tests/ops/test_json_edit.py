"""Editing one value of a JSON text preserves everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.ops.json_edit import parse, with_value, without_value
from contextive.toml.editor import NotEditable

PATH = ("mcpServers", "contextive")
ENTRY: dict[str, Any] = {"command": "contextive-mcp", "args": ["serve", "--stdio"]}

KEYS = st.text(max_size=8) | st.sampled_from(["mcpServers", "contextive", "a"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.builds(
    lambda rest, servers: {**rest, **({} if servers is None else {"mcpServers": servers})},
    st.dictionaries(KEYS.filter(lambda key: key != "mcpServers"), VALUES, max_size=4),
    st.none() | st.dictionaries(KEYS, VALUES, max_size=3),
)
INDENTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(DOCUMENTS, INDENTS, st.booleans())
def test_a_value_is_set_and_removed_and_nothing_else_changes(
    document: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    changed = with_value(text, PATH, ENTRY)
    servers = {**document.get("mcpServers", {}), "contextive": ENTRY}
    assert json.loads(changed) == {**document, "mcpServers": servers}
    left = {key: value for key, value in servers.items() if key != "contextive"}
    assert json.loads(without_value(changed, PATH)) == {**document, "mcpServers": left}
    assert with_value(changed, PATH, ENTRY) == changed


@given(st.text(alphabet='{}[]":,/*\\ \n ae1-', max_size=40))
def test_a_text_is_edited_correctly_or_refused(text: str) -> None:
    try:
        changed = with_value(text, PATH, ENTRY)
    except NotEditable:
        return
    assert parse(changed)["mcpServers"]["contextive"] == ENTRY


WITH_COMMENTS = """\
// my servers
{
\t"inputs": [], // none yet
\t"mcpServers": {
\t\t/* the first */
\t\t"other": {"command": "x"}, // keep me
\t},
}
"""


##= docs/spec/commands.md#install
##% A change to a client's file MUST preserve everything else in it, including comments, and keep a copy of the old
##% file.
def test_comments_trailing_commas_and_tabs_are_preserved() -> None:
    changed = with_value(WITH_COMMENTS, PATH, {"command": "y"})
    assert changed == WITH_COMMENTS.replace(
        '"x"}, // keep me\n', '"x"}, // keep me\n\t\t"contextive": {\n\t\t\t"command": "y"\n\t\t}\n'
    )
    assert "keep me" in without_value(changed, PATH)
    assert parse(without_value(changed, PATH)) == parse(WITH_COMMENTS)


def test_windows_line_endings_and_a_byte_order_mark_are_preserved() -> None:
    text = '\ufeff{\r\n  "a": 1\r\n}\r\n'
    changed = with_value(text, PATH, ENTRY)
    assert changed.startswith("\ufeff{\r\n")
    assert changed.count("\n") == changed.count("\r\n")
    assert json.loads(changed[1:])["a"] == 1


def test_removing_a_value_leaves_no_gap() -> None:
    text = '{\n  "mcpServers": {\n    "a": {},\n    "contextive": {},\n    "b": {}\n  }\n}\n'
    assert without_value(text, PATH) == '{\n  "mcpServers": {\n    "a": {},\n    "b": {}\n  }\n}\n'
    assert without_value('{"mcpServers": {"contextive": 1}}', PATH) == '{"mcpServers": {}}'
    assert without_value("{}", PATH) == "{}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3"),
        ("[]", "no object"),
        ('{"mcpServers": []}', "no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ('{"a": 01}', "line 1"),
        ('{"a": "\n"}', "line 1"),
        ("{} {}", "line 1"),
        ("[" * 1000, "too deeply"),
    ],
)
def test_a_text_that_cannot_be_edited_safely_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(NotEditable, match=why):
        with_value(text, PATH, ENTRY)
