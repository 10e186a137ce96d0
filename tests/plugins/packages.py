"""Install plugin packages for tests: a module and its metadata, where a server process finds them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ODD_PACK = Path(__file__).with_name("odd_pack.py")


def install(site: Path, name: str, source: str, *, target: str = "pack", distribution: str | None = None) -> None:
    """Write the files of a package with one entry point, as `pip install --target` does."""
    distribution = distribution or name
    module = f"{distribution.replace('-', '_')}_module"
    site.mkdir(parents=True, exist_ok=True)
    (site / f"{module}.py").write_text(source, encoding="utf-8")
    metadata = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[contextive.packs]\n{name} = {module}:{target}\n", encoding="utf-8")


def install_odd_pack(site: Path) -> None:
    install(site, "odd", ODD_PACK.read_text(encoding="utf-8"))


def python_path(site: Path) -> dict[str, str]:
    """Return environment variables with which Python finds the packages in `site`."""
    others = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return {"PYTHONPATH": os.pathsep.join([str(site), *others])}


def write_config(path: Path, values: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(values), encoding="utf-8")
    return path
