"""What the README says about tools, profiles and clients is what the code says."""

from __future__ import annotations

import re

import pytest

from contextive.ops.clients import ClientSnippet, client_snippets
from contextive.packs import BUILTIN, load_builtin
from contextive.server.profiles import PROFILES

from .pages import ROOT, blocks_of

README = (ROOT / "README.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    text = README.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize("snippet", client_snippets(), ids=lambda snippet: snippet.client)
def test_a_client_is_attached_as_the_product_says(snippet: ClientSnippet) -> None:
    below = README.partition(f"### {snippet.client}\n")[2].partition("\n#")[0]
    assert snippet.where in below
    block = re.search(r"```\w+\n(.*?)\n```", below, re.DOTALL)
    assert block is not None
    assert block[1] == snippet.text


def test_the_table_of_tools_is_the_registry() -> None:
    tools = [tool for name in BUILTIN for tool in load_builtin(name).tools]
    assert rows("Tools") == [[f"`{t.name}`", t.scope.value, t.description] for t in tools]


def test_the_table_of_profiles_is_the_products() -> None:
    found = [(row[0], row[1]) for row in rows("Profiles")]
    assert found == [(f"`{profile.name}`", f"`{profile.server_name}`") for profile in PROFILES.values()]


def test_the_two_commands_come_first() -> None:
    first = next(block for block in blocks_of("README.md"))
    assert re.findall(r"^\$ (\S+ \S+)", first.text, re.MULTILINE) == ["make demo", "make test"]
