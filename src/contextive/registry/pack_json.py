"""Converts the declarations of a pack to JSON data and back.

Listing tools needs only names, texts and schemas. A pack read from JSON does this without importing its modules and their
dependencies; the code of a declaration is loaded when it first runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from contextive.registry.declaration import (
    Annotations,
    Pack,
    Prompt,
    PromptArgument,
    PromptCode,
    Resource,
    ResourceCode,
    Tool,
    ToolCode,
    ToolSchemas,
)
from contextive.registry.scopes import Scope

_TOOL_FIELDS = (
    "name",
    "title",
    "description",
    "safety_notes",
    "invocation_hints",
    "timeout_seconds",
    "list_field",
    "listed",
    "essential",
    "needs",
)
_RESOURCE_FIELDS = ("uri", "name", "title", "description", "mime_type", "in_parts", "listed", "needs")
_PROMPT_FIELDS = ("name", "title", "description", "needs")


def pack_to_dict(pack: Pack) -> dict[str, Any]:
    """The declarations of a pack as JSON data."""
    return {
        "name": pack.name,
        "title": pack.title,
        "description": pack.description,
        "guide": pack.guide,
        "tools": [_tool_to_dict(tool) for tool in pack.tools],
        "resources": [_resource_to_dict(resource) for resource in pack.resources],
        "prompts": [_prompt_to_dict(prompt) for prompt in pack.prompts],
    }


def pack_from_dict(data: Mapping[str, Any], load: Callable[[], Pack]) -> Pack:
    """The pack with these declarations. `load` imports the real pack when code is needed."""
    pack = Pack(data["name"], title=data["title"], description=data["description"], guide=data["guide"])
    pack.tools = [_tool_from_dict(entry, pack.name, load) for entry in data["tools"]]
    pack.resources = [_resource_from_dict(entry, pack.name, load) for entry in data["resources"]]
    pack.prompts = [_prompt_from_dict(entry, pack.name, load) for entry in data["prompts"]]
    return pack


def _tool_to_dict(tool: Tool) -> dict[str, Any]:
    return _fields_of(tool, _TOOL_FIELDS) | {
        "scope": tool.scope.value,
        "labels": list(tool.labels),
        "untrusted": list(tool.untrusted),
        "annotations": asdict(tool.annotations),
        "meta": dict(tool.meta),
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


def _tool_from_dict(entry: Mapping[str, Any], pack: str, load: Callable[[], Pack]) -> Tool:
    def code() -> ToolCode:
        return next(tool.code for tool in load().tools if tool.name == entry["name"])

    return Tool(
        **_pick(entry, _TOOL_FIELDS),
        load=code,
        scope=Scope(entry["scope"]),
        labels=tuple(entry["labels"]),
        untrusted=tuple(entry["untrusted"]),
        annotations=Annotations(**entry["annotations"]),
        meta=entry["meta"],
        pack=pack,
        schemas=ToolSchemas(entry["input_schema"], entry["output_schema"]),
    )


def _resource_to_dict(resource: Resource) -> dict[str, Any]:
    return _fields_of(resource, _RESOURCE_FIELDS) | {"scope": resource.scope.value, "members": list(resource.members)}


def _resource_from_dict(entry: Mapping[str, Any], pack: str, load: Callable[[], Pack]) -> Resource:
    def code() -> ResourceCode:
        return next(resource.code for resource in load().resources if resource.uri == entry["uri"])

    return Resource(
        **_pick(entry, _RESOURCE_FIELDS),
        load=code,
        scope=Scope(entry["scope"]),
        members=tuple(entry["members"]),
        pack=pack,
    )


def _prompt_to_dict(prompt: Prompt) -> dict[str, Any]:
    arguments = [{"name": a.name, "description": a.description, "required": a.required} for a in prompt.arguments]
    return _fields_of(prompt, _PROMPT_FIELDS) | {"scope": prompt.scope.value, "arguments": arguments}


def _prompt_from_dict(entry: Mapping[str, Any], pack: str, load: Callable[[], Pack]) -> Prompt:
    def code() -> PromptCode:
        return next(prompt.code for prompt in load().prompts if prompt.name == entry["name"])

    arguments = tuple(PromptArgument(**argument) for argument in entry["arguments"])
    scope = Scope(entry["scope"])
    return Prompt(**_pick(entry, _PROMPT_FIELDS), load=code, arguments=arguments, scope=scope, pack=pack)


def _fields_of(declared: Tool | Resource | Prompt, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(declared, name) for name in names}


def _pick(entry: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: entry[name] for name in names}
