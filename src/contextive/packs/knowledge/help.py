"""`km-help`: how to use the tools of this pack, generated from their declarations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from contextive.errors import InvalidRequest
from contextive.packs.knowledge.pack import LABELS, pack
from contextive.registry import Context, Scope, Tool, ToolInput, ToolOutput
from contextive.registry.registry import safe_repr

_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "km-search": {"query": "ingest pipeline", "limit": 5},
    "km-search-batch": {"queries": ["ingest pipeline", "who writes the ledger"]},
    "km-graph-node": {"node_id": "Code:src/app.py", "relationships": "all"},
    "km-graph-subsystem": {"name": "Gateway", "depth": 2},
    "km-graph-search": {"term": "coverage"},
    "km-graph-tests-of": {"symbol_id": "src/app.py::Service.handle"},
    "find_usages": {"name": "Service.handle"},
    "km-graph-query": {
        "start": {"label": "Subsystem", "key": "Gateway"},
        "steps": [{"types": ["BELONGS_TO"], "direction": "in"}],
    },
    "km-ingest-trigger": {"profile": "local", "dry_run": True},
    "km-recipe-run": {"recipe": "release-prep", "vars": {"profile": "release"}},
    "km-feedback-submit": {"request_id": "req123", "chunk_id": "docs/README.md::3", "vote": 1},
    "km-feedback-batch": {"votes": [{"request_id": "req123", "chunk_id": "docs/README.md::3", "vote": 1}]},
    "km-upload": {"source_path": "./notes/design.md", "destination": "docs/uploads/"},
    "km-storetext": {"title": "Release notes", "content": "## Summary"},
}


class HelpInput(ToolInput):
    tool: str | None = Field(None, max_length=128, description="Name of one tool")
    include_spec: bool = Field(False, description="Add the full reference as text")


class HelpAnswer(ToolOutput):
    status: Literal["success"] = "success"
    tools: dict[str, Any] | None = None
    tool: str | None = None
    usage: dict[str, Any] | None = None
    spec: str | None = None


##= docs/spec/knowledge.md#km-help
##% The tool `km-help` MUST explain how to use each tool of the pack, or only the one named by the argument `tool`.
@pack.tool(
    "km-help",
    title="Help",
    description="How to use the km tools: all of them, or one by name. include_spec adds the full reference.",
    labels=LABELS,
    invocation_hints="when unsure which arguments a km tool takes",
)
async def help_on_tools(given: HelpInput, _ctx: Context) -> HelpAnswer:
    usages = {tool.name: usage_of(tool) for tool in pack.tools}
    spec = reference() if given.include_spec else None
    if given.tool is None:
        return HelpAnswer(tools=usages, spec=spec)
    if given.tool not in usages:
        raise InvalidRequest(f"No km tool {safe_repr(given.tool)}.", hint=f"Known: {', '.join(usages)}.")
    return HelpAnswer(tool=given.tool, usage=usages[given.tool], spec=spec)


##= docs/spec/knowledge.md#km-help
##% Help MUST be generated from the declarations of the tools.
def usage_of(tool: Tool) -> dict[str, str]:
    """A tool's purpose and arguments."""
    return {"description": tool.description, "details": " ".join(_details(tool))}


##= docs/spec/knowledge.md#km-help
##% With `include_spec`, the tool `km-help` MUST add the full reference.
def reference() -> str:
    """Every tool of this pack with its arguments and scope, as Markdown."""
    parts = ["# Knowledge tools\n"]
    for tool in pack.tools:
        parts.append(f"## {tool.name}\n\n{tool.description}\n\nScope: {tool.scope.value}.\n")
        rows = [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
            for name, rule in _arguments(tool).items()
            for row in _rows(name, rule, tool)
        ]
        if rows:
            parts.append("| argument | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
        parts.append(f"Example: `{_example(tool)}`\n")
    parts.append(
        "## Answers\n\nEvery answer has `status`. An error has `status` `error` and `error` with `code`, `message` and `hint`. "
        "Codes: invalid_request, invalid_identifier, not_found, unauthorized, forbidden, upstream_error, "
        "unsupported_operation, unavailable.\n"
    )
    return "\n".join(parts)


def _rows(name: str, rule: Mapping[str, Any], tool: Tool) -> Iterator[tuple[str, str, str, str]]:
    """The table row of an argument, then one for each of its known fields."""
    yield f"`{name}`", _kind(rule), _default(name, rule, tool), str(rule.get("description", ""))
    for option in (rule, *rule.get("anyOf", ())):
        fields = tool.input_schema.get("$defs", {}).get(str(option.get("$ref", "")).rpartition("/")[2], {})
        required = fields.get("required", ())
        for field, inner in fields.get("properties", {}).items():
            default = "required" if field in required else json.dumps(inner.get("default"))
            yield f"`{name}.{field}`", _kind(inner), default, str(inner.get("description", ""))


def _details(tool: Tool) -> Iterator[str]:
    arguments = _arguments(tool)
    required = [name for name in arguments if name in _required(tool)]
    optional = [
        f"{name} ({_kind(rule)}, default {_default(name, rule, tool)})"
        for name, rule in arguments.items()
        if name not in required
    ]
    if required:
        yield f"Required: {', '.join(f'{name} ({_kind(arguments[name])})' for name in required)}."
    if optional:
        yield f"Optional: {', '.join(optional)}."
    if not arguments:
        yield "No parameters."
    if tool.scope is Scope.MAINTAINER:
        yield "Needs the maintainer scope."
    elif tool.scope is Scope.WRITER:
        yield "Needs the maintainer scope, or a stdio server started with --allow-writes."
    yield f"Example: {_example(tool)}"


def _example(tool: Tool) -> str:
    return f"{tool.name} {json.dumps(_EXAMPLES.get(tool.name, {}), ensure_ascii=False)}"


def _arguments(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = tool.input_schema.get("properties", {})
    return found


def _required(tool: Tool) -> list[str]:
    return list(tool.input_schema.get("required", []))


def _default(name: str, rule: Mapping[str, Any], tool: Tool) -> str:
    return "required" if name in _required(tool) else json.dumps(rule.get("default"), ensure_ascii=False)


def _kind(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return " | ".join(map(str, rule["enum"]))
    if "anyOf" in rule:
        return " | ".join(dict.fromkeys(_kind(option) for option in rule["anyOf"] if option.get("type") != "null"))
    kind = str(rule.get("type", "object"))
    low, high = rule.get("minimum"), rule.get("maximum")
    return f"{kind} {low} to {high}" if low is not None and high is not None else kind
