"""JSON, YAML and TOML in the documentation can be read."""

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


def test_every_block_says_what_it_is() -> None:
    assert [str(block) for block in blocks("")] == [], "use text where there is no language"
