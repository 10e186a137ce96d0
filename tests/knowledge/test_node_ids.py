from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import InvalidIdentifier
from contextive.knowledge.graph import LABELS, Label
from contextive.knowledge.node_ids import node_id, parse_node_id

keys = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=50).filter(str.strip)


##= docs/spec/knowledge.md#nodes-and-edges
##% The id of a node MUST be its label and its key, separated by a colon.
@given(st.sampled_from(LABELS), keys)
def test_a_node_id_round_trips(label: Label, key: str) -> None:
    assert parse_node_id(node_id(label, key)).ids == (node_id(label, key),)


@given(st.sampled_from(LABELS), keys, st.randoms())
def test_labels_are_case_insensitive(label: Label, key: str, random: Random) -> None:
    spelled = "".join(c.upper() if random.random() < 0.5 else c.lower() for c in label)
    assert parse_node_id(f"{spelled}:{key}").labels == (label,)


##= docs/spec/knowledge.md#km-graph-node
##% Labels MUST be case-insensitive, and `Code`, `Doc`, `Test`, `Config` and `File` are accepted for files.
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Code:gateway/mcp/server.py", "SourceFile:gateway/mcp/server.py"),
        ("Doc:docs/a.md", "DesignDoc:docs/a.md"),
        ("Test:tests/a.py", "TestCase:tests/a.py"),
        ("Config:a.toml", "ConfigFile:a.toml"),
        ("File:a:b.py", "SourceFile:a:b.py"),
        ("Chunk:docs/a.md::3", "Chunk:docs/a.md::3"),
        ("symbol:src/a.py::A.b", "Symbol:src/a.py::A.b"),
    ],
)
def test_aliases_and_colons_in_keys_are_accepted(text: str, first: str) -> None:
    assert parse_node_id(text).ids[0] == first


def test_the_alias_file_matches_any_type_of_artifact() -> None:
    assert parse_node_id("File:a").labels == ("SourceFile", "DesignDoc", "TestCase", "ConfigFile", "Artifact")


@pytest.mark.parametrize(
    "text", ["", "docs/a.md", "Nothing:x", ":x", "DesignDoc:", "DesignDoc:  ", "Chunk:a\0b", "Doc:" + "x" * 5000]
)
def test_anything_else_is_refused_with_invalid_identifier(text: str) -> None:
    with pytest.raises(InvalidIdentifier) as caught:
        parse_node_id(text)
    assert caught.value.code == "invalid_identifier"
    assert len(caught.value.message) < 200
