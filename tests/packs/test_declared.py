"""`declared.json` repeats the declarations of the built-in packs, so a server can list tools without importing them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from contextive.packs import BUILTIN, DECLARED, declared_text, import_builtin, load_builtin
from tests.processes import clean_environment

_HANDLER_PACKAGES = ("workspace", "trace", "notes", "knowledge", "store", "ingest", "search", "models", "recipes")
_START = """
import json, sys
from pathlib import Path
from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN
from contextive.server.host import Host

loaded = load_config(ConfigRequest(project=Path(sys.argv[1]), builtin_packs=frozenset(BUILTIN), environ={}))
host = Host(loaded, mode="stdio")
handlers = host.mcp_handlers("contextive")
handlers.instructions(host.owner)
listed = [tool.input_schema for tool in handlers.surface(host.owner).tools.values()]
print(json.dumps([len(listed), [name for name in sys.modules if name.startswith("contextive.")]]))
"""


def test_the_declared_json_matches_the_modules() -> None:
    assert DECLARED.read_text(encoding="utf-8") == declared_text(), "run `make schema`, and read the diff"


@pytest.mark.parametrize("name", BUILTIN)
def test_declarations_survive_the_round_trip(name: str) -> None:
    read, real = load_builtin(name), import_builtin(name)
    for kind in ("tools", "resources", "prompts"):
        for loaded, imported in zip(getattr(read, kind), getattr(real, kind), strict=True):
            names = [field.name for field in fields(imported) if field.name not in ("load", "schemas")]
            assert [getattr(loaded, name) for name in names] == [getattr(imported, name) for name in names]


@pytest.mark.parametrize("name", BUILTIN)
def test_every_declaration_loads_the_code_of_its_module(name: str) -> None:
    read, real = load_builtin(name), import_builtin(name)
    assert [tool.code for tool in read.tools] == [tool.code for tool in real.tools]
    assert [resource.code for resource in read.resources] == [resource.code for resource in real.resources]
    assert [prompt.code for prompt in read.prompts] == [prompt.code for prompt in real.prompts]


def test_a_server_lists_its_tools_without_importing_the_handlers(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _START, str(tmp_path)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    tools, modules = json.loads(done.stdout)
    assert tools > 20
    heavy = [
        name
        for name in modules
        if name.split(".")[1] in _HANDLER_PACKAGES
        or (name.startswith("contextive.packs.") and name != "contextive.packs.guide")
    ]
    assert heavy == []
