from __future__ import annotations

import re
from pathlib import Path

import pytest

from contextive.config import Setting, env_aliases, list_settings

from .conftest import Project

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("setting", list_settings(), ids=lambda setting: setting.key)
def test_every_setting_is_documented_correctly(setting: Setting) -> None:
    default = "required" if setting.default == "required" else f"`{setting.default}`"
    assert f"| `{setting.key}` | {setting.type} | {default} | {setting.description} |" in PAGE


@pytest.mark.parametrize("alias", sorted(env_aliases()))
def test_every_alias_is_documented(alias: str) -> None:
    assert f"| `{alias}` | `{env_aliases()[alias]}` |" in PAGE


def test_the_page_names_only_existing_settings() -> None:
    tables = PAGE.partition("## All settings")[2]
    rows = set(re.findall(r"^\| `([^`]+)` \|", tables, re.MULTILINE))
    assert rows == {setting.key for setting in list_settings()}


def test_the_example_of_the_page_loads(project: Project) -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    loaded = project.load(project.write("example.yaml", example[1]))
    assert loaded.config.server.mode == "http"
    assert loaded.config.providers["openai"].api_key is None
    assert [step.tool or step.model for step in loaded.config.workflows["audit"].steps] == [
        "list_uncited_requirements",
        "gpt-5-mini",
    ]


def test_setting_paths_cover_entries_lists_and_nested_sections() -> None:
    keys = {setting.key for setting in list_settings()}
    expected = {
        "$schema",
        "server.tracing.sampleRatio",
        "providers.<name>.apiKey",
        "toolPacks.<name>.settings",
        "workflows.<name>.steps[].fallback[].tool",
        "auth.tokens[].sha256",
    }
    assert expected <= keys
