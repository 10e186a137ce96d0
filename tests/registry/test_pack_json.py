"""A pack that was converted to JSON and back declares the same, and loads its code on first use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from contextive.registry import (
    Annotations,
    Context,
    Pack,
    PromptArgument,
    PromptMessage,
    ResourceEntry,
    Scope,
    Text,
    ToolInput,
    ToolOutput,
)
from contextive.registry.pack_json import pack_from_dict, pack_to_dict


class Given(ToolInput):
    word: str = Field(description="A word")


class Out(ToolOutput):
    length: int


async def _complete(_prefix: str, _others: Mapping[str, str], _ctx: Context) -> list[str]:
    return ["a", "b"]


async def _list(_offset: int, _limit: int, _ctx: Context) -> list[ResourceEntry]:
    return []


def _pack() -> Pack:
    pack = Pack("words", title="Words", description="About words.")

    @pack.tool(
        "count",
        title="Count",
        description="How long a word is.",
        scope=Scope.MAINTAINER,
        labels=("a", "b"),
        safety_notes="None.",
        invocation_hints="to count",
        annotations=Annotations(read_only=False, destructive=True, idempotent=False, open_world=True),
        meta={"key": [1]},
        timeout_seconds=2.5,
    )
    async def count(given: Given, _ctx: Context) -> Out:
        return Out(length=len(given.word))

    @pack.resource(
        "words:///{word}",
        name="word",
        title="A word",
        description="One word.",
        mime_type="text/plain",
        scope=Scope.MAINTAINER,
        list_entries=_list,
        complete={"word": _complete},
        in_parts=True,
    )
    async def read(variables: Mapping[str, str], _ctx: Context) -> str:
        return variables["word"]

    @pack.prompt(
        "say",
        title="Say",
        description="Say a word.",
        arguments=(PromptArgument("word", "The word", required=True, complete=_complete),),
        scope=Scope.MAINTAINER,
    )
    async def say(arguments: Mapping[str, str], _ctx: Context) -> list[PromptMessage]:
        return [PromptMessage("user", Text(arguments["word"]))]

    return pack


def _through_json(written: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(written))


def test_a_pack_read_from_json_converts_to_the_same_json() -> None:
    pack = _pack()
    written = _through_json(pack_to_dict(pack))
    assert _through_json(pack_to_dict(pack_from_dict(written, lambda: pack))) == written


def test_declarations_are_equal_after_a_round_trip() -> None:
    pack = _pack()
    read = pack_from_dict(_through_json(pack_to_dict(pack)), lambda: pack)
    (tool,), (real,) = read.tools, pack.tools
    for name in ("name", "title", "description", "scope", "labels", "safety_notes", "invocation_hints", "annotations"):
        assert getattr(tool, name) == getattr(real, name)
    for name in ("meta", "pack", "timeout_seconds", "input_schema", "output_schema", "code"):
        assert getattr(tool, name) == getattr(real, name)
    (resource,), (real_resource,) = read.resources, pack.resources
    for name in ("uri", "name", "title", "description", "mime_type", "scope", "in_parts", "pack", "code"):
        assert getattr(resource, name) == getattr(real_resource, name)
    (prompt,), (real_prompt,) = read.prompts, pack.prompts
    for name in ("name", "title", "description", "arguments", "scope", "pack", "code"):
        assert getattr(prompt, name) == getattr(real_prompt, name)
    assert prompt.code.complete == {"word": _complete}


def test_the_pack_is_loaded_only_on_first_use_of_its_code() -> None:
    pack, loads = _pack(), []

    def load() -> Pack:
        loads.append(1)
        return pack

    (tool,) = pack_from_dict(_through_json(pack_to_dict(pack)), load).tools
    assert tool.input_schema["properties"]["word"]["description"] == "A word"
    assert tool.output_schema is not None
    assert loads == []
    assert tool.input_model is Given
    assert tool.handler is pack.tools[0].handler
    assert loads == [1]
