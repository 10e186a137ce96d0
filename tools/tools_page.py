"""`make schema`: write docs/tools.md from the declarations of the tools, resources and prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contextive.packs import BUILTIN, load_builtin
from contextive.registry import Pack
from contextive.registry.declaration import Tool

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tools.md"
_OPENING = """\
# Tools, resources and prompts

`make schema` writes this page from the declarations. You can pass the arguments of a tool over MCP, as `--name value` after
`contextive-mcp call TOOL`, or as a JSON object to `POST /api/v1/tools/TOOL`. Tools with the scope *maintainer* can change
something. [packs.md](packs.md) lists which packs are enabled and what else they contain.
"""


def page() -> str:
    """The whole page."""
    packs = [load_builtin(name) for name in BUILTIN]
    return _OPENING + "".join(part for pack in packs for part in _pack(pack))


def _pack(pack: Pack) -> Iterator[str]:
    yield f"\n## {pack.name}\n\n{pack.description}\n"
    for tool in pack.tools:
        yield from _tool(tool)
    if pack.resources:
        yield f"\n### Resources of {pack.name}\n\n| address | what |\n|---|---|\n"
        yield from (f"| `{item.uri}` | {_cell(item.description or item.name)} |\n" for item in pack.resources)
    if pack.prompts:
        yield f"\n### Prompts of {pack.name}\n\n| name | what |\n|---|---|\n"
        yield from (f"| `{item.name}` | {_cell(item.description)} |\n" for item in pack.prompts)


def _tool(tool: Tool) -> Iterator[str]:
    yield f"\n### {tool.name}\n\n{tool.description}\n\nScope: {tool.scope.value}."
    if tool.safety_notes:
        yield f" {tool.safety_notes.rstrip('.')}."
    yield "\n"
    schema = tool.input_schema
    required = set(schema.get("required", ()))
    if schema.get("properties"):
        yield "\n| argument | type | default | what |\n|---|---|---|---|\n"
    for name, described in schema.get("properties", {}).items():
        default = described.get("default")
        value = "required" if name in required else "" if default is None else f"`{json.dumps(default)}`"
        yield f"| `{name}` | {_cell(_type(described, schema))} | {value} | {_cell(described.get('description', ''))} |\n"


def _type(described: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A short name of an argument's type."""
    if "$ref" in described:
        return _type(schema["$defs"][described["$ref"].rpartition("/")[2]], schema)
    if "enum" in described:
        return ", ".join(f"`{value}`" for value in described["enum"])
    if "anyOf" in described:
        return " or ".join(dict.fromkeys(_type(one, schema) for one in described["anyOf"] if one.get("type") != "null"))
    kind = described.get("type", "any")
    if kind == "array":
        return f"array of {_type(described.get('items', {}), schema)}"
    text = str(kind) if isinstance(kind, str) else " or ".join(one for one in kind if one != "null")
    least, most = described.get("minimum"), described.get("maximum")
    return f"{text} {least} to {most}" if least is not None and most is not None else text


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
