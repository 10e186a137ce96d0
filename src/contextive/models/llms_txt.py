"""Reads the list of models below the heading `Models` of an `llms.txt`.

An item names a model, with or without a link, and states facts about it as `key: value`:

    ## Models

    - [gpt-5-mini](https://example.org/gpt-5-mini): family: gpt-5, context: 400k, input: $0.25, output: $2

The keys are `family`, `context` (tokens; `k` and `m` are allowed), `input` and `output` (dollars per million tokens). Links are
not followed. The rest of the file is ignored: it is neither stored nor sent to a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from contextive.models.request import ModelInfo

MAX_CHARACTERS = 256 * 1024
MAX_MODELS = 500

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*)$")
_ITEM = re.compile(r"^[ \t]{0,3}[-*+][ \t]+(.*)$")
_LINK = re.compile(r"^\[([^\]]{1,200})\]\([^)]{0,2000}\)[ \t]*:?(.*)$")
_BARE = re.compile(r"^`?([A-Za-z0-9][^\s`]*?)`?[ \t]*+(?::[ \t]++(.*)|:?[ \t]*+)$")
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$")
_FACT = re.compile(r"(?:^|[,;])[ \t]*+([A-Za-z_][A-Za-z_ ]{0,39}?)[ \t]*+[:=][ \t]*+([^,;]{1,80})")
_SIZE = re.compile(r"^(\d{1,9}(?:\.\d{1,3})?)[ \t]*+([km]?)[ \t]*+(?:tokens)?$", re.IGNORECASE)
_PRICE = re.compile(r"^\$?[ \t]*(\d{1,6}(?:\.\d{1,9})?)(?:[ \t]*(?:usd|/[ \t]*m(?:tok)?))?$", re.IGNORECASE)
_KEYS = {
    "family": "family",
    "context": "context",
    "context window": "context",
    "contextwindow": "context",
    "context_window": "context",
    "input": "input",
    "input cost": "input",
    "inputcost": "input",
    "input_cost": "input",
    "output": "output",
    "output cost": "output",
    "outputcost": "output",
    "output_cost": "output",
}


@dataclass(frozen=True, slots=True)
class LlmsTxt:
    """The models in a file, and warnings about what could not be read."""

    models: tuple[ModelInfo, ...] = ()
    warnings: tuple[str, ...] = ()


##= docs/spec/models-and-recipes.md#model-lists
##% In an `llms.txt`, only the list below the heading `Models` MUST be read.
def parse_llms_txt(text: str, provider: str) -> LlmsTxt:
    """The models of a provider in the text. Never raises; unreadable parts become warnings."""
    if len(text) > MAX_CHARACTERS:
        return LlmsTxt(warnings=(f"it is longer than {MAX_CHARACTERS} characters",))
    models: dict[str, ModelInfo] = {}
    warnings: list[str] = []
    in_models_section = found = False
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _HEADING.match(line):
            in_models_section = len(heading[1]) == 2 and heading[2].strip(" \t#").lower() == "models"
            found = found or in_models_section
            continue
        item = _ITEM.match(line) if in_models_section else None
        if item is None:
            continue
        info = _model(item[1].strip(), provider)
        if info is None:
            warnings.append(f"line {number} does not name a model")
        elif len(models) >= MAX_MODELS:
            warnings.append(f"it lists more than {MAX_MODELS} models")
            break
        else:
            models.setdefault(info.name, info)
    if not found:
        warnings.append("it has no Models section")
    return LlmsTxt(tuple(models.values()), tuple(warnings[:5]))


def _model(item: str, provider: str) -> ModelInfo | None:
    match = _LINK.match(item) or _BARE.match(item)
    if match is None or not _NAME.match(match[1].strip("`")):
        return None
    facts: dict[str, str] = {}
    for key, value in _FACT.findall((match[2] or "")[:1000]):
        known = _KEYS.get(key.strip().lower())
        if known is not None:
            facts.setdefault(known, value.strip().rstrip("."))
    return ModelInfo(
        name=match[1].strip("`"),
        provider=provider,
        family=_family(facts.get("family")),
        context_window=_size(facts.get("context")),
        input_cost=_price(facts.get("input")),
        output_cost=_price(facts.get("output")),
    )


def _family(text: str | None) -> str | None:
    return text.lower() if text is not None and _NAME.match(text) else None


def _size(text: str | None) -> int | None:
    match = _SIZE.match((text or "").replace("_", ""))
    if match is None:
        return None
    size = int(float(match[1]) * {"": 1, "k": 1000, "m": 1_000_000}[match[2].lower()])
    return size if 0 < size <= 1_000_000_000 else None


def _price(text: str | None) -> float | None:
    match = _PRICE.match(text or "")
    return float(match[1]) if match else None
