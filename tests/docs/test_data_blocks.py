"""JSON, YAML and TOML blocks in the documentation can be parsed."""

from __future__ import annotations

import json
import tomllib

import pytest
import yaml

from .pages import Block, blocks


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_json_blocks_parse(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", blocks("yaml", "yml"), ids=str)
def test_yaml_blocks_parse(block: Block) -> None:
    assert yaml.safe_load(block.text) is not None


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_toml_blocks_parse(block: Block) -> None:
    tomllib.loads(block.text)


def test_every_block_has_a_language() -> None:
    assert [str(block) for block in blocks("")] == [], "use `text` if there is no language"
