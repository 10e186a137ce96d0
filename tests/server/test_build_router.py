"""The model router that is built from a configuration."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from contextive.config import ConfigRequest, LoadedConfig, TrustStore, load_config
from contextive.models.request import ModelInfo, ModelRequest
from contextive.packs import BUILTIN
from contextive.server.build_router import build_router


def loaded(folder: Path, values: dict[str, Any]) -> LoadedConfig:
    file = folder / "given.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    trust = TrustStore(folder / "trust.json")
    return load_config(
        ConfigRequest(project=folder, explicit=file, environ={}, trust=trust, builtin_packs=frozenset(BUILTIN))
    )


def test_the_configured_properties_of_models_decide_which_one_is_picked(tmp_path: Path) -> None:
    models = {
        "small": {"contextWindow": 2000, "inputCost": 0.1, "outputCost": 0.1},
        "large": {"family": "gpt", "contextWindow": 100000, "inputCost": 5, "outputCost": 20},
    }
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "models": models}
    router = build_router(loaded(tmp_path, {"providers": {"here": provider}}))
    assert router.pick(ModelRequest("short", max_output_tokens=100)).info.name == "small"
    assert router.pick(ModelRequest("x" * 30_000)).info == ModelInfo("large", "here", "gpt", 100_000, 5, 20)


##= docs/spec/models-and-recipes.md#model-router
##% The router MUST look for models in a configured `llms.txt` file when no known model fits.
def test_models_in_an_llms_txt_are_found_when_no_configured_model_fits(tmp_path: Path) -> None:
    (tmp_path / "llms.txt").write_text("## Models\n\n- [wide](https://example.org): context: 1m\n", encoding="utf-8")
    provider = {
        "baseUrl": "http://127.0.0.1:9/v1",
        "llmsTxt": "llms.txt",
        "models": {"narrow": {"contextWindow": 1000}},
        "timeoutSeconds": 1,
    }
    router = build_router(loaded(tmp_path, {"providers": {"here": provider}}))
    resolved = asyncio.run(router.resolve(ModelRequest("x" * 30_000)))
    assert resolved.info == ModelInfo("wide", "here", context_window=1_000_000)


##= docs/spec/models-and-recipes.md#model-router
##% A provider that cannot be used MUST be skipped and the reason reported; the others stay available.
def test_an_unusable_provider_is_reported_and_does_not_cause_a_crash(tmp_path: Path) -> None:
    router = build_router(loaded(tmp_path, {"providers": {"mystery": {"apiKey": "k"}, "off": {"enabled": False}}}))
    assert not router.available
    assert router.problems == ("provider mystery: it needs baseUrl, because there is no default URL for this name",)
