"""The packs that come with the product: declarations only, each in a module of its own.

What they declare is also written down, in `declared.json`, so that a server starts and lists its tools without importing them.
`make schema` writes that file anew from the modules, and a test fails where they differ.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from contextive.registry import Pack
from contextive.registry.pack_json import pack_from_dict, pack_to_dict

##= docs/spec/host.md#discovery
##% Built-in packs MUST be found in a static registry.
BUILTIN: dict[str, str] = {
    "introspect": "contextive.packs.introspect",
    "trace": "contextive.packs.trace",
    "notes": "contextive.packs.notes",
    "knowledge": "contextive.packs.knowledge",
    "workflows": "contextive.packs.workflows",
    "spexus": "contextive.packs.spexus",
}
"""Name of each built-in pack and the module whose `pack` it is, in the order in which tools are listed."""

OFF_BY_DEFAULT: frozenset[str] = frozenset()

REMOTE_PACKS: dict[str, frozenset[str]] = {"knowledge": frozenset({"km-help"})}
"""The packs that a gateway can answer for, and the tools of each that need no index and stay local."""

SCHEDULED_TOOLS: dict[str, str] = {"ingest": "km-ingest-trigger", "backup": "km-backup-trigger"}
"""The tool that runs each job of the schedule."""

CAPTURE_COUNTERS: dict[str, str] = {"km-upload": "km_mcp_upload_total", "km-storetext": "km_mcp_storetext_total"}
"""The tools that store documents, and the metric that counts the calls of each."""

REFUSED_CYPHER = "gateway-graph-cypher"
"""The operation whose refusals have a metric of their own."""

DECLARED = Path(__file__).with_name("declared.json")


@cache
def load_builtin(name: str) -> Pack:
    """The built-in pack of that name. Its modules are imported when something of it runs for the first time."""
    return pack_from_dict(_declared()[name], lambda: import_builtin(name))


def import_builtin(name: str) -> Pack:
    """The built-in pack of that name with all its code."""
    pack = import_module(BUILTIN[name]).pack
    assert isinstance(pack, Pack)
    return pack


def declared_text() -> str:
    """The text of `declared.json`, from the modules as they are now."""
    declared = {name: pack_to_dict(import_builtin(name)) for name in BUILTIN}
    return json.dumps(declared, indent=1, ensure_ascii=False) + "\n"


@cache
def _declared() -> dict[str, Any]:
    declared: dict[str, Any] = json.loads(DECLARED.read_text(encoding="utf-8"))
    return declared
