"""`make bundle`: write the server as one .mcpb file, which a desktop client installs with one click.

The bundle contains the source of this package and lists its dependencies; the client's uv installs Python and the packages for
its machine. It has no wheels, because those of one machine may not run on another. The same source gives the same bytes.
"""

from __future__ import annotations

import json
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOP = ("pyproject.toml", "README.md", "LICENSE", "requirements.lock")
FOLDERS = ("src/contextive", "packages/contextive-minilm", "examples/parcel-locker", "examples/parking-meter")
_LEFT_OUT = {"__pycache__", ".contextive", ".pytest_cache", ".duvet"}
_MOMENT = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    print(write_bundle(folder))


def manifest() -> dict[str, Any]:
    """What a client reads first: what the server is, how to start it, and which settings to ask the user for."""
    from contextive import __version__
    from contextive.packs import load_builtin
    from contextive.registry import Scope
    from contextive.server.profiles import PROFILES

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tools = [tool for name in PROFILES["contextive"].packs or () for tool in load_builtin(name).tools]
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": "Contextive",
        "version": __version__,
        "description": project["description"],
        "author": {"name": project["authors"][0]["name"]},
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "src/contextive/__main__.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    "run", "--no-dev", "--extra", "vectors", "--directory", "${__dirname}",
                    "contextive-mcp", "serve", "--stdio", "--project", "${user_config.project}",
                ],
                "env": {},
            },
        },
        "user_config": {
            "project": {
                "type": "directory",
                "title": "Project",
                "description": "Directory of the project to serve",
                "required": True,
            }
        },
        "tools": [
            {"name": tool.name, "description": tool.description} for tool in tools if tool.scope is Scope.READER
        ],
        "tools_generated": True,
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": project["requires-python"]},
        },
    }  # fmt: skip


def write_bundle(folder: Path) -> Path:
    """Write the bundle and return its path."""
    description = manifest()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{description['name']}-{description['version']}.mcpb"
    files = [ROOT / name for name in TOP]
    for name in FOLDERS:
        files += [p for p in sorted((ROOT / name).rglob("*")) if p.is_file() and not _LEFT_OUT & set(p.parts)]
    with zipfile.ZipFile(target, "w") as archive:
        _add(archive, "manifest.json", json.dumps(description, indent=2, ensure_ascii=False).encode() + b"\n")
        for file in files:
            _add(archive, file.relative_to(ROOT).as_posix(), file.read_bytes())
    return target


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _MOMENT)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data)


if __name__ == "__main__":
    main()
