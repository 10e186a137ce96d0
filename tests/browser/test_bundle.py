"""The committed scripts are what the sources in `web/` compile to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .browser import ROOT, WEB, node

ASSETS = ROOT / "src" / "contextive" / "web" / "assets"
pytestmark = pytest.mark.node


def test_the_bundles_are_those_of_the_sources(tmp_path: Path) -> None:
    subprocess.run([node(), str(WEB / "build.mjs"), str(tmp_path)], check=True, timeout=120)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(built) == {"site.js", "graph.js"}
    assert all((ASSETS / name).read_bytes() == content for name, content in built.items()), "run make scripts"


def test_the_sources_have_no_type_errors() -> None:
    compiler = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        [node(), str(compiler), "--noEmit", "-p", str(WEB)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_lock_file_names_no_registry() -> None:
    text = (WEB / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert "://" not in text
