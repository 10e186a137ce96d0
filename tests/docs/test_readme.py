"""The commands, the clients and the profiles in the documentation match the program."""

from __future__ import annotations

import re

import pytest

from contextive.ops.clients import ClientSnippet, client_snippets
from contextive.server.profiles import PROFILES

from .pages import ROOT, blocks_of


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("snippet", client_snippets(), ids=lambda snippet: snippet.client)
def test_the_install_page_has_the_entry_of_each_client(snippet: ClientSnippet) -> None:
    below = page("docs/install.md").partition(f"#### {snippet.client}\n")[2].partition("\n#")[0]
    assert snippet.where in below
    block = re.search(r"```\w+\n(.*?)\n```", below, re.DOTALL)
    assert block is not None
    assert block[1] == snippet.text


def test_the_table_of_profiles_matches_the_code() -> None:
    text = page("docs/protocol.md").partition("## Profiles\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    found = [(row[0], row[1], row[3].removesuffix(", and plugins")) for row in rows]
    assert found == [(f"`{p.name}`", f"`{p.server_name}`", ", ".join(p.packs)) for p in PROFILES.values()]


def test_the_readme_starts_with_the_demo_and_the_tests() -> None:
    first = next(block for block in blocks_of("README.md"))
    assert re.findall(r"^\$ (\S+ \S+)", first.text, re.MULTILINE) == ["make demo", "make test"]
