"""Not on the list: a library that reports home. Nothing may leave the machine, and nothing be written outside the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.processes import clean_environment


def test_the_library_behind_the_default_model_keeps_no_identity_and_sends_no_reports(tmp_path: Path) -> None:
    """By default onnxruntime writes an id of this machine below the home directory, and reports under it."""
    env = clean_environment({"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")})
    env.pop("ORT_DISABLE_TELEMETRY", None)
    used = "from contextive.search.embedding.minilm import MiniLmEmbedder\nMiniLm().embed(['water'])\n"
    subprocess.run([sys.executable, "-c", used], env=env, check=True, timeout=60)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
