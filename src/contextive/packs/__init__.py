"""The built-in packs. Each module contains only declarations of tools, resources and prompts.

`declared.json` repeats the declarations, so a server can start and list its tools without importing the modules.
`make schema` regenerates the file, and a test fails if it differs from the modules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from contextive.registry import Context, Pack
from contextive.registry.pack_json import pack_from_dict, pack_to_dict

##= docs/spec/host.md#discovery
##% Built-in packs MUST be found in a static registry.
BUILTIN: dict[str, str] = {
    "orient": "contextive.packs.orient",
    "introspect": "contextive.packs.introspect",
    "trace": "contextive.packs.trace",
    "notes": "contextive.packs.notes",
    "knowledge": "contextive.packs.knowledge",
    "workflows": "contextive.packs.workflows",
    "skills": "contextive.packs.skills",
    "spexus": "contextive.packs.spexus",
}
"""Name and module of each built-in pack, in the order in which tools are listed."""

OFF_BY_DEFAULT: frozenset[str] = frozenset()

REMOTE_PACKS: dict[str, frozenset[str]] = {"knowledge": frozenset({"km-help"})}
"""Packs whose calls can go to a gateway, each with the tools that need no index and always run locally."""


def _upload_as_text(arguments: Mapping[str, Any], ctx: Context) -> tuple[str, dict[str, Any]] | None:
    from contextive.packs.knowledge.remote_upload import upload_as_text

    return upload_as_text(arguments, ctx)


REMOTE_REWRITES: dict[str, Callable[[Mapping[str, Any], Context], tuple[str, dict[str, Any]] | None]] = {
    "km-upload": _upload_as_text
}
"""Tools that need a file of this machine: how their calls are turned into calls that a gateway can answer."""

SCHEDULED_TOOLS: dict[str, str] = {"ingest": "km-ingest-trigger", "backup": "km-backup-trigger"}
"""The tool that each scheduled job calls."""

CAPTURE_COUNTERS: dict[str, str] = {"km-upload": "km_mcp_upload_total", "km-storetext": "km_mcp_storetext_total"}
"""The tools that store documents, each with the metric that counts its calls."""

REFUSED_CYPHER = "gateway-graph-cypher"
"""The operation whose refusals have a separate metric."""

DECLARED = Path(__file__).with_name("declared.json")


@cache
def load_builtin(name: str) -> Pack:
    """The built-in pack of that name. Its modules are imported when one of its handlers first runs."""
    return pack_from_dict(_declared()[name], lambda: import_builtin(name))


def import_builtin(name: str) -> Pack:
    """The built-in pack of that name, with its modules imported."""
    pack = import_module(BUILTIN[name]).pack
    assert isinstance(pack, Pack)
    return pack


def declared_text() -> str:
    """The text of `declared.json`, generated from the modules."""
    declared = {name: pack_to_dict(import_builtin(name)) for name in BUILTIN}
    return json.dumps(declared, indent=1, ensure_ascii=False) + "\n"


@cache
def _declared() -> dict[str, Any]:
    declared: dict[str, Any] = json.loads(DECLARED.read_text(encoding="utf-8"))
    return declared
