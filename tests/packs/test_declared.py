"""What the built-in packs declare is written down, so that a server can start and list without importing them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from contextive.packs import BUILTIN, DECLARED, declared_text, import_builtin, load_builtin
from tests.processes import clean_environment

_ROOMS_OF_HANDLERS = ("workspace", "trace", "notes", "knowledge", "store", "ingest", "search", "models", "recipes")
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


def test_what_is_written_down_is_what_the_modules_declare() -> None:
    assert DECLARED.read_text(encoding="utf-8") == declared_text(), "run `make schema`, and read the difference"


@pytest.mark.parametrize("name", BUILTIN)
def test_nothing_that_is_declared_is_lost_on_the_way_there_and_back(name: str) -> None:
    read, real = load_builtin(name), import_builtin(name)
    for kind in ("tools", "resources", "prompts"):
        for one, other in zip(getattr(read, kind), getattr(real, kind), strict=True):
            words = [field.name for field in fields(other) if field.name not in ("load", "schemas")]
            assert [getattr(one, word) for word in words] == [getattr(other, word) for word in words]


@pytest.mark.parametrize("name", BUILTIN)
def test_the_code_behind_every_declaration_is_that_of_the_module(name: str) -> None:
    read, real = load_builtin(name), import_builtin(name)
    assert [tool.code for tool in read.tools] == [tool.code for tool in real.tools]
    assert [resource.code for resource in read.resources] == [resource.code for resource in real.resources]
    assert [prompt.code for prompt in read.prompts] == [prompt.code for prompt in real.prompts]


def test_a_server_starts_and_lists_its_tools_without_the_rooms_behind_their_handlers(tmp_path: Path) -> None:
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
        name for name in modules if name.split(".")[1] in _ROOMS_OF_HANDLERS or name.startswith("contextive.packs.")
    ]
    assert heavy == []
