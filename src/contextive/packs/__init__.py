"""The packs that come with the product: declarations only, each in a module of its own, imported when first used."""

from __future__ import annotations

from importlib import import_module

from contextive.registry import Pack

##= docs/spec/host.md#discovery
##% Packs that come with the product MUST be found in a static registry.
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


def load_builtin(name: str) -> Pack:
    """The built-in pack of that name."""
    pack = import_module(BUILTIN[name]).pack
    assert isinstance(pack, Pack)
    return pack
