"""`check` finds what would make the first call fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contextive.config import ConfigRequest, TrustStore, load_config
from contextive.errors import ConfigError
from contextive.ops.config_check import configuration_problems
from contextive.packs import BUILTIN
from contextive.server.host import Host


def problems(folder: Path, values: Mapping[str, Any]) -> list[str]:
    file = folder / "given.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    request = ConfigRequest(
        project=folder,
        explicit=file,
        environ={},
        trust=TrustStore(folder / "trust.json"),
        builtin_packs=frozenset(BUILTIN),
    )
    host = Host(load_config(request), mode="in-process")
    try:
        return list(configuration_problems(host))
    finally:
        host.close()


def workflow(*steps: Mapping[str, Any]) -> dict[str, Any]:
    return {"workflows": {"audit": {"steps": list(steps)}}}


##= docs/spec/commands.md#check
##% The command `check` MUST report what would make a call fail: unknown tools and arguments in workflows and recipes,
##% models and providers that cannot be used, and directories that do not exist.
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (workflow({"tool": "nope"}), "workflows.audit: the step step1 cannot run: Unknown tool: 'nope'."),
        (
            workflow(
                {"tool": "list_pages"},
                {"tool": "get_page", "params": {"slug": "a"}, "fallback": [{"tool": "get_pages"}]},
            ),
            "the step step2-fallback-1 cannot run: Unknown tool: 'get_pages'. Did you mean get_page?",
        ),
        (workflow({"tool": "get_page", "params": {"page": "a"}}), "get_page has no argument 'page'."),
        (workflow({"tool": "km-search", "params": {"limit": 3}}), "km-search needs the argument 'query'."),
        (workflow({"tool": "km-search", "params": {"query": "x", "limit": "many"}}), "'limit'"),
        (
            workflow({"wait": {"tool": "wait_for", "until": {"path": "a", "exists": True}}}),
            "Unknown tool: 'wait_for'",
        ),
        (workflow({"tool": "km-recipe-run", "params": {"recipe": "daily-health"}}), "km-recipe-run runs recipes"),
        (workflow({"model": "small", "prompt": "x"}), "asks the model small, but there is no provider."),
        (
            {
                **workflow({"tool": "km-search", "params": {"query": "x"}}),
                "toolPacks": {"knowledge": {"enabled": False}},
            },
            "Unknown tool: 'km-search'",
        ),
        ({"providers": {"openai": {"defaultModel": "small"}}}, "providers: provider openai: it needs apiKey."),
        ({"routing": {"ask": {"model": "small"}}}, "routing: no model provider can be used."),
        (
            {"knowledge": {"embeddingModel": "fastembed:small"}},
            "knowledge.embeddingModel: fastembed:small needs the Python package fastembed.",
        ),
        ({"knowledge": {"embeddingModel": "openai:small"}}, "needs knowledge.embeddingKey."),
        ({"knowledge": {"contentRoot": ".."}}, "knowledge.contentRoot: outside the project"),
        ({"knowledge": {"uploadRoots": ["inbox"]}}, "knowledge.uploadRoots: there is no directory inbox."),
        ({"knowledge": {"gatewayCaFile": "ca.pem"}}, "knowledge.gatewayCaFile: there is no file ca.pem."),
        (
            {"providers": {"ollama": {"llmsTxt": "llms.txt"}}},
            "providers.ollama.llmsTxt: there is no file llms.txt.",
        ),
        (
            {"knowledge": {"editorUriTemplate": "editor://{file}"}},
            "knowledge.editorUriTemplate: editor://{file} has an unknown placeholder.",
        ),
    ],
)
def test_what_would_fail_at_the_first_call_is_reported(tmp_path: Path, values: Mapping[str, Any], problem: str) -> None:
    (found,) = problems(tmp_path, values)
    assert problem in found


def test_recipes_of_the_project_are_checked_too(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "tidy.yaml").write_text("version: 1\nsteps: [{id: a, tool: sweep}]\n", encoding="utf-8")
    (tmp_path / "recipes" / "odd.yaml").write_text("version: 1\nstep: []\n", encoding="utf-8")
    odd, tidy = problems(tmp_path, {})
    assert odd.startswith("recipes/odd.yaml")
    assert tidy == "recipes/tidy.yaml: the step a cannot run: Unknown tool: 'sweep'. List the available ones first."


def test_a_configuration_that_works_has_no_problems(tmp_path: Path) -> None:
    steps = ({"tool": "km-search", "params": {"query": "${vars.topic}", "limit": 3}}, {"tool": "list_pages"})
    provider = {"providers": {"ollama": {"defaultModel": "small"}}, "routing": {"ask": {"model": "ollama/small"}}}
    assert problems(tmp_path, {**workflow(*steps), **provider}) == []


##= docs/spec/host.md#validation
##% An unknown embedding model MUST be refused at startup.
def test_an_unknown_embedding_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"knowledge\.embeddingModel: found \(hidden\), allowed: minilm, dummy, none"):
        problems(tmp_path, {"knowledge": {"embeddingModel": "zork"}})
